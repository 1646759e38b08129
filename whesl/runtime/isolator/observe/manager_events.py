"""The resource manager's own events, and exceptions raised on the job.

Only an allocation that is a ``TellsEvents`` sends events. Listening begins in a thread, since the start may
take a moment, and is restarted when it breaks off; meanwhile the nodes' states are asked for as usual.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable

from whesl.managers.resource.port import Allocation, JobException, NodeEvent, TellsEvents
from whesl.model.errors import WheslError
from whesl.model.outcomes import JobRaiseOutcome
from whesl.runtime.isolator.core.events_and_commands import Event, JobExceptionSeen, RaiseJobException
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
LISTEN_AGAIN = 30.0
MOST_TRIES = 10
# Number of reads without any event after which listening is restarted: a descriptor that stays readable would
# keep the event loop from sleeping.
MOST_EMPTY = 100
# Seconds for which an attempt's failure waits for an exception that explains it: the launcher ends at the
# moment when the exception is raised, before the isolator hears of it.
EXPLANATION = 0.3
# Seconds for which the isolator's end waits for exceptions that are being raised.
LAST_RAISES = 2.0


class ManagerEvents:
    """Listens to the resource manager, and raises exceptions on the job.

    Args:
        allocation: the resource manager inside the job.
        asker: the thread that asks the resource manager; no call here waits for an answer.
        feed: takes the core's events.
        hear: takes node events of the resource manager.
        listen: whether events matter to this task; listening costs a process.
    """

    def __init__(
        self,
        allocation: Allocation,
        asker: Worker,
        feed: Callable[[Event], None],
        hear: Callable[[NodeEvent], None],
        *,
        listen: bool = True,
    ) -> None:
        self._giver = allocation if isinstance(allocation, TellsEvents) else None
        self._asker = asker
        self._feed = feed
        self._hear = hear
        self._descriptor: int | None = None
        self._readable = select.poll()
        self._tries = 0
        self._listen_at: float | None = None
        self._empty = 0
        self._raising = 0
        self._attempt = 0
        self._explained_by = 0.0
        if self._giver is not None and listen:
            self._listen()

    def fileno(self) -> int | None:
        """Return the descriptor to poll for reading, None while there is no listening."""
        return self._descriptor

    def next_deadline(self, now: float) -> float | None:
        """Return when ``poll`` has to be called at the latest, monotonic seconds."""
        times = [self._listen_at] if self._listen_at is not None else []
        if now < self._explained_by:
            times.append(self._explained_by)
        return min(times, default=None)

    def poll(self, now: float) -> None:
        """Take the resource manager's events, and feed them to the core."""
        if self._listen_at is not None and now >= self._listen_at:
            self._listen_at = None
            self._listen()
        if self._giver is None or self._descriptor is None or not self._readable.poll(0):
            return
        try:
            told = self._giver.events()
        except WheslError as error:
            self._break_off(now, str(error))
            return
        self._empty = 0 if told else self._empty + 1
        if self._empty > MOST_EMPTY:
            self._break_off(now, "nothing comes of its news")
            return
        for item in told:
            if isinstance(item, NodeEvent):
                self._hear(item)
            else:
                self._feed(_seen(item))

    def may_tell_more(self, attempt: int, now: float) -> bool:
        """Whether an attempt's failure has to wait, for a limited time, for an exception that explains it.

        Args:
            attempt: the attempt that failed.
            now: monotonic seconds.
        """
        if self._descriptor is None:
            return False
        if self._attempt != attempt:
            self._attempt, self._explained_by = attempt, now + EXPLANATION
        return now < self._explained_by

    # Listening -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        self._tries += 1
        self._empty = 0
        self._asker.submit(self._begin, self._begun)

    def _begin(self) -> int | str:
        assert self._giver is not None
        try:
            return self._giver.watch()
        except WheslError as error:
            return str(error)

    def _begun(self, result: int | str) -> None:
        if isinstance(result, str):
            self._later(time.monotonic(), result)
            return
        self._descriptor = result
        self._readable.register(result, select.POLLIN)

    def _break_off(self, now: float, reason: str) -> None:
        if self._descriptor is not None:
            self._readable.unregister(self._descriptor)
            self._descriptor = None
        self._later(now, reason)

    def _later(self, now: float, reason: str) -> None:
        if self._tries >= MOST_TRIES:
            LOG.warning("the resource manager's news are not heard any more: %s; it is asked instead", reason)
            return
        LOG.warning("the resource manager's news are not heard: %s; trying again", reason)
        self._listen_at = now + LISTEN_AGAIN

    # Raising exceptions --------------------------------------------------------------------------------

    def raise_on_job(self, command: RaiseJobException) -> None:
        """Raise an exception on the job, in the asker's thread; JobRaised follows."""
        giver = self._giver

        def raised(outcome: JobRaiseOutcome, reason: str = "") -> records.JobRaised:
            return records.JobRaised(ordinal=command.ordinal, outcome=outcome, reason=reason)

        if giver is None:
            self._feed(raised(JobRaiseOutcome.NONE, "this resource manager has no exceptions on jobs"))
            return
        self._raising += 1

        def call() -> records.JobRaised:
            try:
                what = (command.exception_type, command.severity, command.note)
                if giver.raise_exception(*what, once=command.again):
                    return raised(JobRaiseOutcome.RAISED)
            except WheslError as error:
                return raised(JobRaiseOutcome.FAILED, str(error))
            return raised(JobRaiseOutcome.NONE, "there is no job of the resource manager here")

        def then(event: records.JobRaised) -> None:
            self._raising -= 1
            self._feed(event)

        self._asker.submit(call, then)

    def finish(self) -> None:
        """Wait for a short while for exceptions that are being raised on the job."""
        deadline = time.monotonic() + LAST_RAISES
        waiting = select.poll()
        waiting.register(self._asker.fileno(), select.POLLIN)
        while self._raising and (left := deadline - time.monotonic()) > 0:
            waiting.poll(left * 1000)
            for call in self._asker.results():
                call()


def matter(setup: Setup) -> bool:
    """Whether events matter to a task: it has several nodes, or a rule that waits for a job exception."""
    if len(setup.nodes) > 1:
        return True
    return any(
        detection.hears_manager for exception in setup.exceptions() for detection in exception.detections
    )


def _seen(item: JobException) -> JobExceptionSeen:
    return JobExceptionSeen(
        job_id=item.job_id,
        exception_type=item.type,
        severity=item.severity,
        note=item.note,
        time=item.time,
        nodes=item.nodes,
        attempt=item.attempt,
    )
