"""A policy of one's own beside EASY: it backfills the shortest jobs first.

python examples/lab/own_policy.py LOG.swf.xz PROCESSORS
"""

import sys
from pathlib import Path

import numpy as np

from whesl.lab.readers import swf
from whesl.lab.simulators.cluster import measures, python_event_loop, simulation_records
from whesl.placement.policies.easy import Easy
from whesl.placement.policies.first_free import first_free
from whesl.prediction.easy_backfilling import may_overtake, reservation


class ShortestFirst:
    """EASY, whose backfilling looks at the shortest estimates first."""

    name = "shortest-first"

    def decide(self, view, predictor, now):
        """Return the jobs to start."""
        queue, free = view.queue, int(view.nodes.free.sum())
        fits = np.cumsum(queue.size) <= free
        head = len(fits) if fits.all() else int(np.argmin(fits))
        started, free = list(range(head)), free - int(queue.size[:head].sum())
        if head < len(queue.job) and free:
            ends = np.concatenate([view.running.end, now + queue.estimate[:head]])
            sizes = np.concatenate([np.diff(view.running.offsets), queue.size[:head]])
            order = np.argsort(ends)
            shadow, extra = reservation(ends[order], sizes[order], len(order), free, int(queue.size[head]))
            for job in (head + 1 + np.argsort(queue.estimate[head + 1 :], kind="stable")).tolist():
                size, estimate = int(queue.size[job]), float(queue.estimate[job])
                if may_overtake(size, estimate, now, free, shadow, extra):
                    started.append(job)
                    free -= size
                    extra -= size if now + estimate > shadow else 0
        return first_free(view, started)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    processors = int(sys.argv[2])
    work, _ = simulation_records.workload(swf.read(Path(sys.argv[1])), processors)
    for policy in (Easy(), ShortestFirst()):
        attempts = python_event_loop.simulate(work, processors, policy)
        figures = measures.measures(work, attempts, measures.outcome(work, attempts), processors)
        print(policy.name, {name: round(figures[name], 1) for name in ("mean_wait", "mean_bounded_slowdown")})
