"""What a resource manager is told when a task is over: a line for the job's record, and its lost nodes.

A job that has ended stays COMPLETING until the scheduler has declared each of its nodes ended or down, which
for a dead node takes minutes, and as long as that everything that waits for the job waits too. A job that
gave the dead node back is over at once. The line comes first: without slurmdbd Slurm takes no change to a job
after a node was given back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from whesl.managers.resource.port import Allocation, TakesRemarks
from whesl.model.errors import WheslError

LOG = logging.getLogger(__name__)
# By how much the exit status may come later, seconds.
LIMIT = 2.0


class Release:
    """Lost nodes on their way back to the scheduler, in a thread: a scheduler that is silent holds up nobody.

    Args:
        allocation: the resource manager's inside face.
        nodes: lost for sure.
        remark: the task, and a line on it for the job's record; '' for none.
    """

    def __init__(
        self, allocation: Allocation, nodes: Sequence[str], remark: tuple[str, str] = ("", "")
    ) -> None:
        self._allocation = allocation
        self._nodes = tuple(nodes)
        self._remark = remark
        self._needed = bool(self._nodes or (remark[1] and isinstance(allocation, TakesRemarks)))
        self._deadline = time.monotonic() + LIMIT
        self._thread = threading.Thread(target=self._run, name="release", daemon=True)
        if self._needed:
            self._thread.start()

    def wait(self) -> None:
        """Return when it is done, or when the limit has come."""
        if self._needed:
            self._thread.join(max(self._deadline - time.monotonic(), 0.0))
            if self._thread.is_alive():
                left = f"; {', '.join(self._nodes)} stay with the job" if self._nodes else ""
                LOG.warning("the resource manager did not answer within %g s%s", LIMIT, left)

    def _run(self) -> None:
        task, text = self._remark
        if text and isinstance(self._allocation, TakesRemarks):
            try:
                self._allocation.remark(task, text)
            except WheslError as error:
                LOG.info("the job's record has no line on %s: %s", task, error)
        for node in self._nodes:
            if time.monotonic() >= self._deadline:
                return
            given = self._allocation.release(node)
            LOG.info("lost node %s: %s", node, "given back" if given else "stays with the job")
