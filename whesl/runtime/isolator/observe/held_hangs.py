"""Hangs held back until the resource manager has told whether the job was suspended."""

from __future__ import annotations

import math
from collections.abc import Callable

from whesl.model.evidence import STOPPED, Detected
from whesl.runtime.isolator.core.events_and_commands import CollectEvidence
from whesl.runtime.isolator.nodes.job_suspension import ANSWER_LIMIT, Suspension
from whesl.runtime.isolator.observe.observer import Observer

# Seconds added to each suspension: nodes resume one after the other, and its length is in whole seconds.
RESUMING = 3.0
# Seconds after which an srun that has found the job suspended asks again (Slurm 22.05: 60 to 69).
LAUNCHING = 70.0
_TIMED = frozenset({"hang", "silence", STOPPED, "progress"})  # kinds of evidence by timers


class HeldHangs:
    """Holds back detections of hangs until the program is known not to have been suspended.

    Args:
        suspension: asks whether the job is suspended.
        observer: the observer whose timers ran out.
        collect: looks for stopped ranks, and raises the detections that wait for one.
    """

    def __init__(
        self, suspension: Suspension, observer: Observer, collect: Callable[[CollectEvidence], None]
    ) -> None:
        self._collect = collect
        self._suspension = suspension
        self._observer = observer
        self._found: list[Detected] = []
        self._asked = 0.0  # time of the awaited question, monotonic seconds; 0 for none
        self._known = 0.0  # seconds of suspension already taken out of the timers
        self._stopped = 0.0  # seconds since then in which neither this process nor its timers ran
        self.deadline: float | None = None  # latest time of the answer, monotonic seconds

    def stopped(self, seconds: float, now: float) -> None:
        """Note that this process did not run, and ask whether the job was suspended.

        Args:
            seconds: how long this process did not run.
            now: monotonic seconds.
        """
        self._stopped += seconds
        if self._suspension.knowable:
            self._asked, self.deadline = now, now + ANSWER_LIMIT
            self._suspension.ask(now)

    def judge(self, found: list[Detected], attempt: int, *, ended: bool, now: float) -> list[Detected]:
        """Return the detections to raise now; detections of a running attempt's silence are held back.

        Args:
            found: the detections.
            attempt: the attempt's number.
            ended: whether the attempt has ended.
            now: monotonic seconds.
        """
        timed = [item for item in found if item.evidence and item.evidence[-1].kind in _TIMED]
        if timed and self._suspension.knowable and not ended:
            if self.deadline is None:
                self._asked, self.deadline = now, now + ANSWER_LIMIT
            self._found += timed
            found = [item for item in found if item not in timed]
        found = self._judged(ended=ended, now=now) + found
        waiting = [item for item in found if item.evidence and item.evidence[-1].kind == STOPPED]
        if waiting and not ended:
            self._collect(CollectEvidence(attempt=attempt, silent=tuple(waiting)))
            self._observer.suspended(math.inf, waiting, 0.0)  # another look after another silence
        return [item for item in found if item not in waiting]

    def _judged(self, *, ended: bool, now: float) -> list[Detected]:
        """Return the held-back detections to raise now; none while the answer may still come."""
        if self.deadline is None:
            return []
        answered = not self._suspension.unanswered(self._asked)
        if not (answered or ended or now >= self.deadline):
            self._suspension.ask(now)
            return []
        found, self._found, self.deadline = self._found, [], None
        seconds = self._suspended() if answered else None
        if seconds is None:
            return found
        # Timers that have run out even without the suspension raise the detection again.
        self._observer.suspended(seconds, found, LAUNCHING)
        return []

    def _suspended(self) -> float | None:
        """Return the seconds of suspension during which the timers ran; None if the job was not suspended."""
        more, self._known = self._suspension.seconds - self._known, self._suspension.seconds
        stopped, self._stopped = self._stopped, 0.0
        if self._suspension.present:
            return math.inf
        return max(more + RESUMING - stopped, 0.0) if more > 0 else None
