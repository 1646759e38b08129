"""The process that says what an attempt died of: files on standard input, a cause or null on standard output.

Of a long file the first and the last part are read; of what lies between, only lines are counted.
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

FIRST, LAST = 8 << 20, 64 << 20  # bytes of a file that are read
COUNTED = 4 << 30  # bytes in which lines are counted; of more, no line has a number
READING = TIME * 0.6  # seconds; what is left of a file then is only looked at near its end
_NEAR_END = 1 << 20
_PIECE = 1 << 20
_MEMORY = 4 << 30  # bytes of address space


def main() -> int:
    """Answer one question."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
    found = cause_of(asked.files, time.monotonic() + READING)
    sys.stdout.buffer.write(msgspec.json.encode(found))
    return 0


def cause_of(files: dict[str, int], until: float) -> Cause | None:
    """Return what an attempt died of; None where its output does not say.

    Args:
        files: at which byte its part of each begins, by path.
        until: when reading has to come to an end, on the monotonic clock.

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
    """Yield an attempt's part of a file; what is left out is as many empty lines as it has.

    Args:
        path: the file.
        begin: where the attempt's part begins, bytes.
        size: up to where it is read.
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
