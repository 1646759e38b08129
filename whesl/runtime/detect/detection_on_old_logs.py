"""Runs a specification's detectors on existing logs, to find the exceptions that it would have raised.

A log has no times. So timers (HANG, SILENCE, PROGRESS) do not run, and every ``WITHIN`` counts as satisfied.
Detections that do not read output (nodes, disks, job exceptions) do not run either. As with ``whesl exec
--observe``, a log goes on after an exception, while in a real run each recovered exception ends its attempt.
The detectors and the counting of exceptions are those of a real run (``Detectors``, ``transform``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.files.packed_text import opened
from whesl.language.pattern_and_stream_records import Pattern, Source
from whesl.language.spec import Spec
from whesl.model.evidence import Cause, Detected, History
from whesl.model.workflow import Task
from whesl.runtime.detect.detectors import DecisiveLines, Detectors
from whesl.runtime.detect.exception_transformation import is_its_end, transform
from whesl.runtime.detect.matcher import Match, Matcher, compile_patterns

READ_SIZE = 4 << 20
KEPT = 1000  # occurrences of an exception that are listed; all are counted


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a raised exception: the number of its last line, from 1, and the line's offset in bytes.

    For the end of the job ``line`` and ``offset`` are -1. ``number`` counts the exception's occurrences,
    ``evidence`` the lines of its evidence. ``transformed_from`` are its names before it was transformed.
    """

    exception: str
    number: int
    file: str
    line: int
    offset: int
    text: str
    evidence: int
    transformed_from: tuple[str, ...] = ()
    detail: str = ""


class SignOfLife(msgspec.Struct, frozen=True, kw_only=True):
    """The number of matches of a timer's pattern, and the last matching line (0: none)."""

    exception: str
    pattern: str
    times: int
    last_line: int


class Rehearsed(msgspec.Struct, frozen=True, kw_only=True):
    """The exceptions that would have been raised, in the order of the logs, and the count of each."""

    occurrences: tuple[Occurrence, ...]
    counts: dict[str, int]
    signs_of_life: tuple[SignOfLife, ...]
    bytes: int
    lines: int


class Rehearsal:
    """Reads logs for one task and collects the exceptions that they would have raised.

    Args:
        spec: the specification.
        task: the task whose output the logs are.
        progress: called with the bytes read so far, after each piece.
        decisive: lines that show a cause of failure while the job still runs; None: none do.
    """

    def __init__(
        self,
        spec: Spec,
        task: Task,
        *,
        progress: Callable[[int], None] = lambda _: None,
        decisive: DecisiveLines | None = None,
    ) -> None:
        self._spec = spec
        self._task = task
        self._progress = progress
        self._detectors = Detectors(spec, task, "", 0.0, decisive)
        self._history = History()
        self._occurrences: list[Occurrence] = []
        self._counts: dict[str, int] = {}
        self._seen: set[str] = set()  # before counting
        self._bytes = self._lines = 0
        self._alive: dict[tuple[str, Pattern], tuple[int, int]] = {
            (exception.name, pattern): (0, 0)
            for exception in spec.exceptions_of(task)
            for detection in exception.detections
            if detection.timed and (reads := detection.reads()) is not None
            for pattern in reads.patterns
        }

    def read(self, logs: Mapping[str, Sequence[Source]]) -> None:
        """Read log files to their ends.

        Args:
            logs: by path of a file: the sources whose lines it contains.

        Raises UsageError for a file that cannot be read.
        """
        wanted = self._detectors.sources()
        for path, sources in logs.items():
            patterns = tuple(dict.fromkeys(p for source in sources for p in wanted.get(source, ())))
            self._read(Path(path), sources, compile_patterns(patterns))

    def ended(self, status: int) -> None:
        """Handle the end of the job, with an exit status as a shell returns it."""
        raised = frozenset(self._seen)
        for detected in self._detectors.exited(status, 0.0):
            if not is_its_end(detected, raised):
                self._raise(detected, "", -1)

    @property
    def asks_for_a_cause(self) -> bool:
        """Whether nothing was raised, and an exception waits for the cause of the job's failure."""
        return not self._seen and self._detectors.hears_causes

    def diagnosed(self, cause: Cause) -> None:
        """Take the cause of the job's failure."""
        for detected in self._detectors.diagnosed(cause, 0.0):
            self._raise(detected, cause.file, cause.line)

    def result(self) -> Rehearsed:
        """Return the result so far."""
        return Rehearsed(
            occurrences=tuple(self._occurrences),
            counts=dict(self._counts),
            signs_of_life=tuple(
                SignOfLife(exception=name, pattern=pattern.text, times=times, last_line=last)
                for (name, pattern), (times, last) in self._alive.items()
            ),
            bytes=self._bytes,
            lines=self._lines,
        )

    def _read(self, path: Path, sources: Sequence[Source], matcher: Matcher) -> None:
        stream = matcher.open()
        offset = newlines = 0
        ended = True  # the last byte ended a line
        with opened(path) as file:
            while data := file.read(READ_SIZE):
                matches = stream.feed(data, offset)
                self._judge(sources, matcher, matches, str(path), data, offset, newlines)
                newlines += data.count(b"\n")
                ended = data.endswith(b"\n")
                offset += len(data)
                self._bytes += len(data)
                self._progress(self._bytes)
        self._judge(sources, matcher, stream.finish(), str(path), b"", offset, newlines)
        self._lines += newlines + (not ended)

    def _judge(
        self,
        sources: Sequence[Source],
        matcher: Matcher,
        matches: list[Match],
        path: str,
        data: bytes,
        base: int,
        newlines: int,
    ) -> None:
        """Give matches to the detectors, with the number of their lines.

        Args:
            sources: the sources whose lines the file contains.
            matcher: the matcher with the patterns.
            matches: the matches in the order of their lines.
            path: the file.
            data: the piece of the file with the matches.
            base: the offset of the piece.
            newlines: the number of line breaks before the piece.
        """
        at, line = 0, newlines + 1
        for match in matches:
            # A line that began before this piece is the last line before it.
            begin = max(0, match.line_offset - base)
            if begin < at:
                at, line = 0, newlines + 1
            line += data.count(b"\n", at, begin)
            at = begin
            pattern = matcher.patterns[match.pattern]
            for key, (times, _) in self._alive.items():
                if key[1] == pattern:
                    self._alive[key] = (times + 1, line)
            for detected in self._detectors.matched(sources, pattern, match, path, 0.0):
                self._raise(detected, path, line)

    def _raise(self, detected: Detected, path: str, line: int) -> None:
        became = transform(self._spec, self._task, self._history, detected.exception, 0.0)
        self._history = became.history
        self._seen.add(detected.exception)
        number = self._counts[became.exception] = self._counts.get(became.exception, 0) + 1
        if number > KEPT:
            return
        last = detected.evidence[-1]
        self._occurrences.append(
            Occurrence(
                exception=became.exception,
                number=number,
                file=path,
                line=line,
                offset=last.offset,
                text=last.line or last.detail,
                evidence=len(detected.evidence),
                transformed_from=became.origins,
                detail=became.detail,
            )
        )
