"""Job logs in the Standard Workload Format (SWF 2.2), packed or not.

Format: D. Feitelson, D. Talby, J. P. Jones, "Standard Workload Format", Parallel Workloads Archive. A line of
18 numbers for each job, -1 where a value is missing; lines that begin with ";" are the header.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.readers.failures import Malformed, shown
from whesl.model.errors import WheslError
from whesl.predict import numba_jit
from whesl.predict.numba_jit import jit
from whesl.workflows.compressed import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

FIELDS = (
    "job",
    "submit",
    "wait",
    "run",
    "allocated",
    "cpu_time",
    "used_memory",
    "requested",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
    "think_time",
)
COUNT = len(FIELDS)


@dataclass(frozen=True, eq=False, slots=True)
class Log:
    """The jobs of one log in the order of its lines.

    Attributes:
        name: the file's name.
        header: what the header says, by label ("MaxProcs", "UnixStartTime", ...); a label's last value.
        values: one row for each of ``FIELDS``, -1 where a value is missing, shape (18, jobs).
        line: each job's line number, from 1, shape (jobs,).
        malformed: lines that are no jobs.
    """

    name: str
    header: dict[str, str]
    values: NDArray[np.float64]
    line: NDArray[np.int64]
    malformed: tuple[Malformed, ...]

    def __len__(self) -> int:
        """Return how many jobs there are."""
        return len(self.line)

    def field(self, name: str) -> NDArray[np.float64]:
        """Return one field of all jobs, times in seconds.

        Args:
            name: one of ``FIELDS``.
        """
        row: NDArray[np.float64] = self.values[FIELDS.index(name)]
        return row

    @property
    def epoch(self) -> float:
        """When its times begin (UnixStartTime), in seconds since 1970; 0 where the header does not say."""
        begun = self.header.get("UnixStartTime", "").split()[:1]
        return float(begun[0]) if begun and begun[0].isdecimal() else 0.0

    def asked(self) -> NDArray[np.float64]:
        """Return the processors that jobs asked for, or were given where that is missing."""
        return np.where(self.field("requested") > 0, self.field("requested"), self.field("allocated"))

    def processors(self) -> int | None:
        """Return how many processors the header says that the machine has; None where it does not."""
        for label in ("MaxProcs", "MaxNodes"):
            word = self.header.get(label, "").split()[:1]
            if word and word[0].isdecimal() and len(word[0]) < 19 and int(word[0]) > 0:
                return int(word[0])
        return None


def read(path: Path, *, strict: bool = False) -> Log:
    """Read a log.

    Args:
        path: a file; gzip, bzip2 and xz are unpacked.
        strict: whether a malformed line is an error.

    Raises:
        WheslError: the file cannot be read or unpacked, holds no job, or is malformed and ``strict`` is set.
    """
    return parse(unpacked(path), path.name, strict=strict)


def parse(content: bytes, name: str, *, strict: bool = False) -> Log:
    """Parse a log's text.

    Args:
        content: the text.
        name: how messages call it.
        strict: whether a malformed line is an error.

    Raises:
        WheslError: there is no job in it, or a line is malformed and ``strict`` is set.
    """
    if b"\n" not in content:  # lines that end with a carriage return alone
        content = content.replace(b"\r", b"\n")
    data = np.frombuffer(content, dtype=np.uint8)
    lines = int(np.count_nonzero(data == 10)) + 1
    values = np.empty((COUNT, lines))
    line = np.empty(lines, dtype=np.int64)
    if numba_jit.COMPILES:
        count, odd = _scan(data, values, line)
        others = [(number, content[begin:end]) for number, begin, end in odd.tolist()]
    else:
        count, others = 0, list(_lines(content))
    values, line = values[:, :count], line[:count]
    malformed: list[Malformed] = []
    more: list[tuple[int, list[float]]] = []
    for number, text in others:
        row = _row(text)
        if isinstance(row, str):
            malformed.append(Malformed(number, row))
        else:
            more.append((number, row))
    if malformed and (strict or not count + len(more)):
        raise WheslError(_refusal(name, malformed, count + len(more)))
    if not count and not more:
        raise WheslError(f"{name}: no job in it; an SWF log has a line of {COUNT} numbers for each job")
    if more:
        line = np.concatenate([line, np.array([number for number, _ in more], dtype=np.int64)])
        values = np.concatenate([values, np.array([row for _, row in more]).T], axis=1)
        order = np.argsort(line, kind="stable")
        values, line = values[:, order], line[order]
    return Log(name, _header(content), values, line, tuple(malformed))


def _refusal(name: str, malformed: list[Malformed], jobs: int) -> str:
    kind = f"{len(malformed)} malformed lines" if jobs else "this is no SWF log"
    lines = shown(malformed, "line")
    return f"{name}: {kind} ({lines}); a job is a line of {COUNT} numbers, -1 where one is missing"


def _header(content: bytes) -> dict[str, str]:
    header: dict[str, str] = {}
    begin = 0
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        text = content[begin:end].strip()
        if text and not text.startswith(b";"):
            break
        label, colon, value = text.lstrip(b";").decode(errors="replace").partition(":")
        if colon and label.strip():
            header[label.strip()] = value.strip()
        begin = end + 1
    return header


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are to hold a job, with their numbers from 1."""
    for number, text in enumerate(content.split(b"\n"), 1):
        if (begun := text.lstrip(b" \t\r")) and not begun.startswith(b";"):
            yield number, text


