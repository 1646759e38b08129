"""The scheduling pass on a torus as a policy, for managers that cannot move running jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.model.errors import UsageError, WheslError
from whesl.placement.policies.port import Decisions
from whesl.placement.policies.torus.boxes import Torus, members
from whesl.placement.policies.torus.choice import RULES
from whesl.placement.policies.torus.finder import partitions
from whesl.placement.policies.torus.scheduling_pass import Settings, plan
from whesl.prediction.failures.given_accuracy import none

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.placement.policies.port import View
    from whesl.prediction.failures.port import Predictor


class TorusPolicy:
    """First come, first served on a torus, with backfilling; each job gets a contiguous partition.

    Args:
        geometry: the torus; node n of the machine is its node n.
        rule: one of ``whesl.placement.policies.torus.choice.RULES``.
        backfill: whether jobs may overtake the head.

    Raises:
        UsageError: there is no such rule.
    """

    def __init__(self, geometry: Torus, rule: str = "balancing", *, backfill: bool = True) -> None:
        if rule not in RULES:
            raise UsageError(f"no rule {rule!r} on a torus", hint=f"accepted are {', '.join(RULES)}")
        self.geometry = geometry
        self.name = f"torus-{rule}"
        self._settings = Settings(RULES[rule], backfill, -1)
        self._held: dict[tuple[int, ...], NDArray[np.int64]] = {}

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        """Return the jobs to start. Arguments as of ``Policy.decide``; None as predictor expects nothing.

        Raises:
            WheslError: the machine has other nodes than the torus, a job is larger than it, or one runs on
                nodes that are no partition.
        """
        nodes = self.geometry.nodes
        if len(view.nodes.free) != nodes:
            raise WheslError(f"the machine has {len(view.nodes.free)} nodes, and the torus {nodes}")
        if len(view.queue.size) and view.queue.size.max() > nodes:
            job = int(view.queue.job[int(np.argmax(view.queue.size))])
            raise WheslError(
                f"job {job} asks for {view.queue.size.max()} nodes: no partition of {nodes} suits it"
            )
        running = view.running
        boxes = [
            self._box(running.nodes[a:b])
            for a, b in zip(running.offsets[:-1], running.offsets[1:], strict=True)
        ]
        ends = running.end.astype(np.float64)
        down = np.flatnonzero(~view.nodes.up)
        boxes += [self._box(down[at : at + 1]) for at in range(len(down))]  # out of service: taken for good
        compiled = (none(nodes) if predictor is None else predictor).compiled()
        decided = plan(
            self.geometry,
            self._settings,
            compiled,
            now,
            False,
            np.array(boxes, dtype=np.int64).reshape(-1, 6),
            np.concatenate([ends, np.full(len(down), 1e300)]),
            self.geometry.fitting[view.queue.size],
            view.queue.estimate,
            view.queue.submit + view.queue.estimate,
        )
        chosen = [members(self.geometry, box) for box in decided.boxes[len(boxes) :]]
        return Decisions(
            view.queue.job[decided.position],
            np.cumsum([0, *map(len, chosen)]),
            np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64),
        )

    def _box(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the box that some nodes are."""
        key = tuple(sorted(nodes.tolist()))
        if key not in self._held:
            busy = np.ones(self.geometry.nodes, dtype=np.bool_)
            busy[list(key)] = False
            found = partitions(self.geometry, busy, len(key))
            if not len(found):
                raise WheslError(f"a job runs on nodes {key[:4]}... that are no partition of the torus")
            self._held[key] = found[0]
        return self._held[key]
