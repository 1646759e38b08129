"""The nodes of steps, asked before a node's loss is reported to a task that may use any node of its job.

The resource manager is asked only where other tasks run or ran in the job, by the allocation's account of
nodes, or where the task's command is a launcher, so that the nodes of its one step are all that it uses. A
script alone in its job may use other nodes in its next lines.
Events that come meanwhile wait behind the loss.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable

from whesl.managers.resource.port import Allocation, LocatesSteps
from whesl.model.errors import WheslError
from whesl.model.launcher_programs import LAUNCHERS
from whesl.runtime.isolator.core.events_and_commands import Event, JobExceptionSeen, NodeSeen, StepsSeen
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.nodes import node_claims
from whesl.runtime.isolator.task.taskdir import Job
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.wire.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
ANSWER_LIMIT = 10.0  # seconds for which a loss waits for an answer; resource managers are busy when nodes die
# Seconds between two looks while a node has no agent: the resource manager reports the loss of such a node
# first, and its books no longer show the lost steps by then.
LOOK_EVERY = 5.0


class StepPlaces:
    """The nodes of steps by the resource manager's books, asked in a thread of its own.

    Args:
        allocation: the job's allocation.
        job: the task.
        directory: the task's directory.
        feed: takes events.
    """

    def __init__(
        self, allocation: Allocation, job: Job, directory: str, feed: Callable[[Event], None]
    ) -> None:
        self._manager: LocatesSteps | None = None
        self._worker: Worker | None = None
        shares = job.setup.account and len(job.setup.nodes) > 1 and not job.setup.active
        if shares and isinstance(allocation, LocatesSteps):
            self._manager, self._worker = allocation, Worker()
        self._account, self._directory = job.setup.account, directory
        self._launcher = os.path.basename((*job.command, "")[0]) in LAUNCHERS  # noqa: PTH119 - text
        self._prefix = token_prefix(job.setup)
        self._feed = feed
        self._held: list[Event] = []
        self._answer_by = math.inf
        self._asking = False
        self._look_at = 0.0
        self.forget()

    def forget(self) -> None:
        """Forget the steps of the present attempt, which is being ended."""
        self._own = self._others = frozenset[str]()
        self._alone = False

    @property
    def sockets(self) -> tuple[int, ...]:
        """The descriptors to poll for reading."""
        return (self._worker.fileno(),) if self._worker is not None else ()

    @property
    def holds(self) -> bool:
        """Whether the loss of a node waits for an answer."""
        return bool(self._held)

    def next_deadline(self) -> float:
        """Return when ``poll`` has to be called at the latest, monotonic seconds."""
        return self._answer_by

    def tell(self, event: Event) -> None:
        """Feed an event; a node's loss, and an exception that names a node, wait for the manager's answer."""
        lost = isinstance(event, NodeSeen) and event.state.unusable
        lost = lost or (isinstance(event, JobExceptionSeen) and bool(event.nodes))
        if self._manager is None or not (self._held or lost):
            self._feed(event)
            return
        if not self._held:
            self._answer_by = time.monotonic() + ANSWER_LIMIT
            self._ask()
        self._held.append(event)

    def poll(self, now: float, *, unattended: bool) -> None:
        """Take the resource manager's answers.

        Args:
            now: monotonic seconds.
            unattended: whether some node has no agent, so that the manager is asked regularly.
        """
        if self._worker is None:
            return
        for call in self._worker.results():
            call()
        if now >= self._answer_by:
            self._release()
        if unattended and now >= self._look_at:
            self._ask()

    def close(self) -> None:
        """Make the thread end."""
        if self._worker is not None:
            self._worker.close()

    def _ask(self) -> None:
        if self._worker is not None and not self._asking:
            self._asking = True
            self._look_at = time.monotonic() + LOOK_EVERY
            self._worker.submit(self._look, self._take)

    def _look(self) -> tuple[set[str], set[str], bool]:
        """Return the nodes of the task's own steps, of other tasks' steps, and whether it runs alone."""
        own, others, running = set[str](), set[str](), True
        assert self._manager is not None
        try:
            known, running = node_claims.neighbours(self._account, self._directory)
            if known or self._launcher:
                places = self._manager.step_places()
                mine = {process.pid for process in attempt_processes.of_attempt(self._prefix)}
                for place in places:
                    ours = place.launcher in mine or place.token.startswith(self._prefix)
                    (own if ours else others).update(place.nodes)
        except (WheslError, OSError) as error:
            LOG.debug("where steps run could not be observed: %s", error)
        return own, others, not running

    def _take(self, found: tuple[set[str], set[str], bool]) -> None:
        self._asking = False
        self._own |= found[0]
        self._others |= found[1]
        self._alone = found[2]
        self._release()

    def _release(self) -> None:
        """Feed the known steps, and the events that have waited for them."""
        held, self._held, self._answer_by = self._held, [], math.inf
        # Neighbours without steps may be on any node, so nothing is known of the nodes of nobody.
        if held and self._own and (self._others or self._alone):
            self._feed(StepsSeen(own=tuple(sorted(self._own)), others=tuple(sorted(self._others))))
        for event in held:
            self._feed(event)
