"""Hangs that are found while, or soon after, the job was suspended: its resource manager is asked first."""

from __future__ import annotations

import math

from whesl.model.evidence import Detected
from whesl.runtime.isolator.nodes.job_suspension import ANSWER_LIMIT, Suspension
from whesl.runtime.isolator.observe.observer import Observer

# Seconds added to each suspension: nodes go on one after the other, and its length is known in whole seconds.
RESUMING = 3.0
# Seconds after which an srun asks again when it has found the job suspended (Slurm 22.05: 60 to 69).
LAUNCHING = 70.0
_TIMED = frozenset({"hang", "silence", "progress"})  # kinds of evidence: that nothing was printed


class HeldHangs:
    """Hangs that are not raised before it is known that the program was not suspended meanwhile.

    Args:
        suspension: who is asked.
        observer: whose timers ran out.
    """

    def __init__(self, suspension: Suspension, observer: Observer) -> None:
        self._suspension = suspension
        self._observer = observer
        self._found: list[Detected] = []
        self._asked = 0.0  # since when an answer is awaited, monotonic seconds; 0 for none
        self._known = 0.0  # seconds of suspension that the timers have been told of
        self._stopped = 0.0  # seconds since then in which this process, and so every timer, did not run
        self.deadline: float | None = None  # monotonic seconds

    def stopped(self, seconds: float, now: float) -> None:
        """Note that this process did not run, and ask whether the job was suspended."""
        self._stopped += seconds
        if self._suspension.knowable:
            self._asked, self.deadline = now, now + ANSWER_LIMIT
            self._suspension.ask(now)

    def judge(self, found: list[Detected], *, ended: bool, now: float) -> list[Detected]:
        """Return the detections to raise now; those of a running attempt's silence are held back.

        Args:
            found: what the detectors raised.
            ended: whether the attempt has ended.
            now: monotonic seconds.
        """
        timed = [item for item in found if item.evidence and item.evidence[-1].kind in _TIMED]
        if timed and self._suspension.knowable and not ended:
            if self.deadline is None:
                self._asked, self.deadline = now, now + ANSWER_LIMIT
            self._found += timed
            found = [item for item in found if item not in timed]
        return self._judged(ended=ended, now=now) + found

    def _judged(self, *, ended: bool, now: float) -> list[Detected]:
        """Return the held-back detections that are raised now; none while the answer may still come."""
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
        # Timers that have run out all the same raise the detection again.
        self._observer.suspended(seconds, found, LAUNCHING)
        return []

    def _suspended(self) -> float | None:
        """Return for how many seconds the timers ran on although the job was suspended; None: it was not."""
        more, self._known = self._suspension.seconds - self._known, self._suspension.seconds
        stopped, self._stopped = self._stopped, 0.0
        if self._suspension.present:
            return math.inf
        return max(more + RESUMING - stopped, 0.0) if more > 0 else None
