"""The small files of a task's directory, replaced in one piece. Standard library only."""

from __future__ import annotations

import contextlib
import os

from whesl.model import retry


def replace(path: str, content: bytes, *, mode: int = 0o600, limit: float = retry.LIMIT) -> None:
    """Replace a file's content in one piece. Raises OSError.

    Args:
        path: the file.
        content: all of it.
        mode: who may do what with it, whatever the umask; the user alone.
        limit: seconds for which it is tried where that fails for the moment.
    """
    retry.retried(lambda: _replace(path, content, mode), limit)


def _replace(path: str, content: bytes, mode: int) -> None:
    directory, _, name = path.rpartition("/")
    beside = f"{directory or '.'}/.{name}.{os.getpid()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if mode != 0o600:
                os.fchmod(descriptor, mode)
        os.replace(beside, path)  # noqa: PTH105  # pathlib costs milliseconds
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        raise


def make_directory(path: str) -> None:
    """Make a directory that is private to the user; one that is there is no error. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        retry.retried(lambda: os.mkdir(path, 0o700))  # noqa: PTH102
