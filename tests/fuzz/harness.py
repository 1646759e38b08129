"""What a harness is: one function of bytes that raises only for a defect, and how it is run.

The same functions are called with what hypothesis draws, with what atheris finds by coverage, and with the
kept corpus.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

CORPUS = Path(__file__).with_name("corpus")
# Longer input is not tried: what grows too fast shows far below it.
MAX_LENGTH = 4096
# Calls of functions that any input may cost, and calls for each of its bytes. Far above what is seen (the
# largest reader, a study that is expanded, stays below a fifth), and far below what repeats itself.
CALLS = 400_000
CALLS_PER_BYTE = 3_000


@dataclass(frozen=True)
class Harness:
    """One reader under test.

    Args:
        name: of the harness and of its directory in the corpus.
        run: takes any bytes; raises for a defect only.
        words: what its input is made of, for generators and as atheris's dictionary.
    """

    name: str
    run: Callable[[bytes], None]
    words: tuple[str, ...] = ()

    def corpus(self) -> list[Path]:
        """Return the kept inputs: seeds, and each that once showed a defect."""
        return sorted(path for path in (CORPUS / self.name).iterdir() if path.is_file())


class TooMuchWorkError(AssertionError):
    """An input costs more than its size explains."""


def bounded(harness: Harness, data: bytes) -> None:
    """Run a harness and count the calls: work is counted, not timed. Raises TooMuchWorkError."""
    limit = CALLS + CALLS_PER_BYTE * len(data)
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > limit:
            sys.setprofile(None)
            raise TooMuchWorkError(f"{harness.name}: more than {limit} calls for {len(data)} bytes")

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        harness.run(data)
    finally:
        sys.setprofile(previous)


def text_of(data: bytes) -> str:
    """Return bytes as text as a program's output is read here: what is no UTF-8 is replaced."""
    return data.decode("utf-8", "replace")
