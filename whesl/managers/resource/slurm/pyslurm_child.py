"""Reads jobs through pyslurm in a child process: answers each line of job ids with a line of JSON.

No daemon imports this module: pyslurm ends its process when it finds no slurm.conf, and holds the
interpreter's lock while it waits for slurmctld (4 s with version 22.5.3 and a stopped slurmctld). A daemon
would send no heartbeat meanwhile.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def row(job: Any) -> list[str] | None:
    """Return a job's fields in the order of ``slurm_command_output.JOB_FORMAT``; None for array jobs.

    The exit status is always 0, because pyslurm reports statuses above 127 wrongly (less 128): the caller
    uses only the records of jobs that have not ended.
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
    """Answer queries until standard input ends."""
    import pyslurm

    print(json.dumps({"version": pyslurm.__version__}), flush=True)  # noqa: T201 - the protocol
    for line in sys.stdin:
        try:
            rows = [row(pyslurm.Job.load(int(number))) for number in line.split()]
        # After any error of pyslurm, the caller asks Slurm's commands.
        except Exception as error:
            print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
        else:
            print(json.dumps({"rows": rows}), flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
