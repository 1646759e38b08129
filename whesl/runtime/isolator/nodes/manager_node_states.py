"""The states of the task's nodes, as the resource manager reports them by itself and when asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from whesl.managers.resource.port import Allocation, NodeEvent
from whesl.model.errors import WheslError
from whesl.model.states import NodeState
from whesl.runtime.isolator.nodes.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
ASK_EVERY = 5.0
# Seconds between two questions while a node is suspected: the resource manager may know more any moment.
ASK_WHEN_LOST = 0.5
# How long an attempt's end waits for the resource manager's report on the nodes, seconds.
ANSWER_LIMIT = 3.0
# Seconds until it is asked again about an attempt's end: a command in a job that is being ended is ended,
# too.
AGAIN = 0.3


class NodeStates:
    """What the resource manager reports of the nodes.

    Args:
        allocation: is asked.
        asker: the thread that asks; an answer may take half a minute when the manager is busy, as when nodes
            die.
        nodes: the allocation's.
        changed: takes a node, its new state, and the source of the report.
        answered: is called after each answer.
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
        self._answered = answered
        self._states: dict[str, NodeState] = {}
        self._heard: set[str] = set()  # nodes of which the manager has told since it was last asked
        self.asking = False
        self.due = time.monotonic() + ASK_EVERY
        self._asked_for = 0  # the attempt whose end was asked about
        self._answer_by = 0.0
        self._open = False  # whether the question about the attempt's end has no answer yet
        self._outdated = False  # whether the answer that is under way belongs to an older question

    def down(self, node: str) -> bool:
        """Whether a node is down by the last report, or no longer belongs to the job."""
        return self._states.get(node, NodeState.UP).unusable

    def released(self, node: str) -> bool:
        """Whether the job has given a node back."""
        return self._states.get(node) is NodeState.RELEASED

    def poll(self, now: float, *, hurry: bool) -> None:
        """Ask the resource manager when it is time; ``hurry``: ask again soon."""
        if now >= self.due and not self.asking:
            self._ask(now, hurry=hurry)

    def _ask(self, now: float, *, hurry: bool) -> None:
        self.asking = True
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
        if self._open and (states is None or self._outdated):
            self.due = time.monotonic() + (AGAIN if states is None else 0.0)
        else:
            self._open = False
        self._outdated = False
        for node, state in (states or {}).items():
            # An answer may be older than a report that came meanwhile.
            if node not in self._heard:
                self._take(node, state, "resource manager")
        self._answered()

    def hear(self, event: NodeEvent) -> None:
        """Take a node event that the resource manager sent unasked."""
        if event.node in self._nodes:
            self._heard.add(event.node)
            self._take(event.node, event.state, event.reason or "resource manager")
            self._answered()

    def _take(self, node: str, state: NodeState, reason: str) -> None:
        before = self._states.get(node, NodeState.UP)
        if state is not NodeState.UNKNOWN and state is not before:
            self._states[node] = state
            self._changed(node, state, reason)

    def at_end(self, attempt: int, now: float, *, ours: bool) -> bool:
        """Ask once about an attempt's end; return whether that is the first time it is asked about.

        ``ours``: the isolator has ended it. That needs no explanation, and the next start waits for the same
        processor.
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
        """Whether an answer about an attempt's end may still come in time; ``also``: what else is awaited."""
        return (self._open or also) and now < self._answer_by
