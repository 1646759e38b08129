"""Reader of job logs in the Standard Workload Format (SWF 2.2), compressed or not.

Format: D. Feitelson, D. Talby, J. P. Jones, "Standard Workload Format", Parallel Workloads Archive. Each job
is a line of 18 numbers, -1 where a value is missing; lines that begin with ";" are the header.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whesl.files.packed_text import unpacked
from whesl.lab.native.swf import rows
from whesl.lab.readers.failures import Malformed, shown
from whesl.model.errors import WheslError

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
        header: values of the header by label ("MaxProcs", "UnixStartTime", ...); the last value of a repeated
            label.
        values: one row for each of ``FIELDS``, -1 where a value is missing, shape (18, jobs).
        line: each job's line number, from 1, shape (jobs,).
        malformed: the lines that cannot be read.
    """

    name: str
    header: dict[str, str]
    values: NDArray[np.float64]
    line: NDArray[np.int64]
    malformed: tuple[Malformed, ...]

    def __len__(self) -> int:
        """Return the number of jobs."""
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
        """The log's time 0 (UnixStartTime) in seconds since 1970; 0 if the header does not give it."""
        begun = self.header.get("UnixStartTime", "").split()[:1]
        return float(begun[0]) if begun and begun[0].isdecimal() else 0.0

    def asked(self) -> NDArray[np.float64]:
        """Return the processors that each job requested, or was allocated if the request is missing."""
        return np.where(self.field("requested") > 0, self.field("requested"), self.field("allocated"))

    def processors(self) -> int | None:
        """Return the machine's number of processors from the header; None if the header does not give it."""
        for label in ("MaxProcs", "MaxNodes"):
            word = self.header.get(label, "").split()[:1]
            if word and word[0].isdecimal() and len(word[0]) < 19 and int(word[0]) > 0:
                return int(word[0])
        return None


def read(path: Path, *, strict: bool = False) -> Log:
    """Read a log from a file.

    Args:
        path: the file; gzip, bzip2 and xz are decompressed.
        strict: whether a malformed line is an error.

    Raises:
        WheslError: the file cannot be read or decompressed, holds no job, or is malformed and ``strict`` is
            set.
    """
    return parse(unpacked(path), path.name, strict=strict)


def parse(content: bytes, name: str, *, strict: bool = False) -> Log:
    """Parse a log's text.

    Args:
        content: the text as bytes.
        name: the log's name in messages.
        strict: whether a malformed line is an error.

    Raises:
        WheslError: the text holds no job, or a line is malformed and ``strict`` is set.
    """
    if b"\n" not in content:  # classic Mac line ends
        content = content.replace(b"\r", b"\n")
    values, line, odd = rows(content, COUNT)
    malformed: list[Malformed] = []
    if odd.any():
        lines = content.split(b"\n")
        for at in np.flatnonzero(odd).tolist():
            row = _row(lines[line[at] - 1])
            if isinstance(row, str):
                malformed.append(Malformed(int(line[at]), row))
            else:
                values[:, at] = row
                odd[at] = False
        values, line = values[:, ~odd], line[~odd]
    if malformed and (strict or not len(line)):
        raise WheslError(_refusal(name, malformed, len(line)))
    if not len(line):
        raise WheslError(f"{name}: no job in it; an SWF log has a line of {COUNT} numbers for each job")
    return Log(name, _header(content), values, line, tuple(malformed))


def _refusal(name: str, malformed: list[Malformed], jobs: int) -> str:
    kind = f"{len(malformed)} malformed lines" if jobs else "this is no SWF log"
    lines = shown(malformed, "line")
    return f"{name}: {kind} ({lines}); a job is a line of {COUNT} numbers, -1 where one is missing"


def _header(content: bytes) -> dict[str, str]:
    """Return the values of the header lines above the first job, by label."""
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
    return header


def _row(text: bytes) -> list[float] | str:
    """Return the numbers of a line, or an error message."""
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
