"""Forbidding a resource manager to run a job again by itself, once WHESL can."""

from __future__ import annotations

import logging
import threading

from whesl.managers.resource.port import Allocation, ForbidsRequeue
from whesl.model.errors import WheslError

LOG = logging.getLogger(__name__)


def take_over(allocation: Allocation) -> None:
    """Tell the resource manager, in a thread, not to run the job again by itself; no answer is awaited.

    Where it cannot be told, it may run the job again when its script's node is lost: under the same id, and
    only after it has ended this run.

    Args:
        allocation: the resource manager's inside face.
    """
    if isinstance(allocation, ForbidsRequeue):
        threading.Thread(target=_forbid, args=(allocation,), name="take-over", daemon=True).start()


def _forbid(allocation: ForbidsRequeue) -> None:
    try:
        allocation.forbid_requeue()
    except WheslError as error:
        LOG.warning("the resource manager may still run the job again by itself: %s", error)
