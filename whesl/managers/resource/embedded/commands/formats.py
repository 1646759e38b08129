"""Output formats of jobs and nodes: fields, widths, times and states, as Slurm 22.05 prints them."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping

from whesl.managers.resource.embedded.protocol import NodeView
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job
from whesl.model.errors import UsageError
from whesl.model.hostlist import compress
from whesl.model.states import JobState

COMPACT = {
    JobState.PENDING: "PD",
    JobState.RUNNING: "R",
    JobState.COMPLETING: "CG",
    JobState.COMPLETED: "CD",
    JobState.FAILED: "F",
    JobState.CANCELLED: "CA",
    JobState.TIMEOUT: "TO",
    JobState.NODE_FAIL: "NF",
}
MIN_JOB_AGE = 300.0  # seconds for which squeue and scontrol show an ended job
_SPEC = re.compile(r"%(\.?)(\d*)([A-Za-z])")
_SHORT_NODE = {
    "allocated": "alloc",
    "mixed": "mix",
    "completing": "comp",
    "unknown": "unk",
    "draining": "drng",
    "drained": "drain",
}

Fields = Mapping[str, tuple[str, Callable[..., str]]]


def keys(text: str, fields: Fields, command: str) -> list[str]:
    """Return the keys of the fields in a format such as ``%.18i|%j``.

    Args:
        text: the format.
        fields: title and value of each field, by key.
        command: the kind of item, for the error's text.

    Raises UsageError for a field that the command does not know.
    """
    found = [match[3] for match in _SPEC.finditer(text)]
    for key in found:
        if key not in fields:
            raise UsageError(f"Invalid {command} format specification: {key}")
    return found


def write(text: str, fields: Fields, item: object = None) -> None:
    """Print one line, each field padded or cut to its width.

    Args:
        text: the format.
        fields: title and value of each field, by key.
        item: the item to print; None prints the titles.
    """

    def cell(match: re.Match[str]) -> str:
        title, value = fields[match[3]]
        shown = title if item is None else value(item)
        if not match[2]:
            return shown
        width = int(match[2])
        return shown[:width].rjust(width) if match[1] else shown[:width].ljust(width)

    sys.stdout.write(_SPEC.sub(cell, text) + "\n")


def duration(seconds: float) -> str:
    """Return a duration in squeue's form: ``0:02``, ``1:02:03``, ``2-01:02:03``."""
    total = max(0, int(seconds))
    days, rest = divmod(total, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{left:02}"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def long_duration(seconds: float) -> str:
    """Return a duration in the form of scontrol and sacct: ``00:05:00``, ``2-01:02:03``."""
    total = max(0, int(seconds))
    days, rest = divmod(total, 86400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def stamp(when: float, none: str = "N/A") -> str:
    """Return a time in the format of SLURM_TIME_FORMAT, or ``none`` for an unknown time.

    Args:
        when: seconds since the epoch.
        none: text for an unknown time.
    """
    form = os.environ.get("SLURM_TIME_FORMAT", "standard")
    if form in ("standard", "relative"):
        form = "%Y-%m-%dT%H:%M:%S"
    return time.strftime(form, time.localtime(when)) if 0 < when < 1e11 else none


def elapsed(job: Job, now: float) -> float:
    """Return a job's run time so far, in seconds.

    Args:
        job: the job.
        now: seconds since the epoch.
    """
    if not job.started:
        return 0.0
    return (job.ended if job.ended and job.state is not JobState.RUNNING else now) - job.started


def end_time(job: Job) -> float:
    """Return the time when a job ended or reaches its limit, in seconds since the epoch; 0 when unknown."""
    if job.state.ended or job.state is JobState.COMPLETING:
        return job.ended
    return job.started + job.time_limit if job.started and job.time_limit is not None else 0.0


def limit(job: Job, form: Callable[[float], str] = duration) -> str:
    """Return a job's time limit as text.

    Args:
        job: the job.
        form: writes a number of seconds.
    """
    return "UNLIMITED" if job.time_limit is None else form(job.time_limit)


def node_list(job: Job) -> str:
    """Return a job's nodes in Slurm's notation; lost nodes only for an ended job."""
    return compress(sorted((*job.nodes, *job.lost)) if job.state.ended else job.nodes)


def node_count(job: Job) -> int:
    """Return the number of a job's nodes; for a pending job, the least number that it asks for."""
    if job.state is JobState.PENDING:
        return job.spec.nodes or max(1, len(job.spec.nodelist))
    return len(job.nodes) or len(job.lost)


def cpu_count(job: Job) -> int:
    """Return the number of a job's CPUs; for a pending job, the number that it asks for."""
    if job.shares:
        return sum(share.cpus for share in job.shares)
    return (job.spec.tasks or node_count(job) * (job.spec.tasks_per_node or 1)) * job.spec.cpus_per_task


def recent(job: Job, now: float) -> bool:
    """Whether squeue still shows a job: MIN_JOB_AGE has not passed since its end.

    Args:
        job: the job.
        now: seconds since the epoch.
    """
    return not job.state.ended or now - job.ended < MIN_JOB_AGE


def dependency(job: Job) -> str:
    """Return a job's dependencies in the form of ``--dependency``."""
    return ("?" if job.spec.any_dependency else ",").join(
        f"{dependency.kind}:{dependency.job}" for dependency in job.spec.dependencies
    )


def node_state(view: NodeView, *, short: bool = False) -> str:
    """Return a node's state: ``idle``, ``draining``, ...; a star marks a node that does not respond.

    Args:
        view: the node.
        short: whether to use sinfo's short words: ``alloc*``, ``drng``.
    """
    word = view.base
    if view.drain:
        word = "draining" if word in ("allocated", "mixed", "completing") else "drained"
    if short:
        word = _SHORT_NODE.get(word, word)
    return word if view.responds else word + "*"
