"""Who is at risk: clearly worse than the machine's own mean within each horizon, and nobody among equals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.placement.site.history.test_learning import site
from tests.prediction.failures.histories import DAY
from whesl.lab.readers import failures
from whesl.placement.policies.exclude_list_choice import CLEARLY, thresholds
from whesl.placement.site.history import model_selection
from whesl.placement.site.history.site_history import SiteHistory
from whesl.placement.site.publish import plugin_file, risk_table
from whesl.placement.site.publish.core import node_changes
from whesl.placement.site.publish.core.node_changes import Observed, Settings, State
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.plugin_file import Request
from whesl.placement.site.publish.risk_table import HORIZONS, Table
from whesl.prediction.failures import failure_precursors, survival
from whesl.prediction.failures.compiled_predictor import Compiled, blank
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.predictor_base import ArrayPredictor

NOW = 1_700_000_000.0
LANL = Path(__file__).resolve().parents[4] / "shared/data/lanl/LA-UR-05-7318-failure-data-1996-2005.csv.xz"


class Rates(ArrayPredictor):
    """Nodes that fail so often a day each, whatever their past."""

    def __init__(self, daily: list[float], threshold: float) -> None:
        super().__init__("rates", len(daily), threshold)
        self.daily = daily

    def as_arrays(self) -> Compiled:
        return blank(self.nodes, self.threshold)._replace(
            ages=np.array([0.0, 1.0]),
            hazard=np.array([[0.0, 1.0 / DAY]]),
            anchor_offsets=np.arange(self.nodes + 1, dtype=np.int64),
            anchors=np.zeros(self.nodes),
            age=np.zeros(self.nodes),
            curve=np.zeros(self.nodes, dtype=np.int64),
            scale=np.array(self.daily),
        )

    def reason(self, node: int, start: float, duration: float, known: float, value: float) -> str:
        return "it fails so often"

    def observe(self, failures: History) -> Rates:
        return self


def table(predictor: ArrayPredictor, fitted: float = DAY) -> Table:
    names = tuple(f"n{at}" for at in range(predictor.nodes))
    return risk_table.make(predictor, names, NOW, valid_for=600.0, active=True, fitted=fitted)


def at_risk(made: Table) -> list[set[str]]:
    """Return the nodes at risk within each horizon."""
    return [
        {row.node for row in made.nodes if row.probability[at] >= made.thresholds[at]}
        for at in range(len(made.horizons))
    ]


def acted_on(made: Table) -> tuple[set[str], set[str]]:
    """Return the nodes whose weight, feature or state the service changes, and those jobs are kept off."""
    machine = [Node(name=row.node, flags=frozenset({"idle"}), partitions=("p",)) for row in made.nodes]
    changed = set()
    for within in HORIZONS:
        how = Settings(active=True, within=within, share=0.5)
        _, _, commands = node_changes.step(State(), Observed(tuple(machine), made), NOW, how)
        changed |= {one.node for one in commands if not isinstance(one, node_changes.Drain)}
    lookup = plugin_file.make(made, machine, share=0.5, default="p")
    excluded = set()
    for seconds in (None, *HORIZONS):
        excluded |= set(plugin_file.decide(lookup, Request(partitions=("p",), seconds=seconds)).nodes)
    return changed, excluded


rates = st.one_of(st.just(0.0), st.floats(1e-7, 40.0))


@settings(max_examples=examples(80), deadline=None)
@given(rate=rates, threshold=st.floats(0.0, 1.0), nodes=st.integers(1, 12), fitted=st.sampled_from(HORIZONS))
def test_nodes_that_are_alike_are_never_at_risk(
    rate: float, threshold: float, nodes: int, fitted: float
) -> None:
    # Within a week all 1,015 nodes of a machine were, by a threshold that was fitted for a day.
    made = table(Rates([rate] * nodes, threshold), fitted)
    assert acted_on(made) == (set(), set())


@settings(max_examples=examples(80), deadline=None)
@given(
    rate=st.floats(1e-4, 0.01),
    times=st.floats(3.0, 20.0),
    threshold=st.floats(0.0, 0.99),
    nodes=st.integers(20, 60),
)
def test_at_risk_are_the_same_nodes_within_each_horizon(
    rate: float, times: float, threshold: float, nodes: int
) -> None:
    bound = -math.log1p(-threshold) / (rate * times)
    assume(not 0.5 < bound < 1.5)  # means of probabilities are a little less than proportional to time
    made = table(Rates([rate * times] + [rate] * (nodes - 1), threshold))
    day = at_risk(made)[made.horizon(DAY)]
    expected = {"n0"} if -math.expm1(-rate * times) >= threshold else set()
    assert day == expected
    # Six decimals are published: what is below them is seen by nobody.
    seen = [one for one, row in zip(at_risk(made), made.thresholds, strict=True) if row > 1e-4]
    assert all(one == day for one in seen)
    assert acted_on(made) == ((day, day) if day else (set(), set()))


def test_a_factor_is_carried_to_other_horizons_and_bounded() -> None:
    found = thresholds(np.array([0.0, 0.01, 1.0]), 0.0199, 0.01)
    assert found[1] == pytest.approx(0.0199) and found[0] == 0.0199 and found[2] > 1.0
    assert thresholds(np.array([0.01]), 0.001, 0.01)[0] == pytest.approx(1 - 0.99**CLEARLY)
    assert thresholds(np.array([0.01]), 1.0, 0.01)[0] == 1.0
    assert thresholds(np.array([0.01]), 0.5, 0.0)[0] == pytest.approx(1 - 0.99**CLEARLY)


def test_where_the_base_rate_is_chosen_no_node_is_at_risk() -> None:
    # From a day on all of them were.
    history = site(nodes=30, days=300.0, bad=0, usual=100.0)
    found = SiteHistory(history, failure_precursors.signs([]), {}, [])
    made, choice = model_selection.learn(found, 1.0, asked=("base",))
    assert choice.name == "base"
    assert acted_on(risk_table.make(made.predictor, made.names, history.finish, valid_for=60.0)) == (
        set(),
        set(),
    )


@pytest.mark.skipif(not LANL.exists(), reason="the failure records of LANL are not at hand")
@pytest.mark.slow
def test_few_of_a_real_machines_nodes_are_at_risk_within_a_week() -> None:
    # 434 of the 1,024 nodes of LANL's system 18 were.
    history = failures.read(LANL, system="18").history
    history = replace(history, names=tuple(f"n{at}" for at in range(history.nodes)))
    predictor = survival.fit(history, ("weibull",), frailty=True).at_threshold(0.01)
    made = risk_table.make(predictor, history.names, history.finish, valid_for=60.0)
    day, week = (len(at_risk(made)[made.horizon(one)]) for one in (DAY, 7 * DAY))
    assert 0 < day <= 0.05 * history.nodes and week <= 2 * day, (day, week)
