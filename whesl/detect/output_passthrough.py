"""Copying a task's output through to its job's streams. Standard library only, as all that the keeper has."""

from __future__ import annotations

import contextlib
import os
import select

from whesl.model import file_retry

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 1 << 20


def blocks(path: str, offset: int) -> Iterator[bytes]:
    """Yield a file's content from an offset on, nothing when there is no such file. Raises OSError."""
    source = -1

    def read() -> bytes:
        nonlocal source
        try:
            if source < 0:
                source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(source, _BLOCK, offset)
        except FileNotFoundError:
            return b""
        except OSError:
            if source >= 0:
                file_retry.close(source)  # a stale handle is not to be used again
                source = -1
            raise

    try:
        while block := file_retry.retried(read):
            yield block
            offset += len(block)
    finally:
        if source >= 0:
            file_retry.close(source)


def pass_on(view: memoryview, out: int) -> int:
    """Write what is taken of some bytes, and return how many those are; 0 when nobody takes any more."""
    while True:
        try:
            return os.write(out, view)
        except BlockingIOError:
            # Whoever shares the pipe with us made it non-blocking: that is no reason to lose output.
            select.select([], [out], [])
        except OSError:
            return 0


class Copied:
    """The file that says how far a stream was copied through, for the next keeper.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = -1

    def position(self) -> tuple[int, int]:
        """Return attempt and offset."""
        words: list[bytes] = []
        with contextlib.suppress(OSError):
            words = (file_retry.content(self._path) or b"").split()
        return (int(words[0]), int(words[1])) if len(words) >= 2 else (1, 0)

    def note(self, number: int, offset: int) -> None:
        """Write them down; where that fails for the moment, the next ones are."""
        try:
            if self._place < 0:
                self._place = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._place, b"%d %d          \n" % (number, offset), 0)
        except OSError:
            if self._place >= 0:
                file_retry.close(self._place)
                self._place = -1
