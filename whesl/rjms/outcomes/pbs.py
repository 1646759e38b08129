"""A job of PBS (OpenPBS, PBS Pro), from ``qstat -x -f -F json``, which tells of ended jobs too."""

from __future__ import annotations

import json
import re
from typing import Any

from whesl.rjms.outcomes.record import JobOutcome, Run

JOB = re.compile(r"\d+(?:\[\d*\])?\.[A-Za-z][\w.-]*")
# Exit_status below 0 is PBS's own: src/include/job.h of openpbs (JOB_EXEC_KILL_VMEM and the like).
_KILLED = {-26: "OUT_OF_MEMORY", -27: "OUT_OF_MEMORY", -28: "TIMEOUT", -29: "TIMEOUT"}
_STATES = {"R": "RUNNING", "E": "RUNNING", "S": "RUNNING", "U": "RUNNING", "B": "RUNNING"}
_ENDED = ("F", "X")
_SIGNAL = 256  # what PBS adds to the number of the signal that ended a job's shell
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
        jobs: dict[str, dict[str, Any]] = json.loads(run("qstat", "-x", "-f", "-F", "json", job))["Jobs"]
    except (json.JSONDecodeError, KeyError):
        return None
    found = jobs.get(job) or next(iter(jobs.values()), None)
    if found is None:
        return None
    status = found.get("Exit_status")
    files = [
        _path(found, "Output_Path"),
        *([] if found.get("Join_Path") == "oe" else [_path(found, "Error_Path")]),
    ]
    return JobOutcome(
        state=_state(str(found.get("job_state", "")), status, str(found.get("comment", ""))),
        status=_shell_status(status),
        told=", ".join(_words(found)),
        files=tuple(dict.fromkeys(name for name in files if name)),
    )


def _state(letter: str, status: int | None, comment: str) -> str:
    if letter not in _ENDED:
        return _STATES.get(letter, "PENDING")
    if status in _KILLED:
        return _KILLED[status]
    if status == 0:
        return "COMPLETED"
    # qdel ends a job by SIGTERM, and a job that never ran has no status.
    if status is None or (status == _SIGNAL + 15 and "node" not in comment.lower()):
        return "CANCELLED"
    return "FAILED"


def _shell_status(status: int | None) -> int | None:
    if status is None or status < 0:
        return None
    return 128 + status - _SIGNAL if status > _SIGNAL else status


def _path(found: dict[str, Any], name: str) -> str:
    """Return the path of ``host:path``."""
    return str(found.get(name, "")).partition(":")[2]


def _words(found: dict[str, Any]) -> list[str]:
    used, asked = found.get("resources_used") or {}, found.get("Resource_List") or {}
    words = [f"{name}={found[name]}" for name in _TOLD if name in found]
    words += [f"used {name}={used[name]}" for name in _USED if name in used]
    return words + [f"asked {name}={asked[name]}" for name in _USED if name in asked]
