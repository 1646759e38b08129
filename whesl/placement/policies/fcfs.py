"""First come, first served: jobs start in their order, and no job starts before the job ahead of it."""

from __future__ import annotations

import numpy as np

from whesl.placement.policies.first_free import first_free
from whesl.placement.policies.port import Decisions, Policy, View
from whesl.prediction.failures.port import Predictor


class Fcfs(Policy):
    """The policy first come, first served."""

    name = "fcfs"

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        fits = np.cumsum(view.queue.size) <= np.count_nonzero(view.nodes.free)
        return first_free(view, range(int(np.argmin(fits)) if not fits.all() else len(fits)))
