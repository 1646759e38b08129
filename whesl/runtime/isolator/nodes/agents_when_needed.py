"""When the agents of a task's other nodes are started: as late as its rules allow.

Agents are one step of the job. Slurm numbers steps as they begin, and scripts name their first one
(``$SLURM_JOB_ID.0``).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import zmq

from whesl.language.spec import ResourceKind
from whesl.managers.resource.port import Allocation, LocatesSteps, StepHolder
from whesl.model.errors import WheslError
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.wire.blocking_call_worker import Worker

if TYPE_CHECKING:
    from whesl.runtime.isolator.nodes.agent_supervisor import Agents

LOG = logging.getLogger(__name__)
# Seconds between two looks for the job's first step: the first interval, and the longest.
FIRST_LOOK = 0.25
LONGEST = 2.0
# Nodes that may take the task over, or end its job; each of them asks the resource manager about this one.
SUCCESSORS = 3


class LateAgents:
    """Agents that are started at once, after the job's first step, or when an attempt is ended.

    Rules that act on nodes need agents at once. Other rules need them once the program may run on other
    nodes; without rules, no agent is needed before somebody else ends an attempt.

    Args:
        setup: the task.
        allocation: its allocation; only Slurm's holds numbered steps.
        asker: the thread that asks the resource manager.
        start: starts the agents; raises WheslError or OSError.
        listen: takes their sockets.
        link: the file by which agents of an earlier isolator are found.
    """

    def __init__(
        self,
        setup: Setup,
        allocation: Allocation,
        asker: Worker,
        start: Callable[[], Agents],
        listen: Callable[[Iterable[zmq.Socket[bytes] | int]], None],
        link: Path,
    ) -> None:
        self._allocation, self._asker = allocation, asker
        self._start, self._listen = start, listen
        self._there = any(node != setup.own_node for node in setup.nodes)
        self.present: Agents | None = None
        self.failed = False
        self.due = math.inf  # when to look for a step, monotonic seconds
        self._wait = FIRST_LOOK
        rules = setup.exceptions()
        of_nodes = any(one.of_nodes for rule in rules for one in rule.detections)
        of_nodes |= any(step.resource == ResourceKind.NODE for rule in rules for step in rule.steps)
        if setup.kept or of_nodes or link.exists() or not isinstance(allocation, StepHolder):
            self.begin()
        elif self._there and rules:
            self.due = 0.0

    def begin(self) -> None:
        """Start the agents, where there are other nodes and no agents yet."""
        if not self._there or self.present is not None or self.failed:
            return
        self.due = math.inf
        try:
            self.present = self._start()
        except (WheslError, OSError) as error:
            LOG.warning("no agents: %s; loss of a node is known only from the resource manager", error)
            self.failed = True
            return
        self._listen(self.present.sockets)

    def poll(self, now: float) -> None:
        """Look for the job's first step when a look is due."""
        if now < self.due:
            return
        self.due = math.inf

        def then(seen: bool) -> None:
            if seen:
                self.begin()
            elif self.present is None:
                self.due, self._wait = now + self._wait, min(self._wait * 2, LONGEST)

        self._asker.submit(self._seen, then)

    def _seen(self) -> bool:
        """Whether the job has a step, or its steps cannot be observed."""
        try:
            return not isinstance(self._allocation, LocatesSteps) or bool(self._allocation.step_places())
        except WheslError as error:
            LOG.debug("the job's steps could not be observed: %s", error)
            return True
