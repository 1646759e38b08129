"""The start of a job's agents after the job's first step, or when they are needed.

Agents are one step of the job. Slurm numbers steps as they begin, and scripts name their first one
(``$SLURM_JOB_ID.0``).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Generic, TypeVar

from whesl.managers.resource.port import Allocation, LocatesSteps, StepHolder
from whesl.model.errors import WheslError
from whesl.runtime.wire.blocking_call_worker import Worker

LOG = logging.getLogger(__name__)
# Seconds between two looks for the job's first step: the first interval, and the longest.
FIRST_LOOK = 0.25
LONGEST = 2.0

A = TypeVar("A")


class LateStart(Generic[A]):
    """Agents that are started at most once. ``present`` are the started ones.

    Args:
        allocation: the job; only Slurm's (``StepHolder``) has numbered steps.
        asker: the thread that asks the resource manager.
        start: starts the agents; raises WheslError or OSError.
        wanted: whether the job has a node for an agent.
    """

    def __init__(
        self, allocation: Allocation, asker: Worker, start: Callable[[], A], *, wanted: bool = True
    ) -> None:
        self._allocation, self._asker, self._start, self._wanted = allocation, asker, start, wanted
        self.present: A | None = None
        self.failed = False
        self.due = math.inf  # when to look for a step, monotonic seconds
        self._wait = FIRST_LOOK

    def begin(self) -> None:
        """Start the agents, unless that was tried before."""
        self.due = math.inf
        if not self._wanted or self.present is not None or self.failed:
            return
        try:
            self.present = self._start()
        except (WheslError, OSError) as error:
            LOG.warning("no agents: %s; loss of a node is known only from the resource manager", error)
            self.failed = True

    def after_first_step(self) -> None:
        """Start the agents once the job has a step; at once where steps have no numbers."""
        if self._wanted and isinstance(self._allocation, StepHolder):
            self.due = 0.0
        else:
            self.begin()

    def poll(self, now: float) -> None:
        """Look for the job's first step when a look is due."""
        if now < self.due:
            return
        self.due = math.inf

        def then(seen: bool) -> None:
            if seen:
                self.begin()
            elif self.present is None and not self.failed:
                self.due, self._wait = now + self._wait, min(self._wait * 2, LONGEST)

        self._asker.submit(self._seen, then)

    def _seen(self) -> bool:
        """Whether the job has a step, or its steps cannot be observed."""
        try:
            return not isinstance(self._allocation, LocatesSteps) or bool(self._allocation.step_places())
        except WheslError as error:
            LOG.debug("the job's steps could not be observed: %s", error)
            return True
