"""At a task's end, adds a line to the job's record and gives lost nodes back to the resource manager.

An ended job stays COMPLETING until the scheduler has declared each of its nodes ended or down. For a dead
node that takes minutes, in which everything that depends on the job waits. A job that gave its dead nodes
back is over at once. The line comes first: without slurmdbd, older Slurm releases accept no change to a job
that gave a node back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from whesl.managers.resource.port import Allocation, TakesRemarks
from whesl.model.errors import WheslError

LOG = logging.getLogger(__name__)
# Seconds by which the release may delay the task's exit status.
LIMIT = 2.0


class Release:
    """A thread that gives lost nodes back to the scheduler; a silent scheduler costs at most ``LIMIT``.

    Args:
        allocation: the job's allocation.
        nodes: the nodes that are surely lost.
        remark: the task's id and its line for the job's record; '' for no line.
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
        """Wait until the nodes are given back, at most until the limit."""
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
