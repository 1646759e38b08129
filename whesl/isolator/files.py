"""The small files of a task's directory: replaced in one piece, and locked. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import os


def replace(path: str, content: bytes) -> None:
    """Replace a file's content in one piece; it is private to the user. Raises OSError.

    Args:
        path: the file.
        content: all of it.
    """
    directory, _, name = path.rpartition("/")
    beside = f"{directory or '.'}/.{name}.{os.getpid()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(beside, path)  # noqa: PTH105  # pathlib costs milliseconds
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)  # noqa: PTH108
        raise


def lock(path: str) -> int | None:
    """Hold a lock until its descriptor, which is returned, is closed everywhere; None when another has it.

    Args:
        path: the lock's file, made when missing.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


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
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            content = file.read()
    except OSError:
        return []
    # The name may contain anything, parentheses and spaces included: the last one ends it.
    return content.rpartition(b")")[2].split()
