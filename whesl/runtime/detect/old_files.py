"""Positions and marks of files just before an attempt, by which the files are recognised later.

Standard library only.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # the imports of typing and collections.abc take milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

HEAD = 1024  # bytes of the mark at a file's beginning
END = 4096  # bytes of the mark at a file's end


def positions(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return the ends of those files that are not empty, as positions for ``Tailer.restore``."""
    return [position for path in paths if (position := _position(path)) is not None]


def gone(positions: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the positions whose file is no longer at its path."""
    for position in positions:
        try:
            there = os.stat(position["path"])  # noqa: PTH116 - pathlib takes milliseconds to import
        except OSError:
            yield position
        else:
            if (there.st_dev, there.st_ino) != (position["device"], position["inode"]):
                yield position


def _position(path: str) -> dict[str, Any] | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or not seen.st_size:
            return None
        end = min(END, seen.st_size)
        return {
            "path": path,
            "device": seen.st_dev,
            "inode": seen.st_ino,
            "offset": seen.st_size,
            "head": os.pread(handle, HEAD, 0)[: seen.st_size].hex(),
            "mark": os.pread(handle, end, seen.st_size - end).hex(),
            "fresh": False,
        }
    except OSError:
        return None
    finally:
        os.close(handle)
