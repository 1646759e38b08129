"""A job of PBS (OpenPBS, PBS Pro), from ``qstat -x -f -F json``, which tells of ended jobs too."""

from __future__ import annotations

import re
from typing import Any

from whesl.managers.resource.outcomes.record import JobOutcome, Run
from whesl.managers.resource.pbs import records, states
from whesl.model.errors import CouldNotObserveError
from whesl.model.states import JobState

JOB = re.compile(r"\d+(?:\[\d*\])?\.[A-Za-z][\w.-]*")
_TOLD = ("job_state", "Exit_status", "comment", "exec_host")
_USED = ("mem", "vmem", "walltime")


def outcome(job: str, run: Run) -> JobOutcome | None:
    """Return what PBS tells of a job, None when it does not know the job (or its history is off).

    Args:
        job: its id, with the server's name.
        run: runs PBS's commands.

    Raises:
        WheslError: PBS does not answer, or says no.
    """
    try:
        jobs = records.parsed(run("qstat", "-x", "-f", "-F", "json", job), "Jobs")
    except CouldNotObserveError:
        return None
    found = jobs.get(job) or next(iter(jobs.values()), None)
    if found is None:
        return None
    status = records.number(found.get("Exit_status"))
    state = states.job_state(str(found.get("job_state", "")), records.number(found.get("substate")), status)
    files = [
        _path(found, "Output_Path"),
        *([] if found.get("Join_Path") == "oe" else [_path(found, "Error_Path")]),
    ]
    return JobOutcome(
        state="RUNNING" if state is JobState.COMPLETING else state.value,
        status=states.shell_status(status),
        told=", ".join(_words(found)),
        files=tuple(dict.fromkeys(name for name in files if name)),
    )


def _path(found: dict[str, Any], name: str) -> str:
    """Return the path of ``host:path``."""
    return str(found.get(name, "")).partition(":")[2]


def _words(found: dict[str, Any]) -> list[str]:
    used, asked = found.get("resources_used") or {}, found.get("Resource_List") or {}
    words = [f"{name}={found[name]}" for name in _TOLD if name in found]
    words += [f"used {name}={used[name]}" for name in _USED if name in used]
    return words + [f"asked {name}={asked[name]}" for name in _USED if name in asked]