def _row(text: bytes) -> list[float] | str:
    """Return the numbers of a line that the quick scan gave up on, or what is wrong with it."""
    words = text.split()
    if len(words) < COUNT:
        return f"{len(words)} fields"
    row = []
    for place, word in enumerate(words[:COUNT], 1):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            return f"field {place} is no number: {word[:20].decode(errors='replace')!r}"
        row.append(number)
    return row


@jit
def _scan(
    data: NDArray[np.uint8], values: NDArray[np.float64], line: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Fill in jobs of plain decimal numbers; return their count, and the other lines with their limits."""
    size = len(data)
    odd = np.empty((16, 3), dtype=np.int64)
    others = 0
    count = 0
    number = 0
    at = 0
    while at < size:
        number += 1
        begin = at
        field = 0
        plain = True
        comment = False
        while at < size and data[at] != 10:
            byte = data[at]
            if byte == 32 or byte == 9 or byte == 13:
                at += 1
                continue
            if field == 0 and byte == 59:
                comment = True
            if comment or field == 18:
                break
            negative = byte == 45
            if negative or byte == 43:
                at += 1
            whole = 0
            digits = 0
            while at < size and 48 <= data[at] <= 57:
                whole = whole * 10 + (data[at] - 48)
                digits += 1
                at += 1
            value = float(whole)
            if at < size and data[at] == 46:
                at += 1
                scale = 1.0
                while at < size and 48 <= data[at] <= 57:
                    whole = whole * 10 + (data[at] - 48)
                    digits += 1
                    scale *= 10.0
                    at += 1
                value = float(whole) / scale
            # Fifteen digits over a power of ten are rounded correctly; what is longer is left to Python.
            if digits == 0 or digits > 15 or (at < size and data[at] > 32):
                plain = False
                break
            values[field, count] = -value if negative else value
            field += 1
        while at < size and data[at] != 10:
            at += 1
        if plain and field == 18:
            line[count] = number
            count += 1
        elif not comment and (field > 0 or not plain):
            if others == len(odd):
                wider = np.empty((2 * others, 3), dtype=np.int64)
                wider[:others] = odd
                odd = wider
            odd[others, 0] = number
            odd[others, 1] = begin
            odd[others, 2] = at
            others += 1
        at += 1
    return count, odd[:others]
