"""Forbids the resource manager to requeue a job by itself, once WHESL can requeue the job."""

from __future__ import annotations

import logging
import threading

from whesl.managers.resource.port import Allocation, ForbidsRequeue
from whesl.model.errors import WheslError

LOG = logging.getLogger(__name__)


def take_over(allocation: Allocation) -> None:
    """Tell the resource manager, in a background thread, not to requeue the job by itself.

    When the call fails, the resource manager may still requeue the job after the loss of its script's node:
    under the same id, and only after this run has ended.

    Args:
        allocation: the job's allocation.
    """
    if isinstance(allocation, ForbidsRequeue):
        threading.Thread(target=_forbid, args=(allocation,), name="take-over", daemon=True).start()


def _forbid(allocation: ForbidsRequeue) -> None:
    try:
        allocation.forbid_requeue()
    except WheslError as error:
        LOG.warning("the resource manager may still run the job again by itself: %s", error)
