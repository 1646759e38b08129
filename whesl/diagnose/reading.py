"""Logs as people have them: many files, compressed, in any encoding, or in a pipe."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from whesl.detect.compressed_logs import opened
from whesl.diagnose.labels import uncoloured
from whesl.diagnose.records import Observed
from whesl.diagnose.scanner import Scanner

READ_SIZE = 1 << 20
STDIN = "-"
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (codecs.BOM_UTF8, "utf-8-sig"))


def observe(
    files: Sequence[str],
    scanner: Scanner,
    progress: Callable[[int], None] = lambda _: None,
) -> Observed:
    """Read files to their ends.

    Args:
        files: paths; ``-`` is standard input.
        scanner: takes in their bytes.
        progress: called with the bytes of each piece.

    Raises:
        UsageError: a file cannot be read.
    """
    for name in files:
        scanner.begin(name)
        for piece in pieces(name):
            scanner.feed(piece)
            progress(len(piece))
        scanner.finish()
    return scanner.observed()


def pieces(name: str) -> Iterator[bytes]:
    """Yield the text of a log in pieces, in UTF-8 or whatever eight-bit encoding it is in."""
    path = Path("/dev/stdin") if name == STDIN else Path(os.fspath(name))
    with opened(path) as file:
        begin = file.read(READ_SIZE)
        encoding = next((name for mark, name in _MARKS if begin.startswith(mark)), None)
        decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
        while begin:
            yield decoder.decode(begin).encode() if decoder is not None else begin
            begin = file.read(READ_SIZE)


def lines_of_all(names: Sequence[str]) -> Iterator[str]:
    """Yield all lines of logs."""
    for name in names:
        yield from (text for _, text in lines_of(name, 1, sys.maxsize))


def lines_of(name: str, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield some lines of a log, with their numbers, without colour codes.

    Args:
        name: its path.
        first, last: numbers of lines, from 1; lines that are not there are left out.
    """
    number, carry = 1, b""
    for piece in (*pieces(name), None):
        lines = (carry + (piece or b"")).split(b"\n")
        carry = lines.pop() if piece is not None else b""
        for line in lines:
            if number > last:
                return
            if number >= first and (piece is not None or line):
                yield number, uncoloured(line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2])
            number += 1
