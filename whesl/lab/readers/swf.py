"""Job logs in the Standard Workload Format (SWF 2.2), packed or not.

Format: D. Feitelson, D. Talby, J. P. Jones, "Standard Workload Format", Parallel Workloads Archive. A line of
18 numbers for each job, -1 where a value is missing; lines that begin with ";" are the header.
"""

from __future__ import annotations

import contextlib
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whesl.files.packed_text import unpacked
from whesl.lab.readers.failures import Malformed, shown
from whesl.model.errors import WheslError

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
_DECIMAL = b"0123456789+-.eE \t\r\n"  # bytes of lines that Arrow and Python read alike
_LOADED = 1 << 20  # bytes of lines that Python reads in the time in which Arrow is loaded


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
    header, begin = _header(content)
    first = 1 + content.count(b"\n", 0, begin)
    malformed: list[Malformed] = []
    values = _table(content[begin:]) if len(content) - begin >= _LOADED else None
    if values is not None:
        line = np.arange(first, first + values.shape[1])
    else:
        rows: list[list[float]] = []
        jobs: list[int] = []
        for number, text in _lines(content):
            row = _row(text)
            if isinstance(row, str):
                malformed.append(Malformed(number, row))
            else:
                rows.append(row)
                jobs.append(number)
        line = np.array(jobs, dtype=np.int64)
        values = np.array(rows, dtype=np.float64).reshape(-1, COUNT).T
    if malformed and (strict or not len(line)):
        raise WheslError(_refusal(name, malformed, len(line)))
    if not len(line):
        raise WheslError(f"{name}: no job in it; an SWF log has a line of {COUNT} numbers for each job")
    return Log(name, header, values, line, tuple(malformed))


def _refusal(name: str, malformed: list[Malformed], jobs: int) -> str:
    kind = f"{len(malformed)} malformed lines" if jobs else "this is no SWF log"
    lines = shown(malformed, "line")
    return f"{name}: {kind} ({lines}); a job is a line of {COUNT} numbers, -1 where one is missing"


def _header(content: bytes) -> tuple[dict[str, str], int]:
    """Return what the header says by label, and where the first line that is to hold a job begins."""
    header: dict[str, str] = {}
    begin = 0
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        text = content[begin:end].strip(b" \t\r")
        if text and not text.startswith(b";"):
            break
        label, colon, value = text.lstrip(b";").decode(errors="replace").partition(":")
        if colon and label.strip():
            header[label.strip()] = value.strip()
        begin = end + 1
    return header, begin


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are to hold a job, with their numbers from 1."""
    for number, text in enumerate(content.split(b"\n"), 1):
        if (begun := text.lstrip(b" \t\r")) and not begun.startswith(b";"):
            yield number, text


def _table(lines: bytes) -> NDArray[np.float64] | None:
    """Return the numbers of all lines at once; None where one of the lines has to be looked at by itself."""
    if lines.translate(None, _DECIMAL):
        return None
    from pyarrow import ArrowInvalid, csv, float64

    text = _single_spaced(lines)
    names = list(map(str, range(len(text.partition(b"\n")[0].split()))))
    try:
        table = csv.read_csv(
            io.BytesIO(text),
            csv.ReadOptions(use_threads=False, column_names=names),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, float64()), include_columns=names[:COUNT]),
        )
    except ArrowInvalid:
        return None
    values = np.array([column.to_numpy() for column in table.columns])
    # Arrow passes over empty lines, which the lines' numbers count.
    every = len(values) == COUNT and values.shape[1] == text.count(b"\n") and np.isfinite(values).all()
    return values if every else None


def _single_spaced(lines: bytes) -> bytes:
    """Return lines with one space between words, none at their begins and ends, and a last newline."""
    spaced = b"\n" + lines.translate(bytes.maketrans(b"\t\r", b"  ")).rstrip() + b"\n"
    text = np.frombuffer(spaced, np.uint8)
    space = text == ord(" ")
    again = space[1:] & (space[:-1] | (text[:-1] == ord("\n")))
    squeezed: bytes = text[1:][~again].tobytes()
    return squeezed.replace(b" \n", b"\n")


def _row(text: bytes) -> list[float] | str:
    """Return the numbers of a line, or what is wrong with it."""
    words = text.split()
    if len(words) < COUNT:
        return f"{len(words)} fields"
    row = []
    with contextlib.suppress(ValueError):
        row = list(map(float, words[:COUNT]))
    if row and all(map(math.isfinite, row)):
        return row
    place, word = next((at, word) for at, word in enumerate(words, 1) if not _finite(word))
    return f"field {place} is no number: {word[:20].decode(errors='replace')!r}"


def _finite(word: bytes) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False
