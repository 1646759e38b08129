"""The process that leads a job on this machine: it tells two jobs apart that bear the same id.

Resource managers count their jobs from one again when they are set up anew, and the files of tasks last
longer than that. Standard library only.
"""

from __future__ import annotations

import os

from whesl.runtime.locking import procfs

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOT = "/proc/sys/kernel/random/boot_id"
_FARTHEST = 64  # ancestors


def leader(jobs: Mapping[str, str]) -> str:
    """Return the farthest ancestor that belongs to this process's job: its script, or the task of a step.

    Args:
        jobs: the job's id by the variable that tells it, also of several managers; none for no job.

    Returns this machine, its boot, the process's number and start; "" when it cannot be seen.
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
    """Whether a leader has ended for sure: it ran on this machine, and does not any more.

    Args:
        known: what ``leader`` returned.
    """
    host, _, process = known.rpartition("/")
    if not known or host != os.uname().nodename:
        return False
    try:
        return _name(int(process.split(".")[1])) != known
    except OSError:
        return False


def script(known: str, told: str, jobs: Mapping[str, str]) -> int:
    """Return the process of the job's script, or of a step's task, that this process is or belongs to.

    Args:
        known: what ``leader`` returned.
        told: the number of a process that the resource manager tells its job, "" for none.
        jobs: as for ``leader``.

    Returns its number, also where it has just ended; 0 where that is neither this process nor the leader.
    """
    top = known.rpartition("/")[2].split(".")[1:2]
    belongs = told in (str(os.getpid()), *top) or (told.isdecimal() and _orphaned(int(told), top, jobs))
    return int(told) if belongs else 0


def _orphaned(script: int, top: list[str], jobs: Mapping[str, str]) -> bool:
    """Whether a job's script has ended, and a process that is not of the job has got its processes.

    Where the script only cannot be seen, as from within a container, the parent is the user's own.

    Args:
        script: the script's process number.
        top: the number of the leader that is left; none where this process has no ancestor in the job.
        jobs: as for ``leader``.
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
