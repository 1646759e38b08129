"""The detectors of one task: observations go in, exceptions with their evidence come out. Pure.

The time is an argument of every call. Detectors use two clocks. Windows of ``WITHIN s`` use the caller's
time, at which a line was *read*. Timers (hang, silence, progress) use *observed* time. It stands still while
no attempt runs. It also skips a step between two calls that ends more than ``LATE`` after ``next_deadline``:
then this process itself did not run (stopped, machine suspended, file system frozen), so the task's silence
is unproven. A backwards step counts as zero.

Each detector raises once for its evidence and then waits for new evidence: a window starts empty, a timer
that ran out waits for the next sign of life or the next attempt, and a full disk or lost node has to be seen
well again. A raised exception uses up all lines of all its detections, whose windows start empty: so a line
raises an exception once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import Any, Protocol

import msgspec

from whesl.language.detections.base import Detector, DiskMetric, Found, Kind, Promise, Seen, Usage
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.spec import Spec
from whesl.model.evidence import Cause, Detected, Evidence
from whesl.model.recovery_criterion import Reach
from whesl.model.states import NodeState
from whesl.model.workflow import Task
from whesl.runtime.detect.matcher import Match

TICK = 2.0  # seconds: ``next_deadline`` is never later while a timer runs
LATE = 1.0  # seconds after a due call; a longer delay is time that nobody observed
ENOUGH = 200  # lines with a decisive pattern that are looked at in one attempt; each takes a millisecond


class DecisiveLines(Protocol):
    """Lines that show a job's cause of failure while the job still runs.

    ``patterns``: patterns of candidate lines; ``cause`` decides about a line that matches one.
    """

    patterns: tuple[Pattern, ...]

    def cause(self, line: str, file: str) -> Cause | None:
        """Return the cause that a line shows, None for a line that is not decisive.

        Args:
            line: the line.
            file: the path of its file.
        """


class Detectors:
    """All detections of the exceptions that cover one task, except counting (see ``transform``)."""

    def __init__(
        self, spec: Spec, task: Task, node: str, now: float, decisive: DecisiveLines | None = None
    ) -> None:
        """Start the first attempt.

        Args:
            spec: the specification; what does not cover the task is left out.
            task: the task.
            node: the name of the node where this runs.
            now: seconds since the epoch.
            decisive: lines that raise exceptions with a CAUSE detection before the attempt has ended; None:
                none do.
        """
        self._node = node
        self._kinds: list[tuple[str, Kind]] = []  # detections, each with the name of its exception
        self._settled: Set[str] = frozenset()
        self._detectors: dict[str, Detector[Any]] = {}
        self._readers: dict[Pattern, list[Detector[Any]]] = {}
        # By exception and file: the offset of the last line that the exception used up.
        self._used_up: dict[str, dict[str, int]] = {}
        for exception in spec.exceptions_of(task):
            for index, detection in enumerate(exception.detections):
                self._kinds.append((exception.name, detection))
                detector = detection.detector(exception.name, node)
                if detector is None:
                    continue
                self._detectors[f"{exception.name}#{index}"] = detector
                for pattern in dict.fromkeys(reads.patterns if (reads := detection.looked_for()) else ()):
                    self._readers.setdefault(pattern, []).append(detector)
        self._timers = [detector for detector in self._detectors.values() if detector.timed]
        self._decisive = decisive if self.hears_causes else None
        self._looked_at: Counter[Pattern] = Counter()  # lines with each decisive pattern in this attempt
        self._last_look: tuple[str, str, Cause | None] = ("", "", None)  # the last file and line looked at
        self.enough: set[Pattern] = set()  # decisive patterns of which enough lines were looked at
        self._observed = 0.0
        self._last = now
        self._paused = False
        self._bytes = self._bytes_before = 0
        self.new_attempt(now)

    def sources(self) -> dict[Source, tuple[Pattern, ...]]:
        """Return the patterns to search for, by source."""
        wanted: dict[Source, dict[Pattern, None]] = {}
        for _, kind in self._kinds:
            if (reads := kind.looked_for()) is not None:
                wanted.setdefault(reads.source, {}).update(dict.fromkeys(reads.patterns))
        if self._decisive is not None:
            output = Source(stream=Stream.OUTPUT)
            wanted.setdefault(output, {}).update(dict.fromkeys(self._decisive.patterns))
        return {source: tuple(patterns) for source, patterns in wanted.items()}

    def few_count(self) -> tuple[frozenset[Pattern], frozenset[Pattern], frozenset[Pattern]]:
        """Return the patterns of which few matches count, in three groups.

        Of the first one only the last match counts: signs of life, which reset hang timers, and patterns of
        settled exceptions and of ``enough``, of which no match counts. The second are those of which all have
        to be seen: only the first and the last match in a row count. The third are those with a number that
        rises: in a storm of them, the first and the last match stand for all.
        """
        last, lone, rising, counted = (set[Pattern]() for _ in range(4))
        for exception, kind in self._kinds:
            if (reads := kind.reads()) is not None:
                always = kind.sign_of_life or exception in self._settled
                few = rising if kind.rises else lone if kind.needs_all() else counted
                (last if always else few).update(reads.patterns)
        last |= self.enough
        return (
            frozenset(last - lone - rising - counted),
            frozenset(lone - rising - counted),
            frozenset(rising - lone - counted),
        )

    def settle(self, exceptions: Set[str]) -> bool:
        """Stop raising some exceptions for this attempt's output; return whether this changes anything.

        The caller names exceptions whose handling would not change if they were raised again.
        """
        if exceptions == self._settled:
            return False
        self._settled = exceptions
        return True

    def disk_paths(self) -> tuple[tuple[str, DiskMetric], ...]:
        """Return the file systems to measure, each with its metric, without repetition."""
        measured = (kind.measured() for _, kind in self._kinds)
        return tuple(dict.fromkeys(each for each in measured if each is not None))

    def new_attempt(self, now: float) -> None:
        """Restart all timers and drop the lines of the attempt before.

        Conditions of nodes and disks stay raised, since they are the same for the new attempt.
        """
        self._advance(now)
        self._paused = False
        self._bytes_before = self._bytes
        self._used_up.clear()
        self._looked_at.clear()
        self.enough.clear()
        for detector in self._detectors.values():
            detector.start(self._observed)

    def matched(
        self,
        sources: Sequence[Source],
        pattern: Pattern,
        match: Match,
        file: str,
        now: float,
        since: float = 0.0,
    ) -> list[Detected]:
        """Handle a match in a file; return the exceptions that it completes.

        Args:
            sources: the sources that the file is read for.
            pattern: the matching pattern.
            match: the place of the match.
            file: the file's path.
            now: seconds since the epoch.
            since: a time at which the line was certainly not written yet, seconds since the epoch; 0: not
                known.
        """
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
            since=since,
        )
        seen = Seen(pattern=pattern, place=(file, match.line_offset), evidence=evidence)
        found = self._taken(
            self._readers.get(pattern, ()),
            seen.place,
            lambda detector: detector.line(sources, seen, now, self._observed),
        )
        if self._decisive is None or pattern not in self._decisive.patterns or pattern in self.enough:
            return found
        self._looked_at[pattern] += 1
        if self._looked_at[pattern] >= ENOUGH:
            self.enough.add(pattern)
        if self._last_look[:2] != (file, evidence.line):  # a line may hold several of these patterns
            self._last_look = file, evidence.line, self._decisive.cause(evidence.line, file)
        cause = self._last_look[2]
        if cause is None:
            return found
        told = msgspec.structs.replace(self._told_by(cause, now, since), offset=match.offset)
        return found + self._taken(
            self._detectors.values(), seen.place, lambda detector: detector.diagnosed(cause, told)
        )

    def _taken(
        self,
        detectors: Iterable[Detector[Any]],
        place: tuple[str, int],
        judge: Callable[[Detector[Any]], Found],
    ) -> list[Detected]:
        """Return the exceptions that a line completes, and mark the line as used up for them.

        Args:
            detectors: the detectors to call.
            place: the file, and the offset of the line.
            judge: the call of each detector.
        """
        file, offset = place
        found = []
        for detector in detectors:
            if detector.exception in self._settled and not detector.timed:
                continue
            used_up = self._used_up.get(detector.exception, {})
            if not detector.timed and used_up.get(file) == offset:
                continue
            if complete := judge(detector):
                found.append(Detected(exception=detector.exception, evidence=complete))
                self._used_up[detector.exception] = {**used_up, file: offset}
                self._start_windows(detector.exception)
        return found

    def rotated(self, file: str) -> None:
        """Drop the offsets of a file's lines: another file has replaced it, or it begins again."""
        for lines in self._used_up.values():
            lines.pop(file, None)
        for detector in self._detectors.values():
            detector.rotated(file)

    def output(self, count: int, now: float) -> None:
        """Note that ``count`` bytes of any output were read.

        Args:
            count: bytes.
            now: seconds since the epoch.
        """
        self._advance(now)
        if count <= 0:
            return
        self._bytes += count
        for timer in self._timers:
            timer.printed(count, self._observed)

    def tick(self, now: float) -> list[Detected]:
        """Advance the time; return the exceptions of expired timers. Call it after all output was handled."""
        self._advance(now)
        if self._paused:
            return []
        return self._ask(lambda detector: detector.overdue(now) if self._is_due(detector) else ())

    def next_deadline(self, now: float) -> float | None:
        """Return the latest time for the next call of ``tick``; None when no timer runs."""
        due = self._due()
        if self._paused or math.isinf(due):
            return None
        return min(self._last + max(0.0, due - self._observed), now + TICK)

    def suspended(
        self, seconds: float, exceptions: Collection[str], now: float, launching: float = 0.0
    ) -> None:
        """Extend all timers by a time for which the program was stopped while this process ran.

        No timer gets more than its full time, except one that waits for a first sign of life.

        Args:
            seconds: the most seconds to add; infinite: the full time.
            exceptions: exceptions of timers that ran out meanwhile.
            now: seconds since the epoch.
            launching: further seconds, once in an attempt, where the program may not have begun.
        """
        self._advance(now)
        for timer in self._timers:
            timer.put_off(seconds, self._observed, launching, timer.exception in exceptions)

    def exited(self, code: int, now: float, last_line: str = "", since: float = 0.0) -> list[Detected]:
        """Handle the end of an attempt and return the exceptions that cover it; all timers stop.

        Args:
            code: the exit status as a shell returns it: 128 + n for signal n. A program that itself ends with
                such a status looks like a killed program.
            now: seconds since the epoch.
            last_line: the last line of output, for the evidence.
            since: when the attempt was last seen running, seconds since the epoch; 0: not known.
        """
        self._advance(now)
        self._paused = True
        signal = code - 128 if 128 < code < 128 + 65 else None
        detail = f"exit status {code}" + (f" (signal {signal})" if signal is not None else "")
        evidence = Evidence(
            kind="exit", time=now, node=self._node, line=last_line, detail=detail, since=since
        )
        return self._ask(lambda detector: detector.exited(code, signal, evidence))

    def diagnosed(self, cause: Cause, now: float, since: float = 0.0) -> list[Detected]:
        """Handle the cause of an attempt's failure and return the exceptions that cover it.

        Args:
            cause: the cause, whose node, rank, device and path become captures.
            now: seconds since the epoch.
            since: when the attempt was last seen running, seconds since the epoch; 0: not known.
        """
        told = self._told_by(cause, now, since)
        return self._ask(lambda detector: detector.diagnosed(cause, told))

    def _told_by(self, cause: Cause, now: float, since: float) -> Evidence:
        """Convert a cause to evidence."""
        where = {"node": cause.node, "device": cause.device, "path": cause.path}
        where |= {"rank": str(cause.rank)} if cause.rank is not None else {}
        return Evidence(
            kind="cause",
            time=now,
            node=self._node,
            pattern=cause.cause.value,
            line=cause.text,
            file=cause.file,
            captures={name: value for name, value in where.items() if value},
            detail=f"{cause.cause.value}: {cause.sentence}",
            since=since,
        )

    def promises(self) -> tuple[Promise, ...]:
        """Return the promises to check after an attempt's successful end, each once."""
        promised = (kind.promised() for _, kind in self._kinds)
        return tuple(dict.fromkeys(each for each in promised if each is not None))

    def promise_broken(
        self, promise: Promise, file: str, detail: str, now: float, since: float = 0.0
    ) -> list[Detected]:
        """Handle a broken promise of a successful attempt; return the exceptions that it raises.

        Args:
            promise: the file and its promised properties.
            file: the file that breaks the promise, or the glob without a matching file.
            detail: the defect.
            now: seconds since the epoch.
            since: when the attempt was last seen running, seconds since the epoch; 0: not known.
        """
        self._advance(now)
        evidence = Evidence(
            kind="output",
            time=now,
            node=self._node,
            pattern=promise.path,
            file=file,
            captures={"file": file},
            detail=detail,
            since=since,
        )
        return self._ask(lambda detector: detector.promise_broken(promise, evidence))

    @property
    def hears_causes(self) -> bool:
        """Whether any detection needs the cause of a failed attempt."""
        return any(kind.causes() for _, kind in self._kinds)

    def node(self, name: str, state: NodeState, reason: str, now: float) -> list[Detected]:
        """Handle a node's state and return the exceptions that it raises. UNKNOWN changes nothing.

        Args:
            name: the node's name.
            state: the node's state.
            reason: why, for people.
            now: seconds since the epoch.
        """
        self._advance(now)
        return self._ask(lambda detector: detector.node_is(name, state, reason, now))

    def job_exception(
        self, exception_type: str, severity: int, note: str, nodes: Sequence[str], job_id: str, now: float
    ) -> list[Detected]:
        """Handle an exception of the resource manager and return the exceptions of the rules that it raises.

        Args:
            exception_type: its type at the resource manager.
            severity: from 0 (the worst) to 7.
            note: its text, for people.
            nodes: the nodes that the note names; each becomes evidence against that node.
            job_id: the job or step of the exception.
            now: seconds since the epoch.
        """
        self._advance(now)
        detail = f"{exception_type}, severity {severity}, on job {job_id}" + (f": {note}" if note else "")
        evidence = tuple(
            Evidence(kind="job-exception", time=now, node=node, detail=detail) for node in nodes or ("",)
        )
        found = self._ask(lambda detector: detector.manager_raised(exception_type, severity, evidence))
        return [*{detected.exception: detected for detected in found}.values()]

    def reached(self) -> Reach:
        """Return the attempt's progress: bytes of output, and the highest number of its first PROGRESS."""
        numbers = (timer.progress() for timer in self._timers if timer.has_progress)
        return Reach(output=self._bytes - self._bytes_before, progress=next(numbers, None))

    @property
    def hears_job_exceptions(self) -> bool:
        """Whether any detection needs exceptions of the resource manager."""
        return any(kind.hears_manager for _, kind in self._kinds)

    def disk(self, usage: Usage, now: float) -> list[Detected]:
        """Handle a measurement of a file system and return the exceptions that it raises.

        Args:
            usage: the measurement.
            now: seconds since the epoch.
        """
        self._advance(now)
        return self._ask(lambda detector: detector.disk(usage, now))

    def snapshot(self) -> dict[str, Any]:
        """Return the state that a restarted isolator needs, as JSON builtins."""
        states = ((key, detector.snapshot(self._observed)) for key, detector in self._detectors.items())
        return {
            "detectors": {key: state for key, state in states if state},
            "paused": self._paused,
            "bytes": self._bytes,
            "bytes_before": self._bytes_before,
            "used_up": self._used_up,
        }

    def restore(self, state: dict[str, Any], now: float) -> None:
        """Restore a snapshot. Timers continue from their state in it, since no isolator observed since then.

        Args:
            state: the result of ``snapshot``.
            now: seconds since the epoch.
        """
        self._last = now
        for key, kept in state["detectors"].items():
            if (detector := self._detectors.get(key)) is not None:
                detector.restore(kept, self._observed)
        self._paused = state["paused"]
        self._bytes, self._bytes_before = state["bytes"], state["bytes_before"]
        self._used_up = {name: dict(lines) for name, lines in state["used_up"].items()}

    def _start_windows(self, exception: str) -> None:
        """Drop the lines seen for an exception; its timers continue, since the program may go on."""
        for detector in self._detectors.values():
            if detector.exception == exception and not detector.timed:
                detector.start(self._observed)

    def _ask(self, asked: Callable[[Detector[Any]], Found]) -> list[Detected]:
        """Call all detectors and return the exceptions that they raise, in the order of the specification."""
        return [
            Detected(exception=detector.exception, evidence=evidence)
            for detector in self._detectors.values()
            if (evidence := asked(detector))
        ]

    def _advance(self, now: float) -> None:
        step = now - self._last
        self._last = now
        if not self._paused and 0 < step <= self._until_due() + LATE:
            self._observed += step

    def _until_due(self) -> float:
        """Return the seconds from the last call to the latest time for the next call."""
        return min(TICK, max(0.0, self._due() - self._observed))

    def _due(self) -> float:
        """Return the observed time at which the next timer runs out; infinite without a timer."""
        deadlines = (timer.deadline() for timer in self._timers)
        return min((deadline for deadline in deadlines if deadline is not None), default=math.inf)

    def _is_due(self, detector: Detector[Any]) -> bool:
        deadline = detector.deadline()
        return deadline is not None and deadline <= self._observed
