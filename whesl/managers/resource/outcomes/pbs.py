"""The outcome of a PBS job (OpenPBS, PBS Pro), from ``qstat -x -f -F json``, which shows ended jobs, too."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from whesl.managers.resource.outcomes.record import JobOutcome, Run
from whesl.managers.resource.pbs import records, states
from whesl.model.errors import CouldNotObserveError
from whesl.model.states import JobState

JOB = re.compile(r"\d+(?:\[\d*\])?(?:\.[A-Za-z][\w.-]*)?")  # with its server's name, or of the default server
_TOLD = ("job_state", "Exit_status", "comment", "exec_host")
_USED = ("mem", "vmem", "walltime")
_INDEX = "^array_index^"  # stands for the index in the names of an array's output files (qsub(1B))
_NAMED = 8  # the most failed elements of an array that are named
_NO_FAILURES = (JobState.COMPLETED, JobState.CANCELLED)


def outcome(job: str, run: Run) -> JobOutcome | None:
    """Return PBS's report on a job, None when PBS does not know the job (or keeps no history).

    For a whole job array (``7[].server``), the report covers the first failed element, or else the first that
    has not ended, or else the first; it includes the number of failed elements.

    Args:
        job: the job's id.
        run: runs PBS's commands.

    Raises:
        WheslError: PBS does not answer, or refuses.
    """
    if "[]" in job:
        return _of_array(job, run)
    try:
        jobs = records.parsed(run("qstat", "-x", "-f", "-F", "json", job), "Jobs")
    except CouldNotObserveError:
        return None
    if not jobs:
        return None
    job, found = next(iter(jobs.items()))
    status = records.number(found.get("Exit_status"))
    state = states.job_state(str(found.get("job_state", "")), records.number(found.get("substate")), status)
    files = [
        _path(found, "Output_Path", job, ".OU"),
        *([] if found.get("Join_Path") == "oe" else [_path(found, "Error_Path", job, ".ER")]),
    ]
    return JobOutcome(
        state="RUNNING" if state is JobState.COMPLETING else state.value,
        status=states.shell_status(status),
        told=", ".join(_words(found)),
        files=tuple(dict.fromkeys(name for name in files if name)),
        since=records.seconds(found.get("stime"))
        or (0.0 if records.number(found.get("run_count")) else math.inf),
    )


def _of_array(job: str, run: Run) -> JobOutcome | None:
    told = records.listed(run("qstat", "-t", "-x", "-f", "-F", "dsv", "-D", records.SEPARATOR, job))
    elements = {name: records.job_record(name, one).state for name, one in told.items() if "[]" not in name}
    if not elements:
        return None
    failed = [name for name, state in elements.items() if state.ended and state not in _NO_FAILURES]
    first = next(iter(failed or [name for name, state in elements.items() if not state.ended] or elements))
    found = outcome(first, run)
    if found is None:
        return None
    names = f": {', '.join(failed[:_NAMED])}{', ...' if len(failed) > _NAMED else ''}" if failed else ""
    said = f"{len(failed)} of {len(elements)} elements failed{names}; {first}: {found.told}"
    return msgspec.structs.replace(found, told=said)


def _path(found: dict[str, Any], name: str, job: str, suffix: str) -> str:
    """Return the path in ``host:path``, with the array index filled in and PBS's file name in a directory."""
    index = job.partition("[")[2].partition("]")[0]
    path = str(found.get(name, "")).partition(":")[2].replace(_INDEX, index)
    return f"{path}{job}{suffix}" if path.endswith("/") else path


def _words(found: dict[str, Any]) -> list[str]:
    used, asked = found.get("resources_used") or {}, found.get("Resource_List") or {}
    words = [f"{name}={found[name]}" for name in _TOLD if name in found]
    words += [f"used {name}={used[name]}" for name in _USED if name in used]
    return words + [f"asked {name}={asked[name]}" for name in _USED if name in asked]
