"""The states of the task's nodes by the resource manager's own reports, and by its answers."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection

from whesl.managers.resource.port import Allocation, NodeEvent, TellsReasons
from whesl.model.errors import WheslError
from whesl.model.states import NodeState
from whesl.runtime.wire.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
ASK_EVERY = 5.0
# Seconds between two questions to the resource manager while a node is suspected.
ASK_WHEN_LOST = 0.5
# Seconds for which an attempt's end waits for the resource manager's report on the nodes.
ANSWER_LIMIT = 3.0
# Seconds until the resource manager is asked again about an attempt's end, since the asking command may be
# killed with the job.
AGAIN = 0.3


class NodeStates:
    """The resource manager's reports on the nodes.

    Args:
        allocation: the allocation to ask about.
        asker: the thread that asks; an answer may take half a minute when the manager is busy, as when nodes
            die.
        nodes: the allocation's nodes.
        changed: takes a node, its new state, and the reason of the report.
        answered: called after each answer.
    """

    def __init__(
        self,
        allocation: Allocation,
        asker: Worker,
        nodes: Collection[str],
        changed: Callable[[str, NodeState, str], None],
        answered: Callable[[], None],
    ) -> None:
        self._allocation = allocation
        self._asker = asker
        self._nodes = nodes
        self._changed = changed
        self._then = answered
        self._states: dict[str, NodeState] = {}
        self._heard: set[str] = set()  # nodes reported by the resource manager since the last question
        self.asking = False
        # Monotonic seconds of the last question, and of the last answer.
        self._asked = self.answered = -math.inf
        self.due = time.monotonic() + ASK_EVERY
        self._asked_for = 0  # the attempt of the last question about an end
        self._answer_by = 0.0
        self._open = False  # whether the question about the attempt's end has no answer yet
        self._outdated = False  # whether the pending answer belongs to an older question

    def down(self, node: str) -> bool:
        """Whether the last report calls a node down, or released from the job."""
        return self._states.get(node, NodeState.UP).unusable

    def released(self, node: str) -> bool:
        """Whether the job has given a node back."""
        return self._states.get(node) is NodeState.RELEASED

    def poll(self, now: float, *, hurry: bool) -> None:
        """Ask the resource manager when a question is due.

        Args:
            now: monotonic seconds.
            hurry: whether to ask again soon.
        """
        if now >= (min(self.due, self._asked + ASK_WHEN_LOST) if hurry else self.due) and not self.asking:
            self._ask(now, hurry=hurry)

    def _ask(self, now: float, *, hurry: bool) -> None:
        self.asking = True
        self._asked = now
        self._heard.clear()
        self.due = now + (ASK_WHEN_LOST if hurry else ASK_EVERY)
        self._asker.submit(self._look, self._told)

    def _look(self) -> dict[str, NodeState] | None:
        try:
            return self._allocation.node_states()
        except WheslError as error:
            LOG.debug("node states could not be observed: %s", error)
            return None

    def _told(self, states: dict[str, NodeState] | None) -> None:
        self.asking = False
        self.answered = self.answered if states is None else time.monotonic()
        if self._open and (states is None or self._outdated):
            self.due = time.monotonic() + (AGAIN if states is None else 0.0)
        else:
            self._open = False
        self._outdated = False
        why = self._allocation.reasons() if isinstance(self._allocation, TellsReasons) else {}
        for node, state in (states or {}).items():
            # The answer may be older than a report on the node that came meanwhile.
            if node not in self._heard:
                self._take(node, state, ": ".join(filter(None, ("resource manager", why.get(node)))))
        self._then()

    def hear(self, event: NodeEvent) -> None:
        """Take a node event that the resource manager has sent by itself."""
        if event.node in self._nodes:
            self._heard.add(event.node)
            self._take(event.node, event.state, event.reason or "resource manager")
            self._then()

    def _take(self, node: str, state: NodeState, reason: str) -> None:
        before = self._states.get(node, NodeState.UP)
        if state is not NodeState.UNKNOWN and state is not before:
            self._states[node] = state
            self._changed(node, state, reason)

    def at_end(self, attempt: int, now: float, *, ours: bool) -> bool:
        """Ask once about an attempt's end; return whether this is the first call for the attempt.

        Args:
            attempt: the attempt's number.
            now: monotonic seconds.
            ours: whether the isolator has ended the attempt, so that the end needs no explanation and no
                question delays the next start.
        """
        if self._asked_for == attempt:
            return False
        self._asked_for, self._answer_by = attempt, now + ANSWER_LIMIT
        self._open = not ours
        self._outdated = self.asking
        if self._open and not self.asking:
            self._ask(now, hurry=False)
        return True

    def waits(self, now: float, *, also: bool = False) -> bool:
        """Whether an attempt's end still waits for an answer.

        Args:
            now: monotonic seconds.
            also: whether another report is awaited.
        """
        return (self._open or also) and now < self._answer_by
