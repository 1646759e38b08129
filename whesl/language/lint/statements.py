"""What the checks of this folder look at: statements beside the records that they became."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from whesl.language.compiler import syntax
from whesl.language.detections.base import Reads
from whesl.language.detections.kinds import Detection
from whesl.language.patterns_and_places import Pattern, Source, Stream
from whesl.language.spec import ExceptionSpec, RecoveryStep

LEAST = 3  # letters and digits of a pattern that tells one line from another
# Of an expression: what names no letter or digit by itself.
_NAMELESS = re.compile(r"\(\?P<\w+>|\(\?.|\\.|\[\^?\]?[^\]]*\]|\{[^}]*\}")
_GLOB = frozenset("*?[")
_OUTPUTS = frozenset({Stream.STDOUT, Stream.STDERR, Stream.OUTPUT})


@dataclass(frozen=True, slots=True)
class Watched:
    """A detection as it is written and as it is meant. ``own``: it stands in no included file."""

    statement: syntax.Detected
    detection: Detection
    exception: ExceptionSpec
    own: bool

    @property
    def reads(self) -> Reads | None:
        """The patterns that are looked for, and where; None for none."""
        return self.detection.reads()

    def patterns(self) -> Iterator[tuple[Pattern, syntax.PatternText]]:
        """Give each pattern of lines, with its text in the file."""
        if (reads := self.reads) is not None:
            yield from zip(reads.patterns, self.statement.form.patterns, strict=False)


@dataclass(frozen=True, slots=True)
class Done:
    """A recovery step as it is written and as it is meant."""

    statement: syntax.Recovered
    step: RecoveryStep


def named(pattern: Pattern) -> int:
    """Return how many letters and digits a pattern names by themselves."""
    text = _NAMELESS.sub("", pattern.text) if pattern.regex else pattern.text
    return sum(sign.isalnum() for sign in text)


def same_lines(one: Source, other: Source) -> bool:
    """Whether a line of one source may be a line of the other."""
    if one == other:
        return True
    return Stream.OUTPUT in (one.stream, other.stream) and {one.stream, other.stream} <= _OUTPUTS


def same_jobs(one: ExceptionSpec, other: ExceptionSpec) -> bool:
    """Whether a job may be covered by both."""
    return any(_covers(a, b) or _covers(b, a) for a in one.jobs for b in other.jobs)


def all_jobs(one: ExceptionSpec, of: ExceptionSpec) -> bool:
    """Whether the first covers all jobs of the second, as far as their globs tell."""
    return all(any(_covers(own, job) for own in one.jobs) for job in of.jobs)


def _covers(glob: str, job: str) -> bool:
    return glob in ("*", job) or (not _GLOB.isdisjoint(glob) and fnmatchcase(job, glob))
