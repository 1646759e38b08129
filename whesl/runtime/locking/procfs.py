"""Identities of processes and hosts, as proc(5) shows them. Standard library only."""

from __future__ import annotations

import errno
import os
import select
import time

_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"


# Errors for a process that does not exist or belongs to another user.
_NONE = (errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM)
_TRIES = 20
_PAUSE = 0.01  # seconds between two tries


def content(path: str) -> bytes | None:
    """Return the content of a process's file; None when the process is gone or another user's.

    The read is repeated for 0.2 s while descriptors or memory are short.

    Args:
        path: the file's path below /proc.

    Raises OSError when the file cannot be read, which does not mean that the process is gone.
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
    """Return the start of a process in clock ticks since boot (proc_pid_stat(5)); 0 when it does not exist.

    Args:
        pid: its number.

    Raises OSError when it could not be observed.
    """
    fields = status_fields(pid)
    return int(fields[19]) if fields else 0


def status_fields(pid: int) -> list[bytes]:
    """Return the fields of proc_pid_stat(5) from the state on; an empty list when the process does not exist.

    Args:
        pid: its number.

    Raises OSError when it could not be observed.
    """
    return _status_fields_of(f"/proc/{pid}/stat")


def _status_fields_of(path: str) -> list[bytes]:
    """Return the fields from the state on of the ``stat`` file of a process or thread.

    Raises OSError when it could not be observed.
    """
    # The process's name may contain parentheses and spaces: the last ")" ends it.
    return (content(path) or b"").rpartition(b")")[2].split()


def living_thread(pid: int, fields: list[bytes]) -> tuple[int, str]:
    """Return the number and the state of a living thread that represents a process.

    This is the first thread, if it lives. A process whose first thread has ended before others looks like a
    zombie without memory or environment, although it lives: then another thread is returned, under whose
    number /proc shows memory and environment.

    Args:
        pid: the process's number.
        fields: the result of ``status_fields``.

    Raises OSError when the process cannot be observed.
    """
    state = fields[0].decode()
    if state not in "ZX" or int(fields[17]) < 2:
        return pid, state
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  # strings
    except (FileNotFoundError, ProcessLookupError):
        return pid, state
    for thread in threads:
        told = _status_fields_of(f"/proc/{pid}/task/{thread}/stat")
        if told and (of_thread := told[0].decode()) not in "ZX":
            return int(thread), of_thread
    return pid, state


def pidfd(pid: int) -> int | None:
    """Return a descriptor of a process (pidfd_open(2)), None when the process does not exist.

    A number that the system has since given to a thread names no process: the error is EINVAL, and ENOENT
    since Linux 6.15.

    Args:
        pid: its number.

    Raises OSError when the process gets no descriptor.
    """
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.ENOENT, errno.EINVAL):
            return None
        raise


class Watched:
    """Another process whose end the caller waits for."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        found = pidfd(pid)
        self.descriptors = () if found is None else (found,)

    def gone(self) -> bool:
        """Whether the process has ended."""
        return not self.descriptors or bool(select.select(self.descriptors, (), (), 0)[0])


def boot() -> str:
    """Return an identity of this machine's boot and its namespace of process numbers."""
    try:
        with open(_BOOT) as file:  # noqa: PTH123
            return f"{file.read().strip()}/{os.readlink(_NAMESPACE)}"  # noqa: PTH115
    except OSError:
        return ""


def is_own(pid: int) -> bool:
    """Whether a process belongs to this user, by its real user id, so set-uid programs do; root owns all."""
    if os.geteuid() == 0:
        return True
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
            told = next((line for line in file if line.startswith(b"Uid:")), b"Uid: -1")
    except OSError:
        return False
    return int(told.split()[1]) == os.getuid()
