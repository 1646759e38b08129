"""The audit finds each fault that is planted into a sound simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from whesl.lab.simulators.cluster.audit import audit
from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload
from whesl.prediction.failures.failure_history import History

# Two jobs on nodes 0-1 and 2; the second is killed at 50 s by node 2, down until 60 s, and keeps 40 s.
WORK = Workload(
    job=np.array([1, 2]),
    submit=np.array([0.0, 5.0]),
    size=np.array([2, 1]),
    run=np.array([100.0, 80.0]),
    estimate=np.array([100.0, 80.0]),
    checkpoint=np.array([np.inf, 20.0]),
)
SOUND: dict[str, Any] = {
    "job": np.array([0, 1, 1]),
    "start": np.array([0.0, 5.0, 60.0]),
    "end": np.array([100.0, 50.0, 100.0]),
    "killed": np.array([False, True, False]),
    "offsets": np.array([0, 1, 2, 3]),
    "first": np.array([0, 2, 2], dtype=np.int32),
    "length": np.array([2, 1, 1], dtype=np.int32),
}


def history() -> History:
    return History(
        nodes=4,
        begin=0.0,
        finish=200.0,
        node=np.array([2], dtype=np.int32),
        start=np.array([50.0]),
        end=np.array([60.0]),
        cause=np.array([-1], dtype=np.int32),
    )


def found(failed: History | None, **changed: Any) -> list[str]:
    return audit(WORK, 4, Attempts(**SOUND | changed), failed)


def test_a_sound_simulation_has_no_fault() -> None:
    assert found(history()) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"start": np.array([6.0, 5.0, 60.0])}, "attempt 1 starts before the one ahead of it"),
        ({"start": np.array([0.0, 4.0, 60.0])}, "job 1 starts before it is submitted"),
        ({"length": np.array([1, 1, 1], dtype=np.int32)}, "job 0 has nodes [0], and asks for 2"),
        ({"first": np.array([0, 1, 2], dtype=np.int32)}, "node 1 holds attempts 0 and 1 at 5.0"),
        ({"first": np.array([3, 2, 2], dtype=np.int32)}, "job 0 is on a node that there is not"),
        (
            {"end": np.array([100.0, 49.0, 100.0])},
            "attempt 1 is killed at 49.0, and no node of it fails then",
        ),
        ({"end": np.array([100.0, 51.0, 100.0])}, "attempt 1 outlives the failure of node 2 at 50.0"),
        (
            {"start": np.array([0.0, 5.0, 59.0]), "end": np.array([100.0, 50.0, 99.0])},
            "attempt 2 starts at 59.0 on node 2, which is down",
        ),
        ({"end": np.array([100.0, 50.0, 110.0])}, "job 1 ran 90.0 s in all, and needs 80.0"),
        ({"end": np.array([90.0, 50.0, 100.0])}, "job 0 ran 90.0 s in all, and needs 100.0"),
        ({"killed": np.array([False, False, False])}, "job 1 is started again, and was not killed"),
    ],
)
def test_a_planted_fault_is_found(changed: dict[str, Any], said: str) -> None:
    assert said in found(history(), **changed)


def test_a_job_that_runs_twice_at_a_time_is_found() -> None:
    both = found(history(), start=np.array([0.0, 5.0, 45.0]), first=np.array([0, 2, 3], dtype=np.int32))
    assert "job 1 is started while it runs" in both


def test_a_node_that_is_held_twice_by_one_attempt_is_found() -> None:
    wrong = found(
        history(),
        offsets=np.array([0, 2, 3, 4]),
        first=np.array([0, 0, 2, 2], dtype=np.int32),
        length=np.array([1, 1, 1, 1], dtype=np.int32),
    )
    assert "job 0 has nodes [0, 0], and asks for 2" in wrong


def test_a_kill_without_failures_is_found() -> None:
    assert found(None) == ["attempt 1 is killed at 50.0, and no node of it fails then"]
