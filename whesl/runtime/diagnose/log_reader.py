"""Reads logs: several files, compressed, in any encoding, or a pipe."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from whesl.files.packed_text import opened
from whesl.model.errors import UsageError
from whesl.runtime.diagnose.diagnosis_records import Observed
from whesl.runtime.diagnose.labels import uncoloured
from whesl.runtime.diagnose.scanner import Scanner

READ_SIZE = 256 << 10  # bytes that a processor keeps in its cache while they are searched several times
STDIN = "-"
_MARK = 4  # bytes of a byte order mark that identify an encoding
_LOOKED_AT = 1000  # first bytes that are checked for UTF-16 without a mark: every second one is zero
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (codecs.BOM_UTF8, "utf-8-sig"))


def observe(
    files: Sequence[str],
    scanner: Scanner,
    progress: Callable[[int], None] = lambda _: None,
    unread: Callable[[str], None] = lambda _: None,
) -> Observed:
    """Read files to their ends, damaged files as far as possible.

    Args:
        files: paths; ``-`` is standard input.
        scanner: gets the files' bytes.
        progress: called with the number of bytes of each piece.
        unread: called with a sentence for each file that could not be read, or not to its end.

    Raises:
        UsageError: no file can be read.
    """
    refused: list[UsageError] = []
    for name in files:
        scanner.begin(name)
        try:
            for piece in pieces(name, unread):
                scanner.feed(piece)
                progress(len(piece))
        except UsageError as error:
            refused.append(error)
        scanner.finish()
    if refused and len(refused) == len(files):
        raise refused[0]
    for each in refused:
        unread(str(each))
    return scanner.observed()


def pieces(name: str, unread: Callable[[str], None] = lambda _: None) -> Iterator[bytes]:
    """Yield the text of a log in pieces, in UTF-8 or in its own eight-bit encoding.

    Args:
        name: the log's path; ``-`` is standard input.
        unread: called with a sentence where the file is damaged after the yielded pieces.

    Raises:
        UsageError: no part of the log can be read.
    """
    path = Path("/dev/stdin") if name == STDIN else Path(os.fspath(name))
    yielded = False
    try:
        with opened(path) as file:
            # read1 may return less than it is asked for, so that data before a damaged part is not lost.
            begin = file.read1(READ_SIZE)
            while begin and len(begin) < _MARK and (more := file.read1(READ_SIZE)):
                begin += more
            encoding = _encoding(begin)
            decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
            while begin:
                yield decoder.decode(begin).encode() if decoder is not None else begin
                yielded = True
                begin = file.read1(READ_SIZE)
    except UsageError as error:
        if not yielded:
            raise
        unread(str(error))


def _encoding(begin: bytes) -> str | None:
    """Return the encoding of a log in UTF-16 or UTF-32, by its first bytes; None for any other encoding."""
    marked = next((name for mark, name in _MARKS if begin.startswith(mark)), None)
    if marked is not None or len(begin) < _MARK:
        return marked
    even, odd = begin[:_LOOKED_AT:2], begin[1:_LOOKED_AT:2]
    if odd.count(0) > 0.9 * len(odd) and even.count(0) < 0.1 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.9 * len(even) and odd.count(0) < 0.1 * len(odd):
        return "utf-16-be"
    return None


def lines_of_all(names: Sequence[str]) -> Iterator[str]:
    """Yield all lines of some logs."""
    for name in names:
        yield from (text for _, text in lines_of(name, 1, sys.maxsize))


def lines_of(name: str, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a log from one number to another, with their numbers, without colour codes.

    Args:
        name: the log's path.
        first, last: numbers of lines, from 1; missing lines are left out.
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
