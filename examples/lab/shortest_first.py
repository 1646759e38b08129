"""A policy of one's own: shortest job first, on the nodes that are least likely to fail.

whesl lab replay --jobs jobs.txt --failures events.txt --policy shortest_first.py:ShortestFirst+survival
"""

from __future__ import annotations

import numpy as np

from whesl.api import lab


class ShortestFirst:
    """Starts waiting jobs by their estimates; one that does not fit stops those behind it."""

    name = "shortest-first"

    def decide(self, view: lab.View, predictor: lab.Predictor | None, now: float) -> lab.Decisions:
        """Return the jobs to start, and their nodes."""
        free, jobs, nodes = np.flatnonzero(view.nodes.free), [], []
        for place in np.argsort(view.queue.estimate, kind="stable"):
            size, estimate = int(view.queue.size[place]), view.queue.estimate[place]
            if size > len(free):
                break
            if predictor is not None:
                chance = predictor.probability(free, np.array(now), np.array(estimate))
                free = free[np.argsort(chance, kind="stable")]
            jobs.append(view.queue.job[place])
            nodes.append(free[:size])
            free = np.sort(free[size:])
        offsets = np.cumsum([0, *map(len, nodes)])
        return lab.Decisions(np.array(jobs, np.int64), offsets, np.concatenate([[], *nodes]).astype(np.int64))
