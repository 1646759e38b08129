"""Input of the checks of this package: statements with the records made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from whesl.language.compiler import syntax
from whesl.language.detections.base import Reads
from whesl.language.detections.kinds import Detection
from whesl.language.diagnostics import Range
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.spec import Entity, ExceptionSpec, Operation, RecoveryStep, ResourceKind

LEAST = 3  # letters and digits that a pattern needs to be specific to a line
# Parts of an expression that name no particular letter or digit.
_NAMELESS = re.compile(r"\(\?P<\w+>|\(\?.|\\.|\[\^?\]?[^\]]*\]|\{[^}]*\}")
_GLOB = frozenset("*?[")
_OUTPUTS = frozenset({Stream.STDOUT, Stream.STDERR, Stream.OUTPUT})


@dataclass(frozen=True, slots=True)
class Watched:
    """A detection's statement with its record and its exception. ``own``: the statement is in no library."""

    statement: syntax.Detected
    detection: Detection
    exception: ExceptionSpec
    own: bool

    @property
    def reads(self) -> Reads | None:
        """The patterns of the detection and their source; None for a detection without patterns."""
        return self.detection.reads()

    def in_vain(self, *, over: bool) -> bool:
        """Whether a recovery only starts the same task again, with nothing that it did not have.

        Args:
            over: whether nothing can be started in its job any more, so that only a new run of the job helps.
        """
        steps = self.exception.steps
        return bool(steps) and not any(
            step.entity is Entity.SCHEDULER
            or (
                not over
                and (step.resource not in ResourceKind.__members__ or step.operation == Operation.REMOVE)
            )
            or (not over and step.resource != ResourceKind.NODE and bool(step.arguments))
            for step in steps
        )

    def patterns(self) -> Iterator[tuple[Pattern, syntax.PatternText]]:
        """Yield each pattern of the detection, with its text in the file."""
        if (reads := self.reads) is not None:
            yield from zip(reads.patterns, self.statement.form.patterns, strict=False)


@dataclass(frozen=True, slots=True)
class Done:
    """A recovery step's statement and its record."""

    statement: syntax.Recovered
    step: RecoveryStep


def named(pattern: Pattern) -> int:
    """Return the number of particular letters and digits in a pattern."""
    text = _NAMELESS.sub("", pattern.text) if pattern.regex else pattern.text
    return sum(sign.isalnum() for sign in text)


def same_lines(one: Source, other: Source) -> bool:
    """Whether a line of one source may be a line of the other source, too.

    Args:
        one: a source.
        other: another source.
    """
    if one == other:
        return True
    return Stream.OUTPUT in (one.stream, other.stream) and {one.stream, other.stream} <= _OUTPUTS


def same_jobs(one: ExceptionSpec, other: ExceptionSpec) -> bool:
    """Whether the globs of two exceptions may cover the same job.

    Args:
        one: an exception.
        other: another exception.
    """
    return any(_covers(a, b) or _covers(b, a) for a in one.jobs for b in other.jobs)


def apart(one: ExceptionSpec, other: ExceptionSpec) -> bool:
    """Whether two exceptions, both without globs, name no job in common.

    Args:
        one: an exception.
        other: another exception.
    """
    return not {*one.jobs} & {*other.jobs} and _GLOB.isdisjoint("".join(one.jobs + other.jobs))


def all_jobs(one: ExceptionSpec, of: ExceptionSpec) -> bool:
    """Whether the globs of one exception cover all jobs of another one.

    Args:
        one: the exception that covers.
        of: the exception whose jobs are covered.
    """
    return all(any(_covers(own, job) for own in one.jobs) for job in of.jobs)


def value_range(arguments: syntax.Word, value: str) -> Range:
    """Return the place of a text in the arguments, or of all arguments where it is written differently.

    Args:
        arguments: the JSON object of a recovery step.
        value: the text.
    """
    at = arguments.text.find(f'"{value}"')
    if at < 0:
        return Range(arguments.start, arguments.end)
    return Range(arguments.start + at, arguments.start + at + len(value) + 2)


def _covers(glob: str, job: str) -> bool:
    return glob in ("*", job) or (not _GLOB.isdisjoint(glob) and fnmatchcase(job, glob))
