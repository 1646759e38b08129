"""Failures that lines tell of, held back until their cause is known, where rules decide by it.

The limit WITHOUT PROGRESS ends a task whose error no restart mends. Other ranks' lines on a lost peer come
while the attempt runs, and say nothing of the error of the rank that failed first. A line on broken hardware
may name a rank and no node; the launcher tells the rank's node once that rank has ended. After a line on a
collective that timed out torchrun may start its workers anew, so that the output that follows is judged, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from whesl.model.evidence import Cause, CauseClass, Detected
from whesl.runtime.isolator.observe.observer import Observer

if TYPE_CHECKING:
    from whesl.runtime.diagnose.attempt_cause import AttemptCause

PLACED = 15.0  # seconds until the output is searched for the node of a fault: a rank may end slowly
STILL = 300.0  # seconds after a collective's time-out in which the launcher may start the ranks anew
LIMIT = 10.0  # seconds for which a failure is held back at most, from the search on
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
        self._hung: list[Detected] = []  # by a line on a collective that timed out
        self._begins = 0.0  # when the cause is searched for, monotonic seconds
        self._due = 0.0  # when that of ``_hung`` is searched for, monotonic seconds
        self._look: float | None = None  # time of the next look at the diagnosis, monotonic seconds
        self.cause: Cause | None = None  # the cause of the failure that the last ``judge`` returned

    @property
    def deadline(self) -> float | None:
        """Time of the next look, monotonic seconds."""
        return self._due if self._look is None and self._hung else self._look

    def judge(self, found: list[Detected], *, ended: bool, now: float) -> list[Detected]:
        """Return the detections to raise now, and keep the cause of the failure where it was diagnosed.

        Args:
            found: the new detections.
            ended: whether the attempt has ended, after which its whole output is diagnosed anyway.
            now: monotonic seconds.
        """
        self.cause = None
        hung, found = [*filter(_timed_out, found)], [each for each in found if not _timed_out(each)]
        if ended:
            self._hung = []
        elif hung and not self._hung:
            self._hung, self._due = hung, now + STILL
        elif self._hung and now >= self._due:
            found, self._hung = found + self._hung, []
        self._found += found
        if ended and all(map(_nowhere, self._found)):
            self.drop()  # the end's diagnosis tells the cause, and the node where it can be known
            return []
        if self._look is None:
            if ended or not any(self._weighed(e) or _nowhere(e) or _timed_out(e) for e in self._found):
                self._found = []
                return found
            self._begins = now + PLACED
        if any(self._weighed(each) or _timed_out(each) for each in found):
            self._begins = min(self._begins, now)
        if self._asked is None and not ended and now >= self._begins:
            from whesl.runtime.diagnose import attempt_cause  # here: only failures are diagnosed

            files = attempt_cause.written(self._observer.output_begins())
            self._asked = attempt_cause.AttemptCause(files, now)
        over = self._asked is not None and self._asked.over(now)
        if not (ended or over or now >= self._begins + LIMIT):
            self._look = now + _LOOK
            return []
        held, cause = self._found, self._asked.cause if self._asked is not None else None
        self.drop()
        self.cause = cause
        hangs = cause is not None and cause.cause is CauseClass.HANG
        return [_placed(each, cause) for each in held if hangs or not _timed_out(each)]

    def drop(self) -> None:
        """Forget what is held back: another attempt begins."""
        if self._asked is not None:
            self._asked.drop()
        self._found, self._hung, self._asked, self._look = [], [], None, None

    def _weighed(self, found: Detected) -> bool:
        by_line = bool(found.evidence) and found.evidence[-1].kind == "log"
        return by_line and found.exception in self._observer.weighed


def _by_cause(found: Detected) -> bool:
    return bool(found.evidence) and found.evidence[-1].kind == "cause"


def _timed_out(found: Detected) -> bool:
    """Whether a line tells of a collective that timed out."""
    return _by_cause(found) and found.evidence[-1].pattern == CauseClass.HANG.value


def _nowhere(found: Detected) -> bool:
    """Whether a cause was detected by a line that names no node."""
    return _by_cause(found) and not found.evidence[-1].captures.get("node")


def _placed(found: Detected, cause: Cause | None) -> Detected:
    """Return a detection with the node of the same cause, where the detection names none."""
    if cause is None or not cause.node or not _nowhere(found):
        return found
    last = found.evidence[-1]
    if last.pattern != cause.cause.value or last.captures.get("rank", str(cause.rank)) != str(cause.rank):
        return found
    last = msgspec.structs.replace(last, captures={**last.captures, "node": cause.node})
    return msgspec.structs.replace(found, evidence=(*found.evidence[:-1], last))
