"""The order of ranks without Flux: the policy's own, what is unknown, and predictions that change."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.placement.site.flux.tables import publish
from whesl.placement.policies.reliable import choose, risks
from whesl.placement.site.flux.prediction_source import Source, read
from whesl.placement.site.flux.rank_selection import Advice
from whesl.placement.site.flux.table_predictor import Published
from whesl.placement.site.publish.risk_table import NodeRisk, Table
from whesl.prediction.failures.given_accuracy_predictors import Given

HOSTS = {0: "n01", 1: "n02", 2: "n03", 3: "n04"}


@settings(max_examples=examples(60), deadline=None)
@given(
    chances=st.lists(st.floats(0, 1), min_size=2, max_size=12),
    size=st.integers(1, 12),
    duration=st.floats(1, 1e6),
)
def test_whole_arrays_give_the_policy_s_own_choice(chances: list[float], size: int, duration: float) -> None:
    nodes = np.arange(len(chances))
    predictor = Given("given", len(chances), nodes, np.full(len(chances), 500.0), chances)
    size = min(size, len(chances))
    hazard, key = risks(predictor.compiled(), nodes, 0.0, duration, 0.0)
    first = np.sort(np.argsort(key, kind="mergesort")[:size])
    choice = choose(predictor, nodes, size, 0.0, duration, np.inf)
    assert first.tolist() == choice.nodes.tolist()
    assert 1.0 - np.exp(-hazard[first].sum()) == pytest.approx(choice.probability)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 0.999), min_size=3, max_size=3).map(sorted), min_size=1, max_size=8),
    st.floats(0, 3000),
)
def test_a_table_answers_what_it_says_and_from_later_what_is_left_of_it(
    rows: list[list[float]], later: float
) -> None:
    nodes = tuple(NodeRisk(node=f"n{i}", probability=tuple(row)) for i, row in enumerate(rows))
    table = Table(
        written=1e9,
        valid_until=2e9,
        horizons=(600.0, 3600.0, 7200.0),
        nodes=nodes,
        source="x",
        thresholds=(0.5,) * 3,
    )
    predictor = Published(table)
    every = np.arange(len(rows))
    for column, horizon in enumerate(table.horizons):
        said = predictor.probability(every, np.asarray(1e9), np.asarray(horizon))
        assert said == pytest.approx([row[column] for row in rows], abs=1e-6)
    # Surviving until later and then to the horizon is surviving to the horizon.
    first = predictor.probability(every, np.asarray(1e9), np.asarray(later))
    rest = predictor.probability(every, np.asarray(1e9 + later), np.asarray(7200.0 - later))
    assert (1 - first) * (1 - rest) == pytest.approx([1 - row[2] for row in rows], abs=1e-6)


def advice(chances: list[float], names: tuple[str, ...] = ("n01", "n02", "n03", "n04")) -> Advice:
    nodes = np.arange(len(chances))
    return Advice(Given("given", len(chances), nodes, np.full(len(chances), 500.0), chances), names, HOSTS)


def test_a_host_that_is_not_known_counts_as_the_median_and_is_named() -> None:
    found = advice([0.9, 0.1, 0.5], ("n01", "n02", "n03"))
    assert found.unknown == ("n04",)
    assert found.risks(1000.0, 0.0).key[3] == pytest.approx(found.risks(1000.0, 0.0).key[2])


def test_a_host_is_known_by_its_short_name_too() -> None:
    hosts = {0: "n01.cluster.example", 1: "n02"}
    assert Advice(Given("g", 1, [0], [5.0]), ("n01",), hosts).unknown == ("n02",)


def test_how_long_a_job_runs() -> None:
    found = advice([0.1] * 4)
    assert found.length(60.0, 0.0, 1000.0) == 60.0
    assert found.length(0.0, 0.0, 1000.0) == 86400.0
    assert found.length(0.0, 1500.0, 1000.0) == 500.0
    assert found.length(60.0, 900.0, 1000.0) == 0.0


def test_risks_are_asked_for_again_after_a_moment_and_not_before() -> None:
    found = advice([0.9, 0.1, 0.5, 0.2])
    first = found.risks(600.0, 0.0)
    assert found.risks(600.4, 0.9) is first
    assert found.risks(600.0, 5.9) is first
    assert found.risks(600.0, 6.1) is not first
    short = found.risks(20.0, 0.0)
    assert found.risks(20.0, 0.9) is short
    assert found.risks(20.0, 1.1) is not short
    # A clock that was set back does not keep old answers for ever.
    assert found.risks(600.0, -500.0) is not first


def test_a_job_waits_where_that_costs_less_than_it_saves() -> None:
    found = advice([0.9, 0.1, 0.8, 0.7])
    # 450 node-seconds are lost in the mean on n01, 50 on n02, 400 on n03.
    assert found.waits([0], [0, 2], 100.0, [1], 1000.0, 0.0)
    assert not found.waits([0], [0, 2], 100.0, [2], 1000.0, 0.0)
    assert not found.waits([0], [0, 2], 450.0, [1], 1000.0, 0.0)
    assert not found.waits([1], [1, 2], 100.0, [0], 1000.0, 0.0)
    # Of two ranks one is better then, and both wait for it.
    assert found.waits([0, 3], [0, 3], 10.0, [1], 1000.0, 0.0)
    assert not Advice(None, (), HOSTS).waits([0], [0], 10.0, [1], 1000.0, 0.0)


def test_a_reason_names_few_nodes_and_is_short() -> None:
    hosts = {rank: f"node-with-a-long-name-{rank:04d}" for rank in range(200)}
    names = tuple(hosts.values())
    found = Advice(Given("given", 200, np.arange(100), np.full(100, 500.0)), names, hosts)
    text = found.reason(range(100, 200), range(100), 3600.0, 0.0, acts=True)
    assert text.startswith("avoids node-with-a-long-name-0000, ")
    assert "and 96 more: fails within 1.0 h with probability 0 instead of 1" in text
    assert len(text) <= 400


def test_without_predictions_all_ranks_are_alike() -> None:
    found = Advice(None, (), HOSTS)
    assert set(found.risks(60.0, 0.0).key.tolist()) == {0.0}
    # Nothing is preferred: Flux's own order stays.
    assert list(found.risks(60.0, 0.0).order([3, 0, 2])) == [0, 1, 2]
    assert found.reason([0], [0], 60.0, 0.0, acts=True) == "nothing is predicted: Flux's own order"


def test_a_file_is_read_again_when_it_changes_and_an_expired_table_counts_no_more(tmp_path: Path) -> None:
    path = publish(tmp_path / "table.json", {"n01": 0.5}, valid_for=100.0)
    now = time.time()
    source = Source(path, lambda: now)
    assert source.refresh()
    assert list(source.names) == ["n01"]
    assert not source.refresh()
    publish(path, {"n01": 0.5, "n02": 0.1}, valid_for=100.0)
    assert source.refresh()
    assert list(source.names) == ["n01", "n02"]
    path.write_text("torn")
    assert source.refresh()
    assert source.predictor is not None
    assert source.problem
    now += 200
    assert source.refresh()
    assert source.predictor is None
    publish(path, {"n03": 0.5}, valid_for=1000.0)
    assert source.refresh()
    assert source.problem == ""
    assert list(source.names) == ["n03"]


def test_a_fitted_model_is_read_with_its_nodes_names(tmp_path: Path) -> None:
    from whesl.placement.site.history.model import About, SiteModel, save
    from whesl.prediction.failures.failure_history import merged
    from whesl.prediction.failures.survival import fit

    rows = [(node, 1000.0 * step + node, 1000.0 * step + 100) for node in (0, 1) for step in range(1, 9)]
    from dataclasses import replace

    history = replace(merged(3, 0.0, 1e5, rows), names=("a", "b", "c"))
    about = About(learned=0.0, begin=0.0, finish=1e5, failures=len(rows))
    save(SiteModel(fit(history), history.names, about), tmp_path / "model.npz")
    predictor, names = read(tmp_path / "model.npz")
    assert names == ("a", "b", "c")
    assert predictor.nodes == 3
