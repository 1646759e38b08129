"""Suspension of the job by its resource manager, during which silence means no failure.

A resource manager stops one node after the other, and on the last node the others seem to fall silent. So the
manager is asked before a silence is judged, in a thread of its own, from half of the limit on; its answer is
awaited until at most ``ANSWER_LIMIT`` after the limit. The answer includes the length of earlier suspensions,
which explains hangs that are found soon after the job was resumed.
"""

from __future__ import annotations

import logging
import time

from whesl.managers.resource.port import Allocation, Suspendable, Suspended
from whesl.model.errors import WheslError
from whesl.runtime.wire.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
AGAIN = 1.0  # seconds between two questions
ANSWER_LIMIT = 3.0  # seconds for which a hang, or a silence beyond its limit, waits for the answer


class Suspension:
    """Asks the resource manager whether the job is suspended.

    Args:
        allocation: the job's allocation.
    """

    def __init__(self, allocation: Allocation) -> None:
        self._allocation = allocation if isinstance(allocation, Suspendable) else None
        self._worker = Worker() if self._allocation is not None else None
        self._asking = False
        self._ask_at = 0.0
        self.present = False
        self.seconds = 0.0  # the known length of earlier suspensions
        self.asked = 0.0  # when the last answered question was asked, monotonic seconds

    @property
    def sockets(self) -> tuple[int, ...]:
        """The descriptors to poll for reading."""
        return (self._worker.fileno(),) if self._worker is not None else ()

    @property
    def knowable(self) -> bool:
        """Whether the resource manager can tell whether the job is suspended."""
        return self._allocation is not None

    def ask(self, now: float) -> None:
        """Ask the resource manager, unless it was asked within the last ``AGAIN`` seconds."""
        if self._worker is None or self._asking or now < self._ask_at:
            return
        self._asking, self._ask_at = True, now + AGAIN
        self._worker.submit(self._look, lambda found: self._answered(found, now))

    def unanswered(self, since: float) -> bool:
        """Whether the resource manager has answered no question asked since ``since``."""
        return self.knowable and self.asked < since

    def poll(self, now: float) -> None:
        """Take answers; ask again while the job is suspended."""
        for call in self._worker.results() if self._worker is not None else ():
            call()
        if self.present:
            self.ask(now)

    def next_deadline(self) -> float | None:
        """Return when ``poll`` has to be called at the latest."""
        return self._ask_at if self.present and not self._asking else None

    def close(self) -> None:
        """Make the thread end."""
        if self._worker is not None:
            self._worker.close()

    def _look(self) -> Suspended | None:
        assert self._allocation is not None
        try:
            return self._allocation.suspended()
        except WheslError as error:
            LOG.debug("whether the job is suspended could not be observed: %s", error)
            return None

    def _answered(self, found: Suspended | None, asked: float) -> None:
        self._asking = False
        self._ask_at = time.monotonic() + AGAIN
        if found is not None:
            self.present, self.seconds, self.asked = found.present, found.seconds, asked


class HeldSilence:
    """Holds back the judgement of silent nodes for a limited time, until the job is known to run.

    Args:
        suspension: asks whether the job is suspended.
        limit: seconds of silence after which a node is lost.
    """

    def __init__(self, suspension: Suspension, limit: float) -> None:
        self._suspension = suspension
        self._limit = limit
        self._since: float | None = None

    def note(self, doubted: bool, now: float) -> None:
        """Note whether any node has been silent for half of the limit; if so, ask the resource manager.

        Args:
            doubted: whether any node has been silent for that long.
            now: monotonic seconds.
        """
        if not doubted:
            self._since = None
            return
        if self._since is None:
            self._since = now
        self._suspension.ask(now)

    def now(self, now: float) -> bool:
        """Whether the judgement of silence is held back now."""
        since = self._since
        bound = self._limit / 2 + ANSWER_LIMIT
        return since is not None and now < since + bound and self._suspension.unanswered(since)
