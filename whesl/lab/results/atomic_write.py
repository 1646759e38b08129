"""Files that are whole or absent: written under a temporary name, synced, renamed."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from whesl.model.errors import WheslError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name when all of it is on the disk.

    A file of that name stays as it was until then, also where the disk is full or the process is killed.

    Args:
        path: the file; its directory is made.

    Raises:
        WheslError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
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


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file. Arguments and errors as of ``whole``."""
    with whole(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a whole file as UTF-8. Arguments and errors as of ``whole``."""
    write_bytes(path, text.encode())
