"""The leader process of a job on this machine, which distinguishes two jobs with the same id.

A resource manager that is set up anew numbers its jobs from one again, while the files of earlier tasks still
exist. Standard library only.
"""

from __future__ import annotations

import os

from whesl.runtime.locking import procfs

TYPE_CHECKING = False  # the imports of typing and collections.abc take milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOT = "/proc/sys/kernel/random/boot_id"
_FARTHEST = 64  # the most ancestors that are examined


def leader(jobs: Mapping[str, str]) -> str:
    """Return the farthest ancestor in this process's job: the job's script, or the task of a job step.

    Args:
        jobs: the job's id by the environment variable that contains it; empty outside a job.

    Returns a text of this machine, its boot, and the ancestor's process number and start; "" when no such
    process is visible.
    """
    try:
        return _leader(jobs)
    except OSError:
        return ""


def _leader(jobs: Mapping[str, str]) -> str:
    found, pid = 0, os.getppid()
    for _ in range(_FARTHEST):
        if pid <= 1 or not _of_job(pid, jobs):
            break
        found, pid = pid, _parent(pid)
    return _name(found)


def gone(known: str) -> bool:
    """Whether a leader has surely ended: it ran on this machine and does not run any more.

    Args:
        known: the result of ``leader``.
    """
    host, _, process = known.rpartition("/")
    if not known or host != os.uname().nodename:
        return False
    try:
        return _name(int(process.split(".")[1])) != known
    except OSError:
        return False


def script(known: str, told: str, jobs: Mapping[str, str]) -> int:
    """Return the process number of the job's script, or of the job step's task, that this process belongs to.

    Args:
        known: the result of ``leader``.
        told: the process number that the resource manager passes to the job, "" for none.
        jobs: the job's id by the environment variable that contains it.

    Returns the number even if that process has just ended; 0 where it is neither this process nor the leader.
    """
    top = known.rpartition("/")[2].split(".")[1:2]
    belongs = told in (str(os.getpid()), *top) or (told.isdecimal() and _orphaned(int(told), top, jobs))
    return int(told) if belongs else 0


def _orphaned(script: int, top: list[str], jobs: Mapping[str, str]) -> bool:
    """Whether a job's script has ended and a process outside the job has adopted the script's processes.

    A script that is only invisible, as from within a container, is no such case: then the parent is the
    user's.

    Args:
        script: the script's process number.
        top: the process number of the remaining leader; empty where this process has no ancestor in the job.
        jobs: the job's id by the environment variable that contains it.
    """
    if not over(script):
        return False
    try:
        parent = _parent(int(top[0])) if top else os.getppid()
        return parent > 0 and not (_of_job(parent, jobs) if os.geteuid() == 0 else procfs.is_own(parent))
    except OSError:
        return False


def over(pid: int) -> bool:
    """Whether a process of this machine has surely ended."""
    try:
        return procfs.status_fields(pid)[:1] in ([], [b"Z"], [b"X"])
    except OSError:
        return False


def _of_job(pid: int, jobs: Mapping[str, str]) -> bool:
    environment = b"\0" + (procfs.content(f"/proc/{pid}/environ") or b"")
    return any(f"\0{name}={job}\0".encode() in environment for name, job in jobs.items())


def _name(pid: int) -> str:
    started = procfs.started(pid) if pid else 0
    boot = (procfs.content(_BOOT) or b"").decode().strip()
    return f"{os.uname().nodename}/{boot}.{pid}.{started}" if started else ""


def _parent(pid: int) -> int:
    fields = procfs.status_fields(pid)
    return int(fields[1]) if fields else 0
