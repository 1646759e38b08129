"""What a specification's records are made of: places in its text, streams, patterns."""

from __future__ import annotations

from enum import Enum

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records of the specification."""


class Span(Record, frozen=True, kw_only=True):
    """Where something stands in the source: 1-based lines and columns, end exclusive.

    ``file`` is set for what comes from an included file: a library's name in angle brackets, or a path.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    file: str | None = None


class Stream(str, Enum):
    """Where a detector reads. OUTPUT is stdout and stderr together, one file or two."""

    STDOUT = "stdout"
    STDERR = "stderr"
    OUTPUT = "output"
    FILE = "file"


class Source(Record, frozen=True, kw_only=True):
    """A stream of the job, or a file (relative paths: to the task's working directory)."""

    stream: Stream
    path: str | None = None


class Pattern(Record, frozen=True, kw_only=True):
    """A literal text or a regular expression, with the names it captures."""

    text: str
    regex: bool = False
    captures: tuple[str, ...] = ()
