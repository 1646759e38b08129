"""How sources, patterns and timers are said in a sentence."""

from __future__ import annotations

from whesl.language.patterns_and_places import Pattern, Source, Stream
from whesl.language.wording import seconds

_LONGEST = 160  # characters of a pattern or an argument that are shown
_SUBJECTS = {
    Stream.STDOUT: "standard output",
    Stream.STDERR: "standard error",
    Stream.OUTPUT: "standard output or standard error",
}


def of_timer(timeout: float, warmup: float, first: str = "") -> str:
    """Return how long a timer runs; ``first``: what starts its clock earlier."""
    start = f" (the clock starts {first}{seconds(warmup)} after the job)" if warmup else ""
    return f"{seconds(timeout)}{start}"


def of_window(within: float | None) -> str:
    """Return what a log without a clock cannot say of ``WITHIN``, an empty string where there is none."""
    return "" if within is None else f"WITHIN {within:g} s, which is taken as kept"


def of_source(source: Source) -> str:
    """Return where is looked."""
    return f"the file {source.path}" if source.path is not None else _SUBJECTS[source.stream]


def of_pattern(pattern: Pattern, *, many: bool = False) -> str:
    """Return what a line does that has the pattern, or lines do (``many``)."""
    verb = "match" if pattern.regex else "contain"
    return f"{verb}{'' if many else 'es' if pattern.regex else 's'} {shown(pattern)}"


def of_lines(times: int, last: int) -> str:
    """Return in how many lines a pattern was seen, and the last of them."""
    if not times:
        return "its pattern is in no line, so a job that ran long enough would have raised it"
    return f"its pattern is in {times} line{'' if times == 1 else 's'}, the last one is line {last}"


def shown(pattern: Pattern) -> str:
    """Return a pattern as a sentence shows it."""
    mark = "/" if pattern.regex else '"'
    return f"{mark}{cut(pattern.text)}{mark}"


def cut(text: str) -> str:
    """Return a text that is not too long for a sentence."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
