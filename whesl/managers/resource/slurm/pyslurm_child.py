"""Reads jobs through pyslurm in a process of its own: job ids in, a line of JSON out, for each line.

Never imported by a daemon: pyslurm ends its process when it finds no slurm.conf, and holds the interpreter's
lock while it waits for slurmctld (4 s with version 22.5.3 and a stopped slurmctld), in which a daemon would
send no heartbeat.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def row(job: Any) -> list[str] | None:
    """Return a job's fields in the order of squeue's (``records.JOB_FORMAT``), None for part of an array.

    The exit status is left out: pyslurm takes 128 from a status above 127. Only jobs that have not ended are
    taken from here.
    """
    if job.array_id is not None:
        return None
    number = str(job.id)
    values = (
        number,
        number,
        job.state,
        job.state_reason,
        job.allocated_nodes or "(null)",
        job.batch_host or "(null)",
        job.submit_time,
        job.start_time,
        None,
        job.requeue_count or 0,
        0,
        job.name,
        job.comment,
    )
    return ["" if value is None else str(value) for value in values]


def main() -> int:
    """Serve until standard input ends."""
    import pyslurm

    print(json.dumps({"version": pyslurm.__version__}), flush=True)  # noqa: T201 - the protocol
    for line in sys.stdin:
        try:
            rows = [row(pyslurm.Job.load(int(number))) for number in line.split()]
        # The caller asks Slurm's commands after an error of any class that the library raises.
        except Exception as error:
            print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
        else:
            print(json.dumps({"rows": rows}), flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
