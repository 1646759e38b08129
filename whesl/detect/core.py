"""The detectors of one task: what was seen goes in, exceptions with their evidence come out. Pure.

No file, process or clock is touched: every call says what time it is. Two clocks are kept. Windows of
``WITHIN s`` are measured on the caller's time, which is when a line was *read*. Timers (hang, silence,
progress) run on *observed* time, which stands still while the task is paused and skips any step between two
calls that ends more than ``LATE`` after ``next_deadline``: then this process itself was not running (stopped,
machine suspended, file system frozen), and nobody can say that the task was silent. A backwards step counts
as none.

Each detector raises once for what it saw and then re-arms only on new evidence: a window starts empty, a
timer that ran out waits for the next sign of life or the next attempt, a full disk or a lost node has to be
seen well again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from whesl.detect.disk import Usage
from whesl.detect.matcher import Match
from whesl.detect.recurrence import Seen, Window
from whesl.esl.spec import (
    CountDetection,
    Detection,
    DiskDetection,
    DiskMetric,
    ExitDetection,
    ExternalDetection,
    HangDetection,
    JobExceptionDetection,
    LogDetection,
    NodeCondition,
    NodeDetection,
    Pattern,
    PredictedDetection,
    ProgressDetection,
    SilenceDetection,
    Source,
    Spec,
)
from whesl.model.evidence import Detected, Evidence
from whesl.model.record import assert_never
from whesl.model.recovery_rule import Reach
from whesl.model.states import NodeState
from whesl.model.workflow import Task, job_matches

TICK = 2.0  # seconds: ``next_deadline`` is never later while a timer runs
LATE = 1.0  # seconds after the time at which the next call was due; more was not observed
TIMEOUT_FLOOR = 1.0  # seconds: no output is ever that regular (CASMcode#327)

TimerDetection = HangDetection | SilenceDetection | ProgressDetection
_CONDITIONS = {NodeCondition.DOWN: NodeState.DOWN, NodeCondition.DRAINED: NodeState.DRAINED}


class _Timer:
    """One hang, silence or progress detection. ``left_at`` is in observed time; None: not armed."""

    def __init__(self, exception: str, detection: TimerDetection) -> None:
        self.exception = exception
        self.detection = detection
        self.timeout = max(detection.timeout, TIMEOUT_FLOOR)
        self.warm = 0.0
        self.left_at: float | None = None
        self.best = -math.inf
        self.last: Evidence | None = None
        self.waited = False  # for a launcher, in this attempt

    def start(self, observed: float) -> None:
        self.warm = observed + max(self.detection.warmup, 0.0)
        self.left_at = self.warm + self.timeout
        self.best = -math.inf
        self.last = None
        self.waited = False

    def alive(self, observed: float) -> None:
        self.left_at = max(observed, self.warm) + self.timeout

    def put_off(self, seconds: float, observed: float, launching: float) -> None:
        if self.left_at is None:
            return
        if self.last is None:  # it may have been starting still
            self.warm = min(self.warm + seconds, observed + max(self.detection.warmup, 0.0))
        whole = max(observed, self.warm) + self.timeout
        put_off = min(self.left_at + seconds, whole)
        if launching and not self.waited:
            self.waited, put_off = True, whole + launching
        self.left_at = max(self.left_at, put_off)


class Detectors:
    """All detections of the exceptions that cover one task, except counts (see ``transform``)."""

    def __init__(self, spec: Spec, task: Task, node: str, now: float) -> None:
        """Start the first attempt at ``now`` (seconds since the epoch); ``node`` is where this runs."""
        self._node = node
        self._spec = [e for e in spec.exceptions if job_matches(e.jobs, task.step, task.name)]
        self._windows: dict[str, Window] = {}
        self._timers: dict[str, _Timer] = {}
        self._exits: list[tuple[str, ExitDetection]] = []
        self._nodes: dict[str, tuple[str, NodeDetection]] = {}
        self._job_exceptions: list[tuple[str, JobExceptionDetection]] = []
        self._disks: dict[str, tuple[str, DiskDetection]] = {}
        for exception in self._spec:
            for index, detection in enumerate(exception.detections):
                self._add(exception.name, index, detection)
        self._raised: set[str] = set()  # conditions of nodes and disks that have not cleared since
        self._observed = 0.0
        self._last = now
        self._paused = False
        self._bytes = self._bytes_before = 0
        self.new_attempt(now)

    def _add(self, name: str, index: int, detection: Detection) -> None:
        key = _key(name, index)
        match detection:
            case LogDetection():
                self._windows[key] = Window(name, detection)
            case HangDetection() | SilenceDetection() | ProgressDetection():
                self._timers[key] = _Timer(name, detection)
            case ExitDetection():
                self._exits.append((name, detection))
            case NodeDetection():
                self._nodes[key] = (name, detection)
            case JobExceptionDetection():
                self._job_exceptions.append((name, detection))
            case DiskDetection():
                self._disks[key] = (name, detection)
            case ExternalDetection() | PredictedDetection() | CountDetection():
                pass  # raised by whoever is told of it, and counted by ``transform``
            case _:
                assert_never(detection)

    def sources(self) -> dict[Source, tuple[Pattern, ...]]:
        """Return the patterns that have to be looked for, by source."""
        wanted: dict[Source, dict[Pattern, None]] = {}
        for detection in (*(w.detection for w in self._windows.values()), *self._timed()):
            if isinstance(detection, LogDetection):
                wanted.setdefault(detection.source, {}).update(dict.fromkeys(detection.patterns))
            elif not isinstance(detection, SilenceDetection):
                wanted.setdefault(detection.source, {})[detection.pattern] = None
        return {source: tuple(patterns) for source, patterns in wanted.items()}

    def signs_of_life(self) -> frozenset[Pattern]:
        """Return the patterns that do nothing but put hang timers back."""
        timed = list(self._timed())
        counted = {p for window in self._windows.values() for p in window.detection.patterns}
        counted |= {d.pattern for d in timed if isinstance(d, ProgressDetection)}
        return frozenset(d.pattern for d in timed if isinstance(d, HangDetection)) - counted

    def disk_paths(self) -> tuple[tuple[str, DiskMetric], ...]:
        """Return what of which file systems has to be observed, each once."""
        return tuple(dict.fromkeys((d.path, d.metric) for _, d in self._disks.values()))

    def new_attempt(self, now: float) -> None:
        """Arm all timers anew and forget the lines of the attempt before.

        Conditions of nodes and disks stay raised: the world is the same for the new attempt.
        """
        self._advance(now)
        self._paused = False
        self._bytes_before = self._bytes
        for timer in self._timers.values():
            timer.start(self._observed)
        for window in self._windows.values():
            window.clear()

    def pause(self, now: float) -> None:
        """Stop the timers: nothing runs, or is stopped on purpose."""
        self._advance(now)
        self._paused = True

    def resume(self, now: float) -> None:
        """Let the timers run on from where they stopped."""
        self._advance(now)
        self._paused = False

    def matched(
        self, sources: Sequence[Source], pattern: Pattern, match: Match, file: str, now: float
    ) -> list[Detected]:
        """Take a match in a file that is read for ``sources``; return what it completes."""
        self._advance(now)
        evidence = Evidence(
            kind="log",
            time=now,
            node=self._node,
            pattern=pattern.text,
            line=match.line.decode("utf-8", "replace"),
            file=file,
            offset=match.offset,
            captures=match.captures,
        )
        for timer in self._timers.values():
            detection = timer.detection
            if isinstance(detection, SilenceDetection) or detection.pattern != pattern:
                continue
            if detection.source in sources:
                self._sign_of_life(timer, detection, evidence)
        seen = Seen(pattern=pattern, place=(file, match.line_offset), evidence=evidence)
        found: list[Detected] = []
        for window in self._windows.values():
            if window.detection.source in sources and pattern in window.detection.patterns:
                complete = window.add(seen, now)
                if complete:
                    found.append(Detected(exception=window.exception, evidence=complete))
        return found

    def output(self, count: int, now: float) -> None:
        """Note that ``count`` bytes of any output were read."""
        self._advance(now)
        if count <= 0:
            return
        self._bytes += count
        for timer in self._timers.values():
            if isinstance(timer.detection, SilenceDetection):
                timer.alive(self._observed)

    def tick(self, now: float) -> list[Detected]:
        """Let time pass; return the timers that ran out. Call it after all output was taken in."""
        self._advance(now)
        found = []
        for timer in self._timers.values():
            if not self._paused and timer.left_at is not None and timer.left_at <= self._observed:
                timer.left_at = None
                found.append(self._overdue(timer, now))
        return found

    def next_deadline(self, now: float) -> float | None:
        """Return when ``tick`` has to be called, at the latest; None when no timer runs."""
        armed = [t.left_at for t in self._timers.values() if t.left_at is not None]
        if self._paused or not armed:
            return None
        return min(self._last + max(0.0, min(armed) - self._observed), now + TICK)

    def suspended(
        self, seconds: float, exceptions: Collection[str], now: float, launching: float = 0.0
    ) -> None:
        """Take out of all timers that the program was stopped for so long while this process ran.

        None of them gets more than its whole time, except one that waits for a first sign of life.

        Args:
            seconds: at most; infinite for a whole time.
            exceptions: of timers that ran out meanwhile.
            now: seconds since the epoch.
            launching: seconds more, once in an attempt, where the program may not have begun.
        """
        self._advance(now)
        for timer in self._timers.values():
            if timer.left_at is None and timer.exception in exceptions:
                timer.left_at = self._observed
            any_output = isinstance(timer.detection, SilenceDetection) and self._bytes > self._bytes_before
            begun = timer.last is not None or any_output
            timer.put_off(seconds, self._observed, 0.0 if begun else launching)

    def exited(self, code: int, now: float, last_line: str = "") -> list[Detected]:
        """Take the end of an attempt and return what covers it; timers stop.

        Args:
            code: the exit status as a shell gives it: 128 + n for signal n. A program that itself ends with
                such a status cannot be told apart from one that was killed.
            now: seconds since the epoch.
            last_line: what was printed last, for the evidence.
        """
        self._advance(now)
        self._paused = True
        signal = code - 128 if 128 < code < 128 + 65 else None
        detail = f"exit status {code}" + (f" (signal {signal})" if signal is not None else "")
        evidence = Evidence(kind="exit", time=now, node=self._node, line=last_line, detail=detail)
        return [
            Detected(exception=name, evidence=(evidence,))
            for name, detection in self._exits
            if _covers(detection, code, signal)
        ]

    def node(self, name: str, state: NodeState, reason: str, now: float) -> list[Detected]:
        """Take a node's state; return what it raises. UNKNOWN neither raises nor clears anything."""
        self._advance(now)
        found = []
        for key, (exception, detection) in self._nodes.items():
            condition = f"{key}@{name}"
            if state is _CONDITIONS[detection.condition]:
                if condition not in self._raised:
                    self._raised.add(condition)
                    detail = f"{name} is {state.value}" + (f": {reason}" if reason else "")
                    evidence = Evidence(kind="node", time=now, node=name, detail=detail)
                    found.append(Detected(exception=exception, evidence=(evidence,)))
            elif state is NodeState.UP:
                self._raised.discard(condition)
        return found

    def job_exception(
        self, exception_type: str, severity: int, note: str, nodes: Sequence[str], job_id: str, now: float
    ) -> list[Detected]:
        """Take an exception of the resource manager's; return what it raises.

        Args:
            exception_type: its type, as it was raised.
            severity: 0, the worst, to 7.
            note: what it says.
            nodes: the nodes that the note names; each becomes evidence against that node.
            job_id: the job or step that it was raised on.
            now: seconds since the epoch.
        """
        self._advance(now)
        covering = [
            name
            for name, detection in self._job_exceptions
            if detection.exception_type == exception_type
            and (detection.severity is None or severity <= detection.severity)
        ]
        detail = f"{exception_type}, severity {severity}, on job {job_id}" + (f": {note}" if note else "")
        evidence = tuple(
            Evidence(kind="job-exception", time=now, node=node, detail=detail) for node in nodes or ("",)
        )
        return [Detected(exception=name, evidence=evidence) for name in dict.fromkeys(covering)]

    def reached(self) -> Reach:
        """Return how much the attempt has printed, and the highest number of its first progress detection."""
        numbers = (t.best for t in self._timers.values() if isinstance(t.detection, ProgressDetection))
        best = next(numbers, -math.inf)
        return Reach(output=self._bytes - self._bytes_before, progress=None if math.isinf(best) else best)

    @property
    def hears_job_exceptions(self) -> bool:
        """Whether any detection waits for an exception of the resource manager's."""
        return bool(self._job_exceptions)

    def disk(self, usage: Usage, now: float) -> list[Detected]:
        """Take a measurement of a file system; return what it raises."""
        self._advance(now)
        found = []
        for key, (exception, detection) in self._disks.items():
            if (detection.path, detection.metric) != (usage.path, usage.metric):
                continue
            if usage.fraction <= detection.above:
                self._raised.discard(key)
            elif key not in self._raised:
                self._raised.add(key)
                detail = f"{usage} of {usage.metric.value} used, above {detection.above:.1%}"
                evidence = Evidence(kind="disk", time=now, node=self._node, file=usage.path, detail=detail)
                found.append(Detected(exception=exception, evidence=(evidence,)))
        return found

    def snapshot(self) -> dict[str, Any]:
        """Return everything that a restarted isolator needs, JSON-ready."""
        return {
            "timers": {
                key: {
                    "left": None if timer.left_at is None else timer.left_at - self._observed,
                    "warm": timer.warm - self._observed,
                    "best": None if math.isinf(timer.best) else timer.best,
                    "last": msgspec.to_builtins(timer.last),
                }
                for key, timer in self._timers.items()
            },
            "windows": {key: window.snapshot() for key, window in self._windows.items()},
            "raised": sorted(self._raised),
            "paused": self._paused,
            "bytes": self._bytes,
            "bytes_before": self._bytes_before,
        }

    def restore(self, state: dict[str, Any], now: float) -> None:
        """Take up a snapshot. Nobody observed since it was taken, so timers continue where they stood."""
        self._last = now
        for key, kept in state["timers"].items():
            if (timer := self._timers.get(key)) is not None:
                timer.left_at = None if kept["left"] is None else self._observed + kept["left"]
                timer.warm = self._observed + kept["warm"]
                timer.best = -math.inf if kept["best"] is None else kept["best"]
                timer.last = msgspec.convert(kept["last"], Evidence | None)
        for key, kept in state["windows"].items():
            if (window := self._windows.get(key)) is not None:
                window.restore(kept)
        self._raised = set(state["raised"])
        self._paused = state["paused"]
        self._bytes, self._bytes_before = state["bytes"], state["bytes_before"]

    def _advance(self, now: float) -> None:
        step = now - self._last
        self._last = now
        if not self._paused and 0 < step <= self._until_due() + LATE:
            self._observed += step

    def _until_due(self) -> float:
        """Return how long after the last call the next one was due at the latest, seconds."""
        armed = (timer.left_at for timer in self._timers.values() if timer.left_at is not None)
        return min(TICK, max(0.0, min(armed, default=math.inf) - self._observed))

    def _timed(self) -> Iterable[TimerDetection]:
        return (timer.detection for timer in self._timers.values())

    def _sign_of_life(
        self, timer: _Timer, detection: HangDetection | ProgressDetection, evidence: Evidence
    ) -> None:
        if isinstance(detection, ProgressDetection):
            value = _number(evidence.captures.get(detection.capture, ""))
            if value is None or value <= timer.best:
                return
            timer.best = value
        timer.last = evidence
        timer.alive(self._observed)

    def _overdue(self, timer: _Timer, now: float) -> Detected:
        detection, last = timer.detection, timer.last
        if isinstance(detection, SilenceDetection):
            evidence = Evidence(
                kind="silence",
                time=now,
                node=self._node,
                detail=f"no output for {timer.timeout:g} s, {self._bytes} bytes read before",
            )
            return Detected(exception=timer.exception, evidence=(evidence,))
        if isinstance(detection, HangDetection):
            kind, what = "hang", "the pattern did not appear"
        else:
            kind, what = "progress", f"{detection.capture!r} did not rise above {_shown(timer.best)}"
        evidence = Evidence(
            kind=kind,
            time=now,
            node=self._node,
            pattern=detection.pattern.text,
            line=last.line if last else "",
            file=last.file if last else detection.source.path or detection.source.stream.value,
            offset=last.offset if last else -1,
            captures=last.captures if last else {},
            detail=f"{what} for {timer.timeout:g} s" + ("" if last else "; it was never seen"),
        )
        return Detected(exception=timer.exception, evidence=(evidence,))


def _key(exception: str, index: int) -> str:
    return f"{exception}#{index}"


def _covers(detection: ExitDetection, code: int, signal: int | None) -> bool:
    if not detection.codes and not detection.signals:
        return code != 0
    by_code = any(codes.first <= code <= codes.last for codes in detection.codes)
    if detection.excluded:
        return code != 0 and not by_code
    return by_code or (signal is not None and signal in detection.signals)


def _number(text: str) -> float | None:
    """Return a number as programs print it, Fortran's ``1.0D+03`` too; None for what is none."""
    try:
        value = float(text.strip().replace("D", "E").replace("d", "e"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _shown(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:g}"
