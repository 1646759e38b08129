"""``RECURRING n WITHIN s`` and ``MULTIPLE [...]``: lines make occurrences, occurrences an exception.

An occurrence is one line with any of the patterns, or, for *all of*, the last missing one of the patterns.
``times`` occurrences within ``within`` seconds, first line to last, complete the detection, and use up
all lines that took part: a handler is not called again for what it has dealt with (custodian#390).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import msgspec

from whesl.esl.spec import LogDetection, Pattern, Require
from whesl.model.evidence import Evidence

EVIDENCE_KEPT = 8  # lines shown for one exception: the newest, however many it took


@dataclass(frozen=True)
class Seen:
    """A pattern in a line; ``place`` (file, offset of the line) tells lines apart."""

    pattern: Pattern
    place: tuple[str, int]
    evidence: Evidence


class Window:
    """The lines seen for one log detection and not used up."""

    def __init__(self, exception: str, detection: LogDetection) -> None:
        self.exception = exception
        self.detection = detection
        self._patterns = tuple(dict.fromkeys(detection.patterns))
        self._starts: deque[float] = deque(maxlen=detection.times)  # first line of each occurrence
        self._evidence: deque[Evidence] = deque(maxlen=max(EVIDENCE_KEPT, len(self._patterns)))
        self._partial: dict[int, Evidence] = {}  # for *all of*: newest line of each pattern
        self._counted: dict[str, int] = {}  # for *any of*: the last line counted, by file

    def clear(self) -> None:
        """Forget every line."""
        self._starts.clear()
        self._evidence.clear()
        self._partial.clear()
        self._counted.clear()

    def add(self, seen: Seen, now: float) -> tuple[Evidence, ...]:
        """Take a line; return the evidence when it completes the detection, else nothing."""
        if self.detection.require is Require.ALL:
            start = self._complete(seen, now)
            if start is None:
                return ()
        else:
            file, offset = seen.place
            if self._counted.get(file) == offset:  # a second pattern in a line that was counted
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

    def snapshot(self) -> dict[str, Any]:
        """Return the state as JSON-ready values."""
        return {
            "starts": list(self._starts),
            "evidence": msgspec.to_builtins(list(self._evidence)),
            "partial": msgspec.to_builtins([[index, line] for index, line in self._partial.items()]),
            "counted": dict(self._counted),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a snapshot."""
        self.clear()
        self._starts.extend(state["starts"])
        self._evidence.extend(msgspec.convert(state["evidence"], list[Evidence]))
        self._partial = dict(msgspec.convert(state["partial"], list[tuple[int, Evidence]]))
        self._counted = dict(state["counted"])

    def _per_occurrence(self) -> int:
        return len(self._patterns) if self.detection.require is Require.ALL else 1

    def _complete(self, seen: Seen, now: float) -> float | None:
        """Note one of *all of*; return when the set began if it is the last one missing."""
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
