"""The watch of one task's files for the isolator: reads, matches and judges them.

``poll`` never blocks and reads a bounded amount. Timers are judged only when nothing is left to read, so that
a line that is in the file already always precedes the time-out for its absence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import msgspec

from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.spec import Spec
from whesl.model.errors import UsageError
from whesl.model.evidence import Detected
from whesl.model.workflow import Task
from whesl.runtime.detect import named_files, old_files
from whesl.runtime.detect.detectors import DecisiveLines, Detectors
from whesl.runtime.detect.followed_file import MARK, Chunk
from whesl.runtime.detect.matcher import Match, Matcher, MatchStream, compile_patterns
from whesl.runtime.detect.tail import READ_SIZE, SAFETY, Tailer

MOST_MATCHES = 1000  # the most matches of a file in one call, since the event loop has other work
DRAIN_SIZE = 64 << 20  # the most bytes that one call of ``drain`` reads, since the event loop has other work
SKIM_SIZE = 1 << 18  # the most bytes of a file that one call of ``skim`` reads
NAMES_EVERY = 1.0  # seconds between two searches for new files that match a pattern of names
_SNAPSHOT = 1
_OUTPUT = Source(stream=Stream.OUTPUT)


class _Reading:
    """One file and its sources (stdout and stderr are often the same file)."""

    def __init__(
        self,
        path: str,
        sources: list[Source],
        matcher: Matcher,
        offset: int,
        few: tuple[Set[Pattern], ...],
    ) -> None:
        self.path = path
        self.sources = sources
        self.matcher = matcher
        self.stream: MatchStream = matcher.open(offset)
        self.latest: frozenset[int] = frozenset()
        self.lone: frozenset[int] = frozenset()
        self.rising: frozenset[int] = frozenset()
        self.take_few(few)

    def take_few(self, few: tuple[Set[Pattern], ...]) -> None:
        """Set the patterns of which few matches count (``Detectors.few_count``)."""
        self.latest, self.lone, self.rising = (
            frozenset(i for i, pattern in enumerate(self.matcher.patterns) if pattern in of) for of in few
        )
        self._few = self.latest | self.lone | self.rising

    def feed(self, data: bytes, offset: int) -> list[Match]:
        """Return the matches in the next bytes; after many, the rest stays unread (``next_offset``)."""
        if not self._few:
            return self.stream.feed(data, offset, MOST_MATCHES)
        matches: list[Match] = []
        for begin in range(0, len(data), SKIM_SIZE):
            part = data[begin : begin + SKIM_SIZE]
            carried = self.stream.carried(self._few)
            storm = self.rising and part.count(b"\n") > MOST_MATCHES
            lone = self.lone | self.rising if storm else self.lone
            passed = None
            if carried is not None and offset + begin == self.stream.next_offset:
                text = carried + part
                passed = self.stream.pass_over(text, memoryview(text), len(text), self.latest, lone)
            if passed is not None:
                matches += passed
                continue
            matches += self.stream.feed(part, offset + begin, MOST_MATCHES)
            if len(matches) >= MOST_MATCHES or self.stream.next_offset < offset + begin + len(part):
                break
        return matches


class Watch:
    """All detections of one task over its attempts. For use by one thread.

    The watch gives output to ``detectors``; callers give them other events: the end of an attempt (after
    ``drain``), nodes, disks, exceptions of the resource manager. ``seen_until``: all output up to this time,
    seconds since the epoch, was read, so later finds were written after it. ``drained``: ``drain`` has read
    all output.
    """

    def __init__(
        self,
        spec: Spec,
        task: Task,
        sources: Mapping[Source, str],
        node: str,
        now: float,
        *,
        engine: str = "auto",
        offsets: Mapping[str, int] | None = None,
        before: Iterable[Mapping[str, Any]] = (),
        began: float | None = None,
        tail: str | None = None,
        decisive: DecisiveLines | None = None,
    ) -> None:
        """Begin to watch; before the attempt starts, since files are read from their present end.

        Args:
            spec: the specification; only exceptions that cover the task count.
            task: the task.
            sources: the file of each source. Files that detections name and that are missing here are taken
                from the task's workspace; stdout and stderr are always watched when given, for silence.
            node: the name of this node, for the evidence.
            now: seconds since the epoch, as in all methods.
            engine: ``auto``, ``hyperscan`` or ``re2``.
            offsets: by path, the offset to begin at instead of the present end.
            before: positions and marks of files before the attempt (``old_files.positions``).
            began: the beginning of an attempt that runs already, seconds since the epoch.
            tail: ``auto`` or ``poll``; None: the value of WHESL_TAIL.
            decisive: lines that raise exceptions with a CAUSE detection before the attempt has ended.

        Raises PatternError for an invalid pattern, UsageError for a source without a file.
        """
        self._task = task
        self._engine = engine
        self.detectors = Detectors(spec, task, node, now, decisive)
        self._tailer = Tailer(tail)
        self._readings: dict[str, _Reading] = {}
        # Reused, since new memory costs more than reading into it.
        self._buffer = bytearray(SKIM_SIZE)
        self._room = memoryview(self._buffer)
        self._matchers: dict[tuple[Pattern, ...], Matcher] = {}
        self._left: int | None = None  # bytes that remain to be drained
        self.drained = False
        self.seen_until = now if began is None else began
        self._patterns: dict[str, list[Source]] = {}  # by pattern of file names: its sources
        self._exceptions = spec.exceptions_of(task)
        self._seen: set[Source] = set()  # sources that have had output in any attempt
        self._too_many: set[str] = set()  # patterns that match more files than are followed
        self._names_at = 0.0  # time of the next search for new files
        self._before = {str(position["path"]): position for position in before}
        self._open(sources, offsets or {})
        self._before = {}

    def close(self) -> None:
        """Close all files."""
        self._tailer.close()

    def fileno(self) -> int | None:
        """Return a descriptor to poll for reading, which never changes; None without one."""
        return self._tailer.fileno()

    def next_deadline(self, now: float) -> float | None:
        """Return the latest time for the next call of ``poll``, even if ``fileno`` is not readable."""
        names = self._names_at if self._patterns else None
        times = (self._tailer.next_poll(now), self.detectors.next_deadline(now), names)
        return min((time for time in times if time is not None), default=None)

    def problems(self) -> dict[str, str]:
        """Return, by file, why it cannot be read now or was missed in part."""
        many = f"more than {named_files.MOST} files have this pattern: the others are not read"
        return self._tailer.problems() | dict.fromkeys(sorted(self._too_many), many)

    def poll(self, now: float, max_bytes: int = READ_SIZE) -> list[Detected]:
        """Read new output and return the exceptions that it raises, in order.

        Args:
            now: seconds since the epoch.
            max_bytes: the most bytes of each file.
        """
        self._take_names(now)
        found, _ = self._take(self._tailer.read(now, max_bytes), now)
        if not self._tailer.pending:
            found += self.detectors.tick(now)
            self._all_seen(now)
        return sorted(found, key=lambda detected: detected.order)

    def skim(self, now: float) -> bool:
        """Read new output without matches; False when ``poll`` has to read the rest.

        This replaces ``poll``, except that it judges no timers: ``poll`` is still due at ``next_deadline``.
        """
        grown = self._tailer.grown()
        if grown is None:
            return False
        for path in grown:
            reading = self._readings[path]
            stream = reading.stream
            carried = stream.carried(reading.latest)
            if carried is None:
                return False
            begin = len(carried)
            if begin:
                self._room[:begin] = carried
            count = self._tailer.peek(path, self._room[begin:])
            end = begin + count
            if count < 0 or end == SKIM_SIZE:
                return False
            if count:
                matches = stream.pass_over(self._buffer, self._room, end, reading.latest)
                if matches is None:
                    return False
                self._tailer.skip(path, count, bytes(self._room[max(begin, end - MARK) : end]))
                if matches:
                    # These matches are signs of life, which raise nothing.
                    self._judge(reading, matches, now)
                self.detectors.output(count, now)
                self._seen.update(reading.sources)
        self._all_seen(now)
        return True

    def _all_seen(self, now: float) -> None:
        """Note that all output was read, except in a file that has just replaced another."""
        self.seen_until = max(self.seen_until, now - SAFETY)

    def drain(self, now: float) -> list[Detected]:
        """Read the output that existed at the first call; call it until ``drained`` is True.

        This is for the end of an attempt, before its exit status is judged. Each call returns after a find,
        or after many bytes or matches. At the end, unfinished lines are judged as they are.
        """
        found: list[Detected] = []
        if self._left is None or self.drained:
            self._take_names(now, force=True)
            self._left, self.drained = self._tailer.unread(), False
        most = self._left - DRAIN_SIZE
        while not found and self._left > most and not self.drained:
            chunks = self._tailer.read(now, force=True)
            more, taken = self._take(chunks, now)
            found += more
            self._left -= taken
            self.drained = not chunks or self._left <= 0
            if taken < sum(len(chunk.data) for chunk in chunks):
                break  # many matches were found
        if self.drained:
            for reading in self._readings.values():
                found += self._judge(reading, reading.stream.finish(), now)
        return sorted(found, key=lambda detected: detected.order)

    def settle(self, exceptions: Set[str]) -> None:
        """Stop raising some exceptions for this attempt's output (``Detectors.settle``)."""
        if self.detectors.settle(exceptions):
            self._take_few()

    def _take_few(self) -> None:
        few = self.detectors.few_count()
        for reading in self._readings.values():
            reading.take_few(few)

    def new_attempt(
        self,
        now: float,
        sources: Mapping[Source, str] | None = None,
        *,
        offsets: Mapping[str, int] | None = None,
    ) -> None:
        """Begin a new attempt, with new timers and windows.

        Unread output of the attempt before does not belong to the new attempt.

        Args:
            now: seconds since the epoch.
            sources: the file of each source; None: as before.
            offsets: by path, the offset to begin at; None: the present ends.
        """
        if sources is None:
            sources = {source: r.path for r in self._readings.values() for source in r.sources}
            sources |= {source: path for path, of in self._patterns.items() for source in of}
        self.detectors.new_attempt(now)
        self.detectors.settle(frozenset())
        self.seen_until, self._left, self.drained = now, None, False
        self._open(sources, offsets or {})

    def unseen(self, *, failed: bool) -> tuple[str, ...]:
        """Return the detections without any input so far: files that never existed, empty streams.

        Args:
            failed: the program has failed; a successful one may leave standard error empty, which is normal.
        """
        told: list[str] = []
        missing: set[Source] = set()
        for source in self.detectors.sources():
            if source.stream is Stream.FILE and source not in self._seen:
                place = self._places.get(source, source.path or "")
                if not (named_files.found(place) if source in self._named() else os.path.lexists(place)):
                    missing.add(source)
                    told.append(f"{place} was watched, and never existed")
        silent = set() if failed else {Source(stream=Stream.STDERR)}
        for exception in self._exceptions:
            read = [each.reads() for each in exception.detections]
            sources = {reads.source for reads in read if reads is not None}
            if not read or None in read or sources & self._seen or sources <= missing | silent:
                continue
            where = " or ".join(sorted(source.path or source.stream.value for source in sources - missing))
            told.append(f"{exception.name} saw no line: nothing was printed on {where}")
        return tuple(told)

    def _named(self) -> set[Source]:
        return {source for of in self._patterns.values() for source in of}

    def snapshot(self) -> dict[str, Any]:
        """Return the state that a restarted isolator needs, as JSON builtins.

        It counts all results of ``poll`` as seen, so the caller has to record both together.
        """
        restart = {path: r.stream.restart_offset for path, r in self._readings.items()}
        return {
            "version": _SNAPSHOT,
            "seen_until": self.seen_until,
            "seen": msgspec.to_builtins(list(self._seen)),
            "detectors": self.detectors.snapshot(),
            "files": self._tailer.state(restart),
            "left": self._tailer.left(),
            "streams": {path: r.stream.snapshot() for path, r in self._readings.items()},
        }

    def restore(self, state: Mapping[str, Any], now: float) -> None:
        """Restore the snapshot of a watch of the same task, specification and sources.

        The next polls read the output since then, once. Raises UsageError for another version.

        Args:
            state: the result of ``snapshot``.
            now: seconds since the epoch.
        """
        if state["version"] != _SNAPSHOT:
            raise UsageError(f"the detectors' state is of version {state['version']}, not {_SNAPSHOT}")
        self.seen_until = state["seen_until"]
        self._seen |= set(msgspec.convert(state["seen"], list[Source]))
        self.detectors.restore(state["detectors"], now)
        known = {kept["path"] for kept in state["files"]}
        for path, positions in state.get("left", {}).items():
            self._tailer.leave(path, positions)
        self._tailer.restore(kept for kept in state["files"] if kept["path"] in self._readings)
        for path, sources in self._patterns.items():
            for name in named_files.found(path):
                if name not in known:  # the file is new
                    self._readings.pop(name, None)
                    self._follow(name, sources, 0, path)
        for path, kept in state["streams"].items():
            if path in self._readings:
                self._readings[path].stream.restore(kept)

    def _open(self, sources: Mapping[Source, str], offsets: Mapping[str, int]) -> None:
        wanted = self.detectors.sources()
        # The source of all output has no file of its own.
        places = {source: path for source, path in sources.items() if source != _OUTPUT}
        for source in wanted:
            if source not in places and source != _OUTPUT:
                places[source] = self._place(source)
        self._places = dict(places)
        files: dict[str, tuple[str, list[Source]]] = {}
        self._patterns = {}
        for source, path in list(places.items()):
            if source.stream is Stream.FILE and named_files.is_pattern(path):
                del places[source]
                self._patterns.setdefault(path, []).append(source)
        for source, path in places.items():
            files.setdefault(os.path.realpath(path), (path, []))[1].append(source)
        for _, of in files.values():
            if any(source.stream in (Stream.STDOUT, Stream.STDERR) for source in of):
                of.append(_OUTPUT)
        for path in self._tailer.paths():
            self._tailer.unfollow(path)
        self._readings = {}
        for path, of in files.values():
            self._follow(path, of, offsets.get(path))
        for path, of in self._patterns.items():
            self._tailer.leave(path, old_files.gone(self._before.values()))
            for name in named_files.found(path):
                # With known offsets, a file without one is new.
                self._follow(name, of, offsets.get(name, 0 if offsets else None), path)

    def _follow(self, path: str, sources: list[Source], offset: int | None, pattern: str = "") -> None:
        """Read a file from an offset on, or from its present end; a followed file continues.

        Args:
            path: the file.
            sources: what it is for the detections.
            offset: the first byte to read; None: the present end.
            pattern: the pattern of file names that has led to it.
        """
        known = self._readings.get(path)
        if known is not None:
            sources = list(dict.fromkeys((*known.sources, *sources)))
            offset = known.stream.restart_offset
        wanted = self.detectors.sources()
        patterns = tuple(dict.fromkeys(p for source in sources for p in wanted.get(source, ())))
        if known is not None and patterns == known.matcher.patterns:
            known.sources = sources
            return
        begin = self._tailer.follow(
            path, offset, own=known is not None, position=self._before.get(path), pattern=pattern
        )
        few = self.detectors.few_count()
        self._readings[path] = _Reading(path, sources, self._matcher(patterns), begin, few)

    def _take_names(self, now: float, *, force: bool = False) -> None:
        """Search for new files that match a pattern of names; they are read from their beginning."""
        due = now >= self._names_at or self._names_at > now + 2 * NAMES_EVERY  # the clock was set back
        if not self._patterns or not (due or force):
            return
        self._names_at = now + NAMES_EVERY
        for path, sources in self._patterns.items():
            names = named_files.found(path)
            if len(names) == named_files.MOST:
                self._too_many.add(path)
            for name in names:
                known = self._readings.get(name)
                if known is None or not set(sources) <= set(known.sources):
                    self._follow(name, sources, 0, path)

    def _place(self, source: Source) -> str:
        if source.stream is not Stream.FILE or not source.path:
            raise UsageError(f"the file of {source.stream.value} of {self._task.id} is not known")
        return str(Path(self._task.workspace) / source.path)

    def _matcher(self, patterns: tuple[Pattern, ...]) -> Matcher:
        if patterns not in self._matchers:
            self._matchers[patterns] = compile_patterns(patterns, self._engine)
        return self._matchers[patterns]

    def _take(self, chunks: list[Chunk], now: float) -> tuple[list[Detected], int]:
        """Judge chunks; return the exceptions that they raise, and the number of bytes taken."""
        found: list[Detected] = []
        taken = 0
        for chunk in chunks:
            reading = self._readings[chunk.path]
            if chunk.rotated:
                found += self._judge(reading, reading.stream.finish(), now)
                self.detectors.rotated(chunk.path)
                reading.stream = reading.matcher.open(chunk.offset)
            matches = reading.feed(chunk.data, chunk.offset)
            left = max(chunk.offset + len(chunk.data) - reading.stream.next_offset, 0)
            if left:
                self._tailer.give_back(chunk.path, left)
            taken += len(chunk.data) - left
            self._seen.update(reading.sources)
            found += self._judge(reading, matches, now)
            self.detectors.output(len(chunk.data) - left, now)
        return found, taken

    def _judge(self, reading: _Reading, matches: list[Match], now: float) -> list[Detected]:
        before = len(self.detectors.enough)
        found = [
            detected
            for match in matches
            for detected in self.detectors.matched(
                reading.sources,
                reading.matcher.patterns[match.pattern],
                match,
                reading.path,
                now,
                self.seen_until,
            )
        ]
        if len(self.detectors.enough) > before:
            self._take_few()
        return found
