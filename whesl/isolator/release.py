"""Giving lost nodes back when a task is over.

A job that has ended stays COMPLETING until the scheduler has declared each of its nodes ended or down, which
for a dead node takes minutes, and as long as that everything that waits for the job waits too. A job that
gave the dead node back is over at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from whesl.rjms.port import Allocation

LOG = logging.getLogger(__name__)
# By how much the exit status may come later, seconds.
LIMIT = 2.0


class Release:
    """Lost nodes on their way back to the scheduler, in a thread: a scheduler that is silent holds up nobody.

    Args:
        allocation: the resource manager's inside face.
        nodes: lost for sure; nothing is done without any.
    """

    def __init__(self, allocation: Allocation, nodes: Sequence[str]) -> None:
        self._allocation = allocation
        self._nodes = tuple(nodes)
        self._deadline = time.monotonic() + LIMIT
        self._thread = threading.Thread(target=self._run, name="release", daemon=True)
        if self._nodes:
            self._thread.start()

    def wait(self) -> None:
        """Return when it is done, or when the limit has come."""
        if self._nodes:
            self._thread.join(max(self._deadline - time.monotonic(), 0.0))
            if self._thread.is_alive():
                LOG.warning("giving back %s takes too long: left to the scheduler", ", ".join(self._nodes))

    def _run(self) -> None:
        for node in self._nodes:
            if time.monotonic() >= self._deadline:
                return
            given = self._allocation.release(node)
            LOG.info("lost node %s: %s", node, "given back" if given else "stays with the job")
