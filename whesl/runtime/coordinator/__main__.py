"""``python -m whesl.runtime.coordinator``: the daemon in the foreground; messages go to standard error."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import NoReturn

from whesl.files import file_retry
from whesl.model import home as places
from whesl.model.errors import WheslError
from whesl.runtime.coordinator.client.start import ALREADY_RUNNING, BIND_VARIABLE, lock
from whesl.runtime.coordinator.core.state import Settings
from whesl.runtime.coordinator.daemon import Daemon
from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import InstalledPorts
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_watch import Guard
from whesl.runtime.wire.allowed_ports import allowed
from whesl.runtime.wire.keys import home
from whesl.runtime.wire.metrics_server import address

HEARTBEAT_VARIABLE = "WHESL_HEARTBEAT"
METRICS_VARIABLE = "WHESL_METRICS"


def main(arguments: list[str] | None = None) -> int:
    """Run the daemon until a command or signal stops it; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m whesl.runtime.coordinator", description=__doc__)
    parser.add_argument("--idle", type=float, help="end after so many seconds without work")
    parser.add_argument("--metrics", help="serve figures for Prometheus on [HOST:]PORT")
    parser.add_argument("--metrics-open", action="store_true", help="also where other machines reach it")
    parser.add_argument("--take-over", action="store_true", help="from one whose host is dead")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.raiseExceptions = False  # a log line that cannot be written raises nothing
    try:
        said = options.metrics or os.environ.get(METRICS_VARIABLE)
        where = address(said, open_to_others=options.metrics_open) if said else None
        ports = allowed(os.environ)
        place = home()
        held = lock(place, take_over=options.take_over)
        guard = Guard(places.coordinator_lock(place), held)
        guard.watch(_taken_over)
        try:
            heartbeat = float(os.environ.get(HEARTBEAT_VARIABLE, Settings().heartbeat))
            daemon = Daemon(
                place,
                InstalledPorts(),
                settings=Settings(heartbeat=heartbeat, look=2 * heartbeat),
                bind=os.environ.get(BIND_VARIABLE) or "*",
                allowed=ports,
                idle=options.idle,
                metrics=where,
                log=sys.stderr,
            )
            daemon.run()
        finally:
            guard.close()
            takeover_lock.release(held)
    except WheslError as error:
        logging.error("%s", error)
        return error.exit_code
    except OSError as error:
        logging.error("the coordinator's files cannot be reached: %s", file_retry.told(error))
        return os.EX_IOERR
    return 0


def _taken_over() -> NoReturn:
    """End at once: another coordinator writes this home's journal now."""
    logging.error("the lock of this home was taken over by another coordinator: this one ends")
    os._exit(ALREADY_RUNNING)


if __name__ == "__main__":
    sys.exit(main())
