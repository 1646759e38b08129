"""``HANG``, ``SILENCE`` and ``PROGRESS``: signs of life that did not come in time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from whesl.language.detections import wording
from whesl.language.detections.base import STREAMS, DetectionCheck, Detector, Form, Found, Kind, Reads, Seen
from whesl.language.pattern_and_stream_records import Pattern, Source, Span
from whesl.model.evidence import STOPPED, Evidence

TIMEOUT_FLOOR = 1.0  # seconds of the shortest time-out: output is not more regular than that (CASMcode#327)
_NUMBERS = "01234567890.0123456789 -1.5"  # sample text that an expression for a number has to match
PROGRESS_GROUP = "progress"  # name of the group in PROGRESS that captures the number
# torchrun prints this line when a worker has failed; it ends all other workers, and then restarts all or ends
# (torch/distributed/elastic/multiprocessing/api.py).
RESTARTS = Pattern(
    text=r"failed \(exitcode: -?\d+\) local_rank: \d+ \(pid: \d+\) of binary", regex=True, captures=()
)


class TimerKind(Kind, frozen=True, kw_only=True):
    """A sign of life that did not come for ``timeout`` seconds; the timer starts after ``warmup`` seconds."""

    timeout: float
    warmup: float = 0.0

    def timer(self) -> tuple[float, float]:
        return self.timeout, self.warmup


class PatternTimerKind(TimerKind, frozen=True, kw_only=True):
    """A timer that lines with ``pattern`` in ``source`` reset."""

    timed = True

    pattern: Pattern
    source: Source

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        return f"how long it took between two lines; {wording.of_lines(*last)}" if last is not None else ""

    def reads(self) -> Reads:
        return Reads(self.source, (self.pattern,))

    def new_start(self) -> Pattern | None:
        return RESTARTS if self.warmup > 0 else None

    def captured(self) -> list[frozenset[str]]:
        return [frozenset(self.pattern.captures)]


class HangDetection(PatternTimerKind, frozen=True, kw_only=True, tag="hang"):
    """The pattern did not appear for ``timeout`` s; the first such line, or ``warmup`` s, start the timer."""

    alternatives = ("hang",)
    written = (f'HANG LOG|MATCH "text" {STREAMS} TIMEOUT s; SILENCE TIMEOUT s watches all output',)
    sign_of_life = True

    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> HangDetection | None:
        pattern, source, timer = check.pattern(form.patterns[0]), check.source(form), check.timer(form)
        if pattern is None or source is None or timer is None:
            return None
        return HangDetection(pattern=pattern, source=source, timeout=timer[0], warmup=timer[1], span=span)

    def sentence(self) -> str:
        line = f"line of {wording.of_source(self.source)} that {wording.of_pattern(self.pattern)}"
        return f"no {line} appears for {wording.of_timer(self.timeout, self.warmup, 'with the first, or ')}"

    def detector(self, exception: str, node: str) -> Timer:
        return Timer(exception, node, self)


class SilenceDetection(TimerKind, frozen=True, kw_only=True, tag="silence"):
    """No byte of any output for ``timeout`` seconds; ``stopped``: while a signal has stopped some ranks."""

    alternatives = ("silence",)
    written = ("SILENCE TIMEOUT s [WARMUP s] [STOPPED]",)

    stopped: bool = False
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> SilenceDetection | None:
        timer, stopped = check.timer(form), form.keywords[-1].text == "STOPPED"
        return timer and SilenceDetection(timeout=timer[0], warmup=timer[1], stopped=stopped, span=span)

    def sentence(self) -> str:
        silence = f"the job prints nothing for {wording.of_timer(self.timeout, self.warmup)}"
        return f"{silence}, while some of its ranks are stopped by a signal" if self.stopped else silence

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        return "how long nothing was printed"

    def detector(self, exception: str, node: str) -> Timer:
        silence = _Silence(exception, node, self)
        silence.kind = STOPPED if self.stopped else "silence"
        return silence


class ProgressDetection(PatternTimerKind, frozen=True, kw_only=True, tag="progress"):
    """The number captured by ``capture`` did not rise for ``timeout`` seconds."""

    alternatives = ("progress",)
    written = (f'PROGRESS "expression" {STREAMS} TIMEOUT s [WARMUP s]',)
    rises = True

    capture: str
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> ProgressDetection | None:
        from whesl.language.compiler.pattern_checks import groups, with_named_group

        text = form.texts[0]
        pattern, source, timer = check.expression(text), check.source(form), check.timer(form)
        if pattern is None or source is None or timer is None:
            return None
        number = groups(pattern.text)
        if number != 1 and len(pattern.captures) != 1:
            check.findings.add(
                "ESL054",
                f"the pattern has {number or 'no'} group{'s' if number > 1 else ''}, so that the number to"
                " watch is not known",
                text,
                hint=r'put parentheses around the number, as in "step (\d+)"; name it if there are several:'
                r' "(?P<step>\d+)"',
            )
            return None
        if not pattern.captures:
            named = with_named_group(pattern.text, PROGRESS_GROUP)
            pattern = Pattern(text=named, regex=True, captures=(PROGRESS_GROUP,))
        group = re.search(rf"\(\?P?<{pattern.captures[0]}>([^()]*)\)", pattern.text)
        if group is not None and not re.search(group[1], _NUMBERS):
            hint = r'put the parentheses around the number, as in "step (\d+)"'
            check.findings.warn("ESL054", f"no number is ever {group[1]!r}: it never rises", text, hint)
        return ProgressDetection(
            pattern=pattern,
            capture=pattern.captures[0],
            source=source,
            timeout=timer[0],
            warmup=timer[1],
            span=span,
        )

    def sentence(self) -> str:
        lines = (
            f"lines of {wording.of_source(self.source)} that {wording.of_pattern(self.pattern, many=True)}"
        )
        timer = wording.of_timer(self.timeout, self.warmup, "with the first, or ")
        return f"the number {self.capture!r} in {lines} does not rise for {timer}"

    def detector(self, exception: str, node: str) -> Timer:
        return _Progress(exception, node, self)


class Timer(Detector[TimerKind]):
    """Detector of a missing sign of life; in this base class the sign is a line with the pattern."""

    kind = "hang"
    timed = True

    def __init__(self, exception: str, node: str, detection: TimerKind) -> None:
        super().__init__(exception, node, detection)
        self.timeout = max(detection.timeout, TIMEOUT_FLOOR)
        self.warmup = max(detection.warmup, 0.0)
        self.reads = detection.reads()
        self.anew = detection.new_start()
        self.warm = 0.0
        self.left_at: float | None = None  # observed time of the deadline; None while the timer is off
        self.last: Evidence | None = None
        self.waited = False  # whether a launcher's time was added in this attempt

    def start(self, observed: float) -> None:
        self.warm = observed + self.warmup
        self.left_at = self.warm + self.timeout
        self.last = None
        self.waited = False

    def deadline(self) -> float | None:
        return self.left_at

    def line(self, sources: Sequence[Source], seen: Seen, now: float, observed: float) -> Found:
        """Reset the timer at a sign of life, which ends the warm-up; a restart begins another warm-up.

        Args:
            sources: the sources that the line's file is read for.
            seen: the pattern and the line.
            now: seconds since the epoch.
            observed: the observed time.
        """
        reads = self.reads
        if reads is None or reads.source not in sources:
            return ()
        if seen.pattern == self.anew:
            self.start(observed)
        elif seen.pattern in reads.patterns and self.counts(seen.evidence):
            self.last = seen.evidence
            self.warm = min(self.warm, observed)
            self.alive(observed)
        return ()

    def counts(self, evidence: Evidence) -> bool:
        """Whether a line with the pattern is a sign of life."""
        return True

    def alive(self, observed: float) -> None:
        """Reset the timer to its whole time."""
        self.left_at = max(observed, self.warm) + self.timeout

    def put_off(self, seconds: float, observed: float, launching: float, raised: bool) -> None:
        """Extend the deadline, at most to the whole time from now; once per attempt, add a launcher's time.

        Args:
            seconds: how long the program was stopped.
            observed: the observed time.
            launching: seconds that a launcher may take to start the program, 0 for no launcher.
            raised: whether the exception was raised while the program was stopped.
        """
        if self.left_at is None and raised:
            self.left_at = observed
        if self.left_at is None:
            return
        if self.last is None:  # the program may still have been starting
            self.warm = min(self.warm + seconds, observed + self.warmup)
        whole = max(observed, self.warm) + self.timeout
        put_off = min(self.left_at + seconds, whole)
        if launching and not self.waited and not self.begun():
            self.waited, put_off = True, whole + launching
        self.left_at = max(self.left_at, put_off)

    def begun(self) -> bool:
        """Whether the program has shown that it runs."""
        return self.last is not None

    def overdue(self, now: float) -> Found:
        """Raise the exception, and turn the timer off until the next sign of life or the next attempt."""
        self.left_at = None
        reads, last = self.reads, self.last
        assert reads is not None
        return (
            Evidence(
                kind=self.kind,
                time=now,
                node=self.node,
                pattern=reads.patterns[0].text,
                line=last.line if last else "",
                file=last.file if last else reads.source.path or reads.source.stream.value,
                offset=last.offset if last else -1,
                captures=last.captures if last else {},
                since=last.since if last else 0.0,
                detail=f"{self.missed()} for {self.timeout:g} s" + ("" if last else "; it was never seen"),
            ),
        )

    def missed(self) -> str:
        """Return a clause on the missing sign of life."""
        return "the pattern did not appear"

    def snapshot(self, observed: float) -> dict[str, Any]:
        return {
            "left": None if self.left_at is None else self.left_at - observed,
            "warm": self.warm - observed,
            "last": msgspec.to_builtins(self.last),
        }

    def restore(self, state: dict[str, Any], observed: float) -> None:
        self.left_at = None if state["left"] is None else observed + state["left"]
        self.warm = observed + state["warm"]
        self.last = msgspec.convert(state["last"], Evidence | None)


class _Silence(Timer):
    bytes = before = 0  # bytes read in all attempts; bytes read before this attempt

    def start(self, observed: float) -> None:
        super().start(observed)
        self.before = self.bytes

    def printed(self, count: int, observed: float) -> None:
        self.bytes += count
        self.alive(observed)

    def begun(self) -> bool:
        return self.bytes > self.before

    def overdue(self, now: float) -> Found:
        self.left_at = None
        detail = f"no output for {self.timeout:g} s, {self.bytes} bytes read before"
        return (Evidence(kind=self.kind, time=now, node=self.node, detail=detail),)

    def snapshot(self, observed: float) -> dict[str, Any]:
        return {**super().snapshot(observed), "bytes": self.bytes, "before": self.before}

    def restore(self, state: dict[str, Any], observed: float) -> None:
        super().restore(state, observed)
        self.bytes, self.before = state["bytes"], state["before"]


class _Progress(Timer):
    kind = "progress"
    has_progress = True

    def __init__(self, exception: str, node: str, detection: ProgressDetection) -> None:
        super().__init__(exception, node, detection)
        self.capture = detection.capture
        self.best = -math.inf

    def start(self, observed: float) -> None:
        super().start(observed)
        self.best = -math.inf

    def counts(self, evidence: Evidence) -> bool:
        value = _number(evidence.captures.get(self.capture, ""))
        if value is None or value <= self.best:
            return False
        self.best = value
        return True

    def missed(self) -> str:
        best = "any number" if math.isinf(self.best) else f"{self.best:g}"
        return f"{self.capture!r} did not rise above {best}"

    def progress(self) -> float | None:
        return None if math.isinf(self.best) else self.best

    def snapshot(self, observed: float) -> dict[str, Any]:
        return {**super().snapshot(observed), "best": self.progress()}

    def restore(self, state: dict[str, Any], observed: float) -> None:
        super().restore(state, observed)
        self.best = -math.inf if state["best"] is None else state["best"]


def _number(text: str) -> float | None:
    """Return a number that a program has printed, also Fortran's ``1.0D+03``; None for other texts."""
    try:
        value = float(text.strip().replace("D", "E").replace("d", "e"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
