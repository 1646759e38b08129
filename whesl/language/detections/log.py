"""``LOG``, ``MATCH``, ``ANY`` and ``MULTIPLE``, with ``RECURRING n WITHIN s``: lines make occurrences.

An occurrence is one line with any of the patterns, or, for *all of*, the line with the last missing pattern.
``times`` occurrences within ``within`` seconds, first line to last, complete the detection and use up all its
lines: no line leads to a second recovery (custodian#390).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec

from whesl.language import wording as words
from whesl.language.detections import wording
from whesl.language.detections.base import STREAMS, DetectionCheck, Detector, Form, Found, Kind, Reads, Seen
from whesl.language.detections.timers import HangDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Span
from whesl.model.evidence import Evidence

EVIDENCE_KEPT = 8  # newest lines that are kept as evidence of one exception


class Require(str, Enum):
    """The combination of several patterns of one detection."""

    ANY = "any"
    ALL = "all"


class LogDetection(Kind, frozen=True, kw_only=True, tag="log"):
    """Any or all of the patterns were found ``times`` times, within ``within`` seconds if given."""

    alternatives = ("log", "anyOf", "multiple")
    written = (
        f'LOG|MATCH "text" {STREAMS} [RECURRING n [WITHIN s] | TIMEOUT s [WARMUP s]]',
        f'MULTIPLE ["text", ...] {STREAMS} [WITHIN s]',
        f'ANY ["text", ...] {STREAMS} [RECURRING n [WITHIN s]]',
    )

    patterns: tuple[Pattern, ...]
    source: Source
    require: Require = Require.ANY
    times: int = 1
    within: float | None = None
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> Kind | None:
        """Return the record of patterns, or of a hang for one pattern with a timer; None when it is wrong.

        Args:
            form: the statement's form.
            check: converts the parts of the form and collects findings.
            span: the statement's place.
        """
        if form.timer is not None:
            return HangDetection.checked(form, check, span)
        patterns = check.patterns(form)
        source = check.source(form)
        times = check.count(form, "RECURRING")
        within = check.within(form)
        if patterns is None or source is None:
            return None
        require = Require.ALL if form.kind == "multiple" else Require.ANY
        return LogDetection(
            patterns=patterns, source=source, require=require, times=times, within=within, span=span
        )

    def sentence(self) -> str:
        where, within = wording.of_source(self.source), words.within(self.within)
        if self.require is Require.ALL:
            shown = ", ".join(wording.shown(pattern) for pattern in self.patterns)
            return f"all of these have been seen in {where}{within}: {shown}"
        text = f"a line of {where} {words.one_of([wording.of_pattern(each) for each in self.patterns])}"
        return text + (f", {self.times} times{within}" if self.times > 1 or within else "")

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        return wording.of_window(self.within)

    def reads(self) -> Reads:
        return Reads(self.source, self.patterns)

    def one_line(self) -> Reads | None:
        """Return the patterns if one occurrence of one pattern raises the exception; else None."""
        alone = self.times == 1 and (self.require is Require.ANY or len(self.patterns) == 1)
        return self.reads() if alone else None

    def repeats(self) -> tuple[int, float | None]:
        return self.times, self.within

    def needs_all(self) -> bool:
        return self.require is Require.ALL and len(self.patterns) > 1 and self.times == 1

    def starved(self, taken: frozenset[Pattern]) -> bool:
        needed = any if self.require is Require.ALL and len(self.patterns) > 1 else all
        return needed(pattern in taken for pattern in self.patterns)

    def captured(self) -> list[frozenset[str]]:
        sets = [frozenset(pattern.captures) for pattern in self.patterns]
        return sets if self.require is Require.ANY else [frozenset().union(*sets)]

    def detector(self, exception: str, node: str) -> Window:
        return Window(exception, node, self)


class Window(Detector[LogDetection]):
    """Detector of patterns: the lines seen for one detection and not used up."""

    def __init__(self, exception: str, node: str, detection: LogDetection) -> None:
        super().__init__(exception, node, detection)
        self._patterns = tuple(dict.fromkeys(detection.patterns))
        # Times of the first line of each occurrence.
        self._starts: deque[float] = deque(maxlen=detection.times)
        self._evidence: deque[Evidence] = deque(maxlen=max(EVIDENCE_KEPT, len(self._patterns)))
        # For *all of*: newest line of each pattern, by the pattern's number.
        self._partial: dict[int, Evidence] = {}
        self._counted: dict[str, int] = {}  # for *any of*: offset of the last counted line, by file

    def start(self, observed: float) -> None:
        self._starts.clear()
        self._evidence.clear()
        self._partial.clear()
        self._counted.clear()

    def rotated(self, file: str) -> None:
        self._counted.pop(file, None)

    def line(self, sources: Sequence[Source], seen: Seen, now: float, observed: float) -> Found:
        """Judge a line; return the evidence when the line completes the detection, else nothing.

        Args:
            sources: the sources that the line's file is read for.
            seen: the pattern and the line.
            now: seconds since the epoch.
            observed: the observed time.
        """
        if self.detection.source not in sources or seen.pattern not in self._patterns:
            return ()
        if self.detection.require is Require.ALL:
            start = self._complete(seen, now)
            if start is None:
                return ()
        else:
            file, offset = seen.place
            if self._counted.get(file) == offset:  # a second pattern in a counted line
                return ()
            self._counted[file] = offset
            start = now
            self._evidence.append(seen.evidence)
        self._starts.append(start)
        within = self.detection.within
        while within is not None and self._starts and self._starts[0] < now - within:
            self._starts.popleft()
        if len(self._starts) < self.detection.times:
            return ()
        evidence = tuple(self._evidence)[-self.detection.times * self._per_occurrence() :]
        self._starts.clear()
        self._evidence.clear()
        return evidence

    def snapshot(self, observed: float) -> dict[str, Any]:
        return {
            "starts": list(self._starts),
            "evidence": msgspec.to_builtins(list(self._evidence)),
            "partial": msgspec.to_builtins([[index, line] for index, line in self._partial.items()]),
            "counted": dict(self._counted),
        }

    def restore(self, state: dict[str, Any], observed: float) -> None:
        self.start(observed)
        self._starts.extend(state["starts"])
        self._evidence.extend(msgspec.convert(state["evidence"], list[Evidence]))
        self._partial = dict(msgspec.convert(state["partial"], list[tuple[int, Evidence]]))
        self._counted = dict(state["counted"])

    def _per_occurrence(self) -> int:
        return len(self._patterns) if self.detection.require is Require.ALL else 1

    def _complete(self, seen: Seen, now: float) -> float | None:
        """Note a pattern of *all of*; once no pattern is missing, return the time of the first line."""
        self._partial[self._patterns.index(seen.pattern)] = seen.evidence
        within = self.detection.within
        if within is not None:
            self._partial = {i: line for i, line in self._partial.items() if line.time >= now - within}
        if len(self._partial) < len(self._patterns):
            return None
        lines = sorted(self._partial.values(), key=lambda line: line.time)
        self._partial.clear()
        self._evidence.extend(lines)
        return lines[0].time
