"""Node selection: the free nodes of the lowest index, or of the least risk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whesl.placement.policies.port import Decisions, View

NONE = Decisions(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))


def first_free(view: View, started: Sequence[int]) -> Decisions:
    """Give each job the free nodes of the lowest index.

    Args:
        view: the machine and its jobs.
        started: indices in the queue of the jobs to start, in order.
    """
    if not len(started):
        return NONE
    places = np.array(started, dtype=np.int64)
    offsets = np.zeros(len(places) + 1, dtype=np.int64)
    view.queue.size[places].cumsum(out=offsets[1:])
    return Decisions(view.queue.job[places], offsets, view.nodes.free.nonzero()[0][: offsets[-1]])
