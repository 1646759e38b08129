"""Contract tests of placement policies, in a simulated machine of twelve nodes, some of which fail.

A test module makes a subclass of ``PolicyContract`` with a fixture ``policy``. At each decision the
simulation checks that each job starts once, on as many free nodes as it asks for.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from whesl.lab.simulators.cluster.python_event_loop import simulate
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.placement.policies.port import Decisions, Nodes, Policy, Queue, Running, View
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import exact

NODES, JOBS = 12, 150


class PolicyContract:
    """Tests that any placement policy has to pass."""

    @pytest.fixture
    def policy(self) -> Policy:
        """Return the policy under test."""
        raise NotImplementedError

    @pytest.fixture
    def work(self) -> Workload:
        """Return jobs of one to twelve nodes, more than the machine can run at once."""
        draw = np.random.default_rng(7)
        run = draw.integers(60, 7200, JOBS).astype(float)
        return Workload(
            job=np.arange(JOBS),
            submit=np.cumsum(draw.exponential(400, JOBS)),
            size=np.minimum(draw.geometric(0.3, JOBS), NODES),
            run=run,
            estimate=run * draw.integers(1, 4, JOBS),
            checkpoint=np.full(JOBS, np.inf),
        )

    @pytest.fixture
    def history(self) -> History:
        """Return failures of the nodes, each of which lasts ten minutes."""
        draw = np.random.default_rng(8)
        starts = np.sort(draw.uniform(0, 400 * JOBS, 30))
        return merged(NODES, 0.0, 1e6, [(int(draw.integers(NODES)), at, at + 600.0) for at in starts])

    def test_all_jobs_run(self, policy: Policy, work: Workload) -> None:
        attempts = simulate(work, NODES, policy)
        assert sorted(attempts.job.tolist()) == list(range(JOBS))
        assert (attempts.start >= work.submit[attempts.job]).all()
        self.check_apart(attempts)

    @pytest.mark.parametrize("predicted", [False, True])
    def test_all_jobs_run_although_nodes_fail(
        self, policy: Policy, work: Workload, history: History, predicted: bool
    ) -> None:
        """All jobs run with a perfect predictor of failures, and without a predictor."""
        predictor = exact(history) if predicted else None
        attempts = simulate(work, NODES, policy, history=history, predictor=predictor)
        assert set(attempts.job[~attempts.killed].tolist()) == set(range(JOBS))
        self.check_apart(attempts)

    def test_it_decides_alike_for_the_same(self, policy: Policy, work: Workload, history: History) -> None:
        """A policy keeps no state between two calls, so that equal inputs lead to equal decisions."""
        first, second = (simulate(work, NODES, policy, history=history) for _ in range(2))
        assert all(np.array_equal(getattr(first, name), getattr(second, name)) for name in first._fields)

    def test_nothing_starts_where_nothing_waits_or_is_free(self, policy: Policy) -> None:
        none, no_time = np.zeros(0, np.int64), np.zeros(0)
        idle = Running(none, no_time, no_time, np.zeros(1, np.int64), none)
        up, down = np.ones(3, np.bool_), np.zeros(3, np.bool_)
        job = Queue(np.array([4]), np.array([0.0]), np.array([2]), np.array([60.0]), np.array([np.inf]))
        nobody = Queue(none, no_time, none, no_time, no_time)
        for view in (View(Nodes(up, up), nobody, idle), View(Nodes(down, down), job, idle)):
            decisions = policy.decide(view, None, 10.0)
            assert isinstance(decisions, Decisions) and len(decisions.job) == 0
        decisions = policy.decide(View(Nodes(up, up), job, idle), None, 10.0)
        assert decisions.job.tolist() == [4]
        assert len(set(decisions.nodes.tolist())) == decisions.offsets[-1] == 2

    @staticmethod
    def check_apart(attempts: Attempts) -> None:
        """Check that no node holds two jobs at once."""
        for node in range(NODES):
            mine = [at for at in range(len(attempts.job)) if node in attempts.nodes(at)]
            order = sorted(mine, key=lambda at: attempts.start[at])
            assert all(attempts.end[a] <= attempts.start[b] for a, b in pairwise(order))
