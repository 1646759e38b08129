"""What tells a process and a host from all others, as proc(5) shows it. Standard library only."""

from __future__ import annotations

import errno
import os
import select
import time

_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"


# No such process, or another user's.
_NONE = (errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM)
_TRIES = 20
_PAUSE = 0.01  # seconds


def content(path: str) -> bytes | None:
    """Return a file of a process, None when there is no such process or it is another user's.

    Tried again for 0.2 s when descriptors or memory are short.

    Args:
        path: below /proc.

    Raises OSError when it could not be observed, which does not mean that the process is gone.
    """
    for attempt in range(_TRIES):
        try:
            return _read(path)
        except OSError as error:
            if error.errno in _NONE:
                return None
            if attempt == _TRIES - 1:
                raise
        time.sleep(_PAUSE)
    raise AssertionError("unreachable")


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    parts = []
    try:
        while part := os.read(descriptor, 1 << 17):
            parts.append(part)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def started(pid: int) -> int:
    """Return when a process was started, clock ticks since boot (proc_pid_stat(5)); 0 when there is none.

    Args:
        pid: its number.

    Raises OSError when it could not be observed.
    """
    fields = status_fields(pid)
    return int(fields[19]) if fields else 0


def status_fields(pid: int) -> list[bytes]:
    """Return what proc_pid_stat(5) tells of a process from its state on; nothing when there is none.

    Args:
        pid: its number.

    Raises OSError when it could not be observed.
    """
    return status_fields_of(f"/proc/{pid}/stat")


def status_fields_of(path: str) -> list[bytes]:
    """Return the same of a process's or a thread's ``stat`` file.

    Args:
        path: the file's.

    Raises OSError when it could not be observed.
    """
    # The name may contain anything, parentheses and spaces included: the last one ends it.
    return (content(path) or b"").rpartition(b")")[2].split()


def living_thread(pid: int, fields: list[bytes]) -> tuple[int, str]:
    """Return the number and the state of the thread that tells of a process.

    That is its first one. Where that has ended before others, the process looks like a zombie without memory
    or environment, and lives: one of the others is returned, by whose number /proc shows both.

    Args:
        pid: the process's number.
        fields: what ``status_fields`` returned.

    Raises OSError when it could not be observed.
    """
    state = fields[0].decode()
    if state not in "ZX" or int(fields[17]) < 2:
        return pid, state
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  # strings
    except (FileNotFoundError, ProcessLookupError):
        return pid, state
    for thread in threads:
        told = status_fields_of(f"/proc/{pid}/task/{thread}/stat")
        if told and (of_thread := told[0].decode()) not in "ZX":
            return int(thread), of_thread
    return pid, state


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


class Watched:
    """Another process, whose end is waited for."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        found = pidfd(pid)
        self.descriptors = () if found is None else (found,)

    def gone(self) -> bool:
        """Whether the process has ended."""
        return not self.descriptors or bool(select.select(self.descriptors, (), (), 0)[0])


def boot() -> str:
    """Return this machine's boot and the process numbers' namespace: where such a number has a meaning."""
    try:
        with open(_BOOT) as file:  # noqa: PTH123
            return f"{file.read().strip()}/{os.readlink(_NAMESPACE)}"  # noqa: PTH115
    except OSError:
        return ""


def is_own(pid: int) -> bool:
    """Whether a process is this user's, by its real user: a set-uid program is. To root all are."""
    if os.geteuid() == 0:
        return True
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
            told = next((line for line in file if line.startswith(b"Uid:")), b"Uid: -1")
    except OSError:
        return False
    return int(told.split()[1]) == os.getuid()
