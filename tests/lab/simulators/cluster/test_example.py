"""The example of a policy of one's own runs, and its simulation passes the audit."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

from whesl.lab.simulators.cluster import python_event_loop
from whesl.lab.simulators.cluster.audit import audit
from whesl.lab.simulators.cluster.simulation_records import Workload

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "lab" / "own_policy.py"


def test_shortest_first() -> None:
    policy = runpy.run_path(str(EXAMPLE))["ShortestFirst"]()
    rng = np.random.default_rng(1)
    run = rng.integers(1, 500, 300).astype(float)
    submit = np.sort(rng.integers(0, 9000, 300)).astype(float)
    work = Workload(np.arange(300), submit, rng.integers(1, 17, 300), run, run, np.full(300, np.inf))
    attempts = python_event_loop.simulate(work, 16, policy)
    assert sorted(attempts.job.tolist()) == list(range(300))
    assert audit(work, 16, attempts) == []
