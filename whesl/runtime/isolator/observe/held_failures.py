"""Failures that lines tell of, held back until their cause is known, where rules decide by it.

The limit WITHOUT PROGRESS ends a task whose error no restart mends. Other ranks' lines on a lost peer come
while the attempt runs, and say nothing of the error of the rank that failed first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whesl.model.evidence import Cause, Detected
from whesl.runtime.isolator.observe.observer import Observer

if TYPE_CHECKING:
    from whesl.runtime.diagnose.attempt_cause import AttemptCause

LIMIT = 10.0  # seconds for which a failure is held back at most
_LOOK = 0.1  # seconds between two looks at the diagnosis


class HeldFailures:
    """Holds back detections by lines, in a running attempt, until the failure's cause is known.

    Args:
        observer: the observer of the attempt's output.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._found: list[Detected] = []
        self._asked: AttemptCause | None = None
        self._until = 0.0
        self.deadline: float | None = None  # time of the next look, monotonic seconds
        self.cause: Cause | None = None  # the cause of the failure that the last ``judge`` returned

    def judge(self, found: list[Detected], *, ended: bool, now: float) -> list[Detected]:
        """Return the detections to raise now, and keep the cause of the failure where it was diagnosed.

        Args:
            found: the new detections.
            ended: whether the attempt has ended, after which its whole output is diagnosed anyway.
            now: monotonic seconds.
        """
        self.cause = None
        if self._asked is None and (ended or not any(map(self._weighed, found))):
            return found
        if self._asked is None:
            from whesl.runtime.diagnose import attempt_cause  # here: only failures are diagnosed

            files = attempt_cause.written(self._observer.output_begins())
            self._asked, self._until = attempt_cause.AttemptCause(files, now), now + LIMIT
        self._found += found
        if not (ended or self._asked.over(now) or now >= self._until):
            self.deadline = now + _LOOK
            return []
        held, cause = self._found, self._asked.cause
        self.drop()
        self.cause = cause
        return held

    def drop(self) -> None:
        """Forget what is held back: another attempt begins."""
        if self._asked is not None:
            self._asked.drop()
        self._found, self._asked, self.deadline = [], None, None

    def _weighed(self, found: Detected) -> bool:
        by_line = bool(found.evidence) and found.evidence[-1].kind == "log"
        return by_line and found.exception in self._observer.weighed
