"""The process that leads a job on this machine: it tells two jobs apart that bear the same id.

Resource managers count their jobs from one again when they are set up anew, and the files of tasks last
longer than that. Standard library only.
"""

from __future__ import annotations

import os

from whesl.runtime.locking import procfs

_BOOT = "/proc/sys/kernel/random/boot_id"
_FARTHEST = 64  # ancestors


def leader(job_id: str) -> str:
    """Return the farthest ancestor that belongs to a job of Slurm: its script, or the task of a step.

    Args:
        job_id: the job.

    Returns this machine, its boot, the process's number and start; "" when it cannot be seen.
    """
    try:
        return _leader(job_id)
    except OSError:
        return ""


def _leader(job_id: str) -> str:
    wanted = f"\0SLURM_JOB_ID={job_id}\0".encode()
    found, pid = 0, os.getppid()
    for _ in range(_FARTHEST):
        if pid <= 1 or wanted not in b"\0" + (procfs.content(f"/proc/{pid}/environ") or b""):
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


def script(known: str) -> int:
    """Return the process of the job's script, or of a step's task, that this process is or belongs to.

    Args:
        known: what ``leader`` returned.

    Returns its number; 0 where Slurm names neither this process nor the leader.
    """
    told = os.environ.get("SLURM_TASK_PID", "")
    _, _, process = known.rpartition("/")
    return int(told) if told in (str(os.getpid()), *process.split(".")[1:2]) else 0


def over(pid: int) -> bool:
    """Whether a process of this machine has surely ended."""
    try:
        return procfs.status_fields(pid)[:1] in ([], [b"Z"], [b"X"])
    except OSError:
        return False


def _name(pid: int) -> str:
    started = procfs.started(pid) if pid else 0
    boot = (procfs.content(_BOOT) or b"").decode().strip()
    return f"{os.uname().nodename}/{boot}.{pid}.{started}" if started else ""


def _parent(pid: int) -> int:
    fields = procfs.status_fields(pid)
    return int(fields[1]) if fields else 0
