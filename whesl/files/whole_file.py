"""Files that a user names: whole or absent, written under a temporary name, synced, renamed.

A name that is no regular file's, such as /dev/null or a pipe, is written to: a rename would put a file in the
place of a device, for all programs of the machine where the user is root.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from whesl.model.errors import WheslError


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name when all of it is on the disk.

    A file of that name stays as it was until then, also where the disk is full or the process is killed. A
    device or a pipe is written to as it is.

    Args:
        path: the file; its directory is made.

    Raises:
        WheslError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if _is_special(path):
            with path.open("wb") as file:
                yield file
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise WheslError(
            f"cannot write {path}: {error.strerror or error}", hint="what was written before is kept"
        ) from error


def _is_special(path: Path) -> bool:
    """Whether a name is that of a device, a pipe or the like, also by a link of this user or of root."""
    try:
        link, seen = path.lstat(), path.stat()
    except OSError:
        return False
    trusted = not stat.S_ISLNK(link.st_mode) or link.st_uid in (0, os.geteuid())
    return trusted and not (stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file.

    Args:
        path: the file; its directory is made.
        data: the file's content.

    Raises:
        WheslError: it cannot be written.
    """
    with whole(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a whole file as UTF-8.

    Args:
        path: the file; its directory is made.
        text: the file's content.

    Raises:
        WheslError: it cannot be written.
    """
    write_bytes(path, text.encode())
