"""Runs an instance: ``python -m whesl.cloud.providers.processes.guest DIRECTORY ID``.

Two processes watch each other: one boots the node and runs its command, the other is the watchdog that ends
the instance at its end time. Each ends the whole instance when the other is gone. So an instance ends in time
even if the runner, the provider, or one of the two processes is dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import select
import shlex
import signal
import sys
import time
from pathlib import Path

import msgspec

from whesl.cloud.providers.port import EndReason, Market
from whesl.cloud.providers.processes import instance_processes
from whesl.cloud.providers.processes.files import Ended, Settings, Started, write_once
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.adapter import LocalScheduler
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.port import JobRequest
from whesl.model.errors import WheslError

LOOK = 0.2
WATCHDOG_LATER = 1.0  # seconds that the watchdog leaves for an orderly end


class Guest:
    """One instance.

    Args:
        cloud: the cloud's directory.
        directory: the instance's directory.
    """

    def __init__(self, cloud: Path, directory: Path) -> None:
        self._directory = directory
        self._cluster = Cluster(str(cloud / "cluster"))
        self._settings = msgspec.json.decode((cloud / "settings.json").read_bytes(), type=Settings)
        self._started = msgspec.json.decode((directory / "request.json").read_bytes(), type=Started)
        self._init = 0
        self._ends = self._started.request.ends
        drawn = random.Random(f"{self._settings.seed}:{self._started.id}")  # noqa: S311 - a simulated failure
        born = self._started.asked
        self._fails = born + drawn.expovariate(1 / life) if (life := self._settings.mean_life) else None
        spot = self._settings.spot_life if self._started.request.market is Market.SPOT else 0.0
        self._revoked = born + drawn.expovariate(1 / spot) if spot else None

    def run(self) -> None:
        """Run the instance until its end."""
        lock = (self._directory / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another process already runs this instance
        if (self._directory / "ended.json").exists() or (self._directory / "booted").exists():
            return
        self._init = os.getpid()
        (self._directory / "booted").touch()
        theirs, ours = os.pipe()
        watchdog = os.fork()
        if not watchdog:
            os.close(ours)
            os.setsid()
            self._watch(theirs)
            os._exit(0)
        os.close(theirs)
        (self._directory / "pid").write_text(f"{os.getpid()} {watchdog}\n")
        try:
            self.end(self._live(watchdog), {watchdog})
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(watchdog, signal.SIGKILL)

    def end(self, reason: EndReason, spared: set[int]) -> None:
        """Kill all processes on the node, and record the instance's end.

        Args:
            reason: the reason of the end; an end that is recorded already keeps its reason.
            spared: ids of processes that are not killed, besides this process.

        Raises:
            TransientError: some process does not die.
        """
        instance_processes.kill(self._cluster, self._started.node, str(self._directory), spared)
        write_once(self._directory / "ended.json", Ended(time=time.time(), reason=reason))

    def _watch(self, init: int) -> None:
        """Run the watchdog: wait for the end time or the first process's death, which closes ``init``."""
        limit = self._ends + WATCHDOG_LATER
        while (left := limit - time.time()) > 0:
            if select.select([init], [], [], min(left, 1.0))[0]:
                self.end(EndReason.LOST, set())
                return
        self.end(EndReason.END_TIME, {self._init})
        # Once the first process is gone, the instance has ended and the parent is another process.
        if os.getppid() == self._init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._init, signal.SIGKILL)

    def _live(self, watchdog: int) -> EndReason:
        up_at = self._started.asked + self._settings.start_delay
        up = False
        while True:
            reason = self._reason_to_end(watchdog)
            if reason is not None:
                return reason
            if not up and time.time() >= up_at:
                up = True
                try:
                    self._boot()
                except WheslError as error:
                    print(f"the instance does not boot: {error}", file=sys.stderr)  # noqa: T201 - its console
                    return EndReason.LOST
            time.sleep(LOOK)

    def _reason_to_end(self, watchdog: int) -> EndReason | None:
        now = time.time()
        if (self._directory / "terminate").exists():
            return EndReason.REQUESTED
        if now >= self._ends:
            return EndReason.END_TIME
        if self._revoked is not None and now >= self._revoked - self._settings.notice:
            write_once(self._directory / "revoke", self._revoked)
        with contextlib.suppress(FileNotFoundError, ValueError):
            if now >= float((self._directory / "revoke").read_text()):
                return EndReason.REVOKED
        if self._fails is not None and now >= self._fails:
            return EndReason.LOST
        if os.waitpid(watchdog, os.WNOHANG)[0]:
            return EndReason.LOST
        return None

    def _boot(self) -> None:
        """Start the node, and run the command on it."""
        node, request = self._started.node, self._started.request
        since = daemons.start_nodes(self._cluster, [node])
        daemons.wait_for_nodes(self._cluster, [node], since)
        if request.command:
            script = self._directory / "command.sh"
            over = shlex.quote(str(self._directory / "terminate"))
            script.write_text(f"#!/bin/sh\n/bin/sh -c {shlex.quote(request.command)}\ntouch {over}\n")
            console = str(self._directory / "console")
            LocalScheduler(self._cluster.path).submit(
                JobRequest(
                    token=self._started.id,
                    script=str(script),
                    name=self._started.id,
                    workdir=str(self._directory),
                    partition=node,
                    output=console,
                    error=console,
                )
            )
        (self._directory / "running").touch()


def main() -> None:
    """Run the instance that the arguments name."""
    cloud = Path(sys.argv[1])
    Guest(cloud, cloud / "instances" / sys.argv[2]).run()


if __name__ == "__main__":
    main()
