"""Reader of PBS's accounting logs (``server_priv/accounting/YYYYMMDD``, concatenated into one file)."""

from __future__ import annotations

import math
from pathlib import Path

from whesl.lab.readers.failures import Malformed
from whesl.lab.readers.site_job_records import Clock, JobLog, JobRecord, State
from whesl.managers.resource.pbs import accounting
from whesl.model import hostlist

_STATES = {
    "COMPLETED": State.COMPLETED,
    "CANCELLED": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT,
    "NODE_FAIL": State.NODE_FAIL,
}
_OTHERS = {"Q": "queued", "S": "started", "D": "deleted", "A": "aborted"}


def is_accounting(line: str) -> bool:
    """Whether a text's first line is an entry of a PBS accounting log."""
    return accounting.entry(line) is not None


def accounted(text: str, path: Path, clock: Clock) -> JobLog:
    """Read accounting logs: runs that ended, and runs that were ended to be requeued.

    Times in the log are seconds since 1970; ``clock`` is not used.

    Args:
        text: the accounting logs.
        path: the file's path, for messages.
        clock: not used.
    """
    log = JobLog(path.name, "pbs")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        log.lines += 1
        one = accounting.entry(line.strip("\ufeff "))
        if one is None:
            log.malformed.append(Malformed(number, "not a line of an accounting log"))
            continue
        run = accounting.ended(one)
        if run is not None:
            log.jobs.append(_record(number, run))
        elif one.kind in ("E", "R"):
            # The end of a job array; each of the array's elements has an end record of its own.
            log.elsewhere["ended without a run"] += 1
        else:
            log.elsewhere[_OTHERS.get(one.kind, f"of type {one.kind}")] += 1
    return log


def _record(line: int, run: accounting.Ended) -> JobRecord:
    return JobRecord(
        line,
        run.id,
        run.submitted or run.started,
        run.started,
        run.ended,
        run.nodes,
        hostlist.compress(run.hosts),
        run.limit or math.inf,
        State.REQUEUED if run.again else _STATES.get(run.state, State.FAILED),
        run.user,
        run.queue,
    )
