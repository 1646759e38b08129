"""The policy in plain Python starts the jobs that the compiled loop starts, at the same times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whesl.lab.simulators.cluster.policy_object_event_loop import simulate
from whesl.lab.simulators.cluster.simulation_records import Workload
from whesl.lab.simulators.torus.event_loop import Jobs, run
from whesl.model.errors import WheslError
from whesl.placement.policies.port import Nodes, Queue, Running, View
from whesl.placement.policies.torus.boxes import torus
from whesl.placement.policies.torus.choice import RULES
from whesl.placement.policies.torus.policy import TorusPolicy
from whesl.placement.policies.torus.scheduling_pass import Settings
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.given_accuracy import confidence

# Compiled for the first time, the loops take half a minute of a processor.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GEOMETRY = torus(2, 2, 4)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)  # those with a box
ROWS = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(SIZES), st.integers(1, 60)), min_size=1, max_size=20
)


@given(ROWS, st.sampled_from(["krevat", "balancing", "balancing-max", "tie-breaking"]))
@settings(max_examples=30, deadline=None)
def test_decisions_are_those_of_the_compiled_loop(rows: list[tuple[int, int, int]], rule: str) -> None:
    size = np.array([row[1] for row in rows], dtype=np.int64)
    submit = np.cumsum([row[0] for row in rows]).astype(np.float64)
    time = np.array([float(row[2]) for row in rows])
    node = np.array([3, 9], dtype=np.int32)
    when = np.array([30.0, 70.0])
    predictor = confidence(History(16, 0.0, 500.0, node, when, when, node * 0), 0.7)
    work = Workload(np.arange(len(rows)), submit, size, time, time, np.full(len(rows), np.inf))
    plain = simulate(work, 16, TorusPolicy(GEOMETRY, rule), predictor=predictor)
    compiled = run(
        GEOMETRY,
        Settings(RULES[rule], True, -1),
        predictor.compiled(),
        False,
        Jobs(submit, size, size, time),
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
        False,
    )
    begun = np.empty(len(rows))
    begun[plain.job] = plain.start
    assert begun.tolist() == compiled.start.tolist()


def view(sizes: list[int], running: list[int], nodes: int = 16) -> View:
    free = np.ones(nodes, dtype=np.bool_)
    free[running] = False
    many = len(sizes)
    return View(
        Nodes(np.ones(nodes, dtype=np.bool_), free),
        Queue(np.arange(many), np.zeros(many), np.array(sizes), np.ones(many), np.full(many, np.inf)),
        Running(np.array([7]), np.zeros(1), np.ones(1), np.array([0, len(running)]), np.array(running)),
    )


def test_what_does_not_suit_a_torus_is_said() -> None:
    policy = TorusPolicy(GEOMETRY, "krevat")
    with pytest.raises(WheslError, match="no partition of 16 suits it"):
        policy.decide(view([17], [0]), None, 0.0)
    with pytest.raises(WheslError, match="no partition of the torus"):
        policy.decide(view([1], [0, 5]), None, 0.0)
    with pytest.raises(WheslError, match="the machine has 8 nodes"):
        policy.decide(view([1], [0], 8), None, 0.0)
    with pytest.raises(WheslError, match="no rule"):
        TorusPolicy(GEOMETRY, "best")


def test_nodes_out_of_service_are_left_alone() -> None:
    seen = view([16, 8, 4], [0])
    up = np.ones(16, dtype=np.bool_)
    up[1] = False
    free = seen.nodes.free & up
    found = TorusPolicy(GEOMETRY, "krevat").decide(seen._replace(nodes=Nodes(up, free)), None, 0.0)
    assert not set(found.nodes.tolist()) & {0, 1}
