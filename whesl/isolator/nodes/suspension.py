"""Whether the job is suspended: its resource manager stopped it, and nothing in it is to blame.

A resource manager stops one node after the other, and what it stops last sees the others fall silent. So it
is asked before a silence is judged, in a thread of its own, as early as half of the limit: the answer is
there in time, or does not count.
"""

from __future__ import annotations

import logging
import time

from whesl.isolator.core.events import Found
from whesl.isolator.observe.observer import Outlook
from whesl.isolator.worker import Worker
from whesl.model.errors import WheslError
from whesl.rjms.port import Allocation, Suspendable

LOG = logging.getLogger(__name__)
AGAIN = 1.0  # seconds between two questions
ANSWER_LIMIT = 3.0  # seconds for which a hang waits for the answer
_TIMED = frozenset({"hang", "silence", "progress"})  # kinds of evidence: that nothing was printed


class Suspension:
    """What the resource manager says of that.

    Args:
        allocation: the job.
    """

    def __init__(self, allocation: Allocation) -> None:
        self._allocation = allocation if isinstance(allocation, Suspendable) else None
        self._worker = Worker() if self._allocation is not None else None
        self._asking = False
        self._ask_at = 0.0
        self.present = False
        self.asked = 0.0  # when the question was put that was answered last, monotonic seconds

    @property
    def sockets(self) -> tuple[int, ...]:
        """What has to be polled for reading."""
        return (self._worker.fileno(),) if self._worker is not None else ()

    @property
    def knowable(self) -> bool:
        """Whether anybody can be asked."""
        return self._allocation is not None

    def ask(self, now: float) -> None:
        """Ask, unless that was done a moment ago."""
        if self._worker is None or self._asking or now < self._ask_at:
            return
        self._asking, self._ask_at = True, now + AGAIN
        self._worker.submit(self._look, lambda found: self._answered(found, now))

    def poll(self, now: float) -> None:
        """Take answers in; a job that is suspended is asked about until it is not."""
        for call in self._worker.results() if self._worker is not None else ():
            call()
        if self.present:
            self.ask(now)

    def next_deadline(self) -> float | None:
        """Return when ``poll`` has to be called at the latest."""
        return self._ask_at if self.present and not self._asking else None

    def close(self) -> None:
        """Let the thread end."""
        if self._worker is not None:
            self._worker.close()

    def _look(self) -> bool | None:
        assert self._allocation is not None
        try:
            return self._allocation.suspended()
        except WheslError as error:
            LOG.debug("whether the job is suspended could not be observed: %s", error)
            return None

    def _answered(self, found: bool | None, asked: float) -> None:
        self._asking = False
        self._ask_at = time.monotonic() + AGAIN
        if found is not None:
            self.present, self.asked = found, asked


class Doubted:
    """Hangs that are not raised before it is known that the job is not suspended.

    Args:
        suspension: who is asked.
        outlook: whose timers ran out.
    """

    def __init__(self, suspension: Suspension, outlook: Outlook) -> None:
        self._suspension = suspension
        self._outlook = outlook
        self._found: list[Found] = []
        self._asked = 0.0
        self.deadline: float | None = None  # monotonic seconds

    def keep(self, found: list[Found], *, ended: bool, now: float) -> list[Found]:
        """Hold back what says only that a running attempt printed nothing; return the rest.

        Args:
            found: what the detectors raised.
            ended: the attempt has.
            now: monotonic seconds.
        """
        timed = [item for item in found if item.evidence and item.evidence[-1].kind in _TIMED]
        if ended or not timed or not self._suspension.knowable:
            return found
        if self.deadline is None:
            self._asked, self.deadline = now, now + ANSWER_LIMIT
        self._found += timed
        self._suspension.ask(now)
        return [item for item in found if item not in timed]

    def judged(self, *, ended: bool, now: float) -> list[Found]:
        """Return what was held back and is to be raised; nothing while the answer may still come."""
        if self.deadline is None:
            return []
        answered = self._suspension.asked >= self._asked
        if not (answered or ended or now >= self.deadline):
            self._suspension.ask(now)
            return []
        found, self._found, self.deadline = self._found, [], None
        if answered and self._suspension.present:
            self._outlook.take_back(found)
            return []
        return found
