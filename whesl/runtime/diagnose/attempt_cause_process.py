"""The process that finds an attempt's cause: files on standard input, a cause or null on standard output.

It reads the first and the last part of a long file; between them it only counts lines.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from whesl.model.evidence import Cause
from whesl.runtime.diagnose.attempt_cause import TIME, Asked
from whesl.runtime.diagnose.diagnosing import cause, scanner
from whesl.runtime.diagnose.ranking import diagnose

FIRST, LAST = 8 << 20, 64 << 20  # bytes read at the beginning and at the end of a file
COUNTED = 4 << 30  # bytes between them in which lines are counted; beyond that, line numbers are unknown
READING = TIME * 0.6  # seconds after which only the end of a file is still read
_NEAR_END = 1 << 20
_PIECE = 1 << 20
_MEMORY = 4 << 30  # limit of the address space, bytes


def main() -> int:
    """Read the input, find the cause, print it; return the exit status."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
    found = cause_of(asked.files, time.monotonic() + READING)
    sys.stdout.buffer.write(msgspec.json.encode(found))
    return 0


def cause_of(files: dict[str, int], until: float) -> Cause | None:
    """Return the cause of an attempt; None where its output does not show one.

    Args:
        files: offset of the attempt's output in each file, bytes, by path.
        until: time of the monotonic clock at which reading has to end, seconds.

    Raises OSError.
    """
    reader = scanner()
    uncounted = set()
    for path, begin in files.items():
        reader.begin(path)
        size = Path(path).stat().st_size
        if size > COUNTED:
            uncounted.add(path)
        for piece in pieces(path, begin, size, until):
            reader.feed(piece)
        reader.finish()
    found = cause(diagnose(reader.observed()))
    if found is not None and found.file in uncounted:
        found = msgspec.structs.replace(found, line=0)
    return found


def pieces(path: str, begin: int, size: int, until: float) -> Iterator[bytes]:
    """Yield an attempt's output in a file; each omitted line becomes an empty line.

    Args:
        path: the file.
        begin: offset of the attempt's output, bytes.
        size: offset at which reading ends, bytes.
        until: as for ``cause_of``.
    """
    middle = min(begin + FIRST, size)
    last = max(middle, size - LAST)
    with Path(path).open("rb") as file:
        place = 0
        while place < size:
            late = time.monotonic() >= until
            told = place >= begin and (place < middle or place >= last)
            if told and late and place < size - _NEAR_END:
                told = False
            stops = (begin, middle, last, size - _NEAR_END if late else size, size)
            stop = min(end for end in stops if end > place)
            if not told and size > COUNTED:
                place = file.seek(stop)
                yield b"\n"
                continue
            data = file.read(min(_PIECE, stop - place))
            if not data:
                return
            place += len(data)
            yield data if told else b"\n" * data.count(b"\n")


if __name__ == "__main__":
    sys.exit(main())
