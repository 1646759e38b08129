"""Parts of a specification's records: places in its text, streams, patterns."""

from __future__ import annotations

from enum import Enum

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records of the specification."""


class Span(Record, frozen=True, kw_only=True):
    """A place in the text of a specification: 1-based lines and columns, end exclusive.

    ``file`` is set only for a place in an included file: a library's name in angle brackets, or a path.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    file: str | None = None


class Stream(str, Enum):
    """The stream that a detector reads. OUTPUT is stdout and stderr together, in one file or two."""

    STDOUT = "stdout"
    STDERR = "stderr"
    OUTPUT = "output"
    FILE = "file"


class Source(Record, frozen=True, kw_only=True):
    """A stream of the job, or a file; a relative path starts from the task's working directory."""

    stream: Stream
    path: str | None = None


class Pattern(Record, frozen=True, kw_only=True):
    """A literal text or a regular expression, with the names it captures."""

    text: str
    regex: bool = False
    captures: tuple[str, ...] = ()
