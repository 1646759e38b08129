"""The policy EASY backfilling (``whesl.prediction.easy_backfilling``)."""

from __future__ import annotations

import numpy as np

from whesl.placement.policies.first_free import NONE, first_free
from whesl.placement.policies.port import Decisions, Policy, View
from whesl.prediction.easy_backfilling import may_overtake, reservation
from whesl.prediction.failures.port import Predictor


class Easy(Policy):
    """The policy EASY backfilling."""

    name = "easy"

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        queue = view.queue
        free = int(np.count_nonzero(view.nodes.free))
        fits = (queue.size <= free).nonzero()[0]
        if not len(fits):
            return NONE
        started: list[int] = []
        head = 0
        while head < len(queue.job) and queue.size[head] <= free:
            started.append(head)
            free -= int(queue.size[head])
            head += 1
        behind = fits[fits.searchsorted(head) :] if free else fits[:0]
        if len(behind):
            ends, offsets = view.running.end, view.running.offsets
            sizes = offsets[1:] - offsets[:-1]
            if head:
                ends = np.concatenate([ends, now + queue.estimate[:head]])
                sizes = np.concatenate([sizes, queue.size[:head]])
            order = ends.argsort(kind="stable")
            shadow, extra = reservation(ends[order], sizes[order], len(order), free, int(queue.size[head]))
            rows = zip(
                behind.tolist(), queue.size[behind].tolist(), queue.estimate[behind].tolist(), strict=True
            )
            for at, size, estimate in rows:
                if may_overtake(size, estimate, now, free, shadow, extra):
                    started.append(at)
                    free -= size
                    if now + estimate > shadow:
                        extra -= size
        return first_free(view, started)
