"""What tells a process and a host from all others, as proc(5) shows it. Standard library only."""

from __future__ import annotations

import errno
import os

_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"


def started(pid: int) -> int:
    """Return when a process was started, clock ticks since boot (proc_pid_stat(5)); 0 when there is none.

    Args:
        pid: its number.
    """
    fields = status_fields(pid)
    return int(fields[19]) if fields else 0


def status_fields(pid: int) -> list[bytes]:
    """Return what proc_pid_stat(5) tells of a process from its state on; nothing when there is none.

    Args:
        pid: its number.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # pathlib costs milliseconds
            content = file.read()
    except OSError:
        return []
    # The name may contain anything, parentheses and spaces included: the last one ends it.
    return content.rpartition(b")")[2].split()


def pidfd(pid: int) -> int | None:
    """Return a descriptor of a process (pidfd_open(2)), None when there is none.

    A number that was given to a thread meanwhile names no process: EINVAL, since Linux 6.15 ENOENT.

    Args:
        pid: its number.

    Raises OSError when no descriptor is to be had.
    """
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.ENOENT, errno.EINVAL):
            return None
        raise


def boot() -> str:
    """Return this machine's boot and the process numbers' namespace: where such a number has a meaning."""
    try:
        with open(_BOOT) as file:  # noqa: PTH123
            return f"{file.read().strip()}/{os.readlink(_NAMESPACE)}"  # noqa: PTH115
    except OSError:
        return ""
