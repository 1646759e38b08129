"""Wording of sources, patterns and timers in sentences."""

from __future__ import annotations

from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.wording import seconds

_LONGEST = 160  # shown characters of a pattern or an argument
_SUBJECTS = {
    Stream.STDOUT: "standard output",
    Stream.STDERR: "standard error",
    Stream.OUTPUT: "standard output or standard error",
}


def of_timer(timeout: float, warmup: float, first: str = "") -> str:
    """Return a clause on a timer's length.

    Args:
        timeout: the timer's length in seconds.
        warmup: seconds after the job's start at which the clock starts.
        first: words on an event that starts the clock earlier.
    """
    start = f" (the clock starts {first}{seconds(warmup)} after the job)" if warmup else ""
    return f"{seconds(timeout)}{start}"


def of_window(within: float | None) -> str:
    """Return a clause on ``WITHIN``, which a log without a clock cannot judge; empty without ``WITHIN``."""
    return "" if within is None else f"WITHIN {within:g} s, which is taken as kept"


def of_source(source: Source) -> str:
    """Return the words for a stream or file."""
    return f"the file {source.path}" if source.path is not None else _SUBJECTS[source.stream]


def of_pattern(pattern: Pattern, *, many: bool = False) -> str:
    """Return a verb and the pattern: a line "contains" a text or "matches" an expression.

    Args:
        pattern: the text or expression.
        many: whether the verb is in the plural.
    """
    verb = "match" if pattern.regex else "contain"
    return f"{verb}{'' if many else 'es' if pattern.regex else 's'} {shown(pattern)}"


def of_lines(times: int, last: int) -> str:
    """Return a clause on the lines that have a pattern.

    Args:
        times: number of lines with the pattern.
        last: number of the last such line.
    """
    if not times:
        return "its pattern is in no line, so a job that ran long enough would have raised it"
    return f"its pattern is in {times} line{'' if times == 1 else 's'}, the last one is line {last}"


def shown(pattern: Pattern) -> str:
    """Return a pattern in quotes or slashes, cut for a sentence."""
    mark = "/" if pattern.regex else '"'
    return f"{mark}{cut(pattern.text)}{mark}"


def cut(text: str) -> str:
    """Return a text, cut to a length that suits a sentence."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
