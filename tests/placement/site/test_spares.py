"""Spares by predicted life: the table's answers without a numerical library, and the order that follows."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.placement.site.flux.tables import publish
from whesl.model.allocation_nodes import NodeSet
from whesl.model.errors import CouldNotObserveError
from whesl.model.workflow import BadNode, Task
from whesl.placement.site import spare_failure_risk
from whesl.placement.site.flux.table_predictor import Published
from whesl.placement.site.publish.risk_table import NodeRisk, Table
from whesl.runtime.operations import spare_choice
from whesl.runtime.operations.recovery_plan import Context


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted),
    st.floats(0, 20_000),
    st.floats(1, 20_000),
)
def test_it_is_the_answer_of_the_predictor_that_the_table_makes(
    row: list[float], later: float, left: float
) -> None:
    risk = NodeRisk(node="n1", probability=tuple(row))
    table = Table(
        written=1e9,
        valid_until=2e9,
        horizons=(600.0, 3600.0, 7200.0),
        nodes=(risk,),
        source="x",
        thresholds=(0.5,) * 3,
    )
    said = Published(table).probability(np.array([0]), np.array([1e9 + later]), np.array([left]))
    assert spare_failure_risk.chance(table, risk, 1e9 + later, left) == pytest.approx(
        float(said[0]), abs=1e-6
    )


def test_nodes_are_known_by_short_names_too_and_a_stranger_counts_as_the_median(tmp_path: Path) -> None:
    path = publish(tmp_path / "t.json", {"n1": 0.9, "n2": 0.1, "n3": 0.3})
    found = spare_failure_risk.risks(path, ("n1.site.example", "n2", "n3", "x"), time.time(), 3600.0)
    assert sorted(found, key=found.__getitem__) == ["n2", "n3", "x", "n1.site.example"]
    assert found["x"] == found["n3"]
    assert spare_failure_risk.risks(path, ("x", "y"), time.time(), 3600.0) == {}


def test_an_expired_table_says_nothing_and_a_broken_one_is_an_error(tmp_path: Path) -> None:
    path = publish(tmp_path / "t.json", {"n1": 0.9}, valid_for=-1)
    assert spare_failure_risk.risks(path, ("n1",), time.time(), 60.0) == {}
    path.write_text("{")
    with pytest.raises(CouldNotObserveError):
        spare_failure_risk.risks(path, ("n1",), time.time(), 60.0)


def test_risk_orders_spares_behind_what_is_known_of_them() -> None:
    bad = BadNode(node="n2", reason="lost", task="t", time=0.0, expires=100.0)
    context = Context(
        task=Task(id="w/t", step="t"),
        nodes=NodeSet(active=("n1",), spares=("n2", "n3", "n4", "n5")),
        bad_nodes=(bad,),
        silent=("n5",),
        predicted={"n2": 0.0, "n3": 0.5, "n4": 0.1, "n5": 0.0},
    )
    assert spare_choice.in_order(context, 10.0) == ("n4", "n3", "n2", "n5")
