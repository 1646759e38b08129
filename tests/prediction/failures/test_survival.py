"""Survival models: known parameters come back, and the choice among them is the right one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from whesl.lab.readers.failures import read
from whesl.model.errors import UsageError
from whesl.prediction.failures import failure_time_distributions, survival
from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.failures.failure_history import merged

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
real = pytest.mark.skipif(not (DATA / "lanl").is_dir(), reason="the traces are not beside the checkout")


@real
@pytest.mark.parametrize(("system", "shape", "scale"), [("8", 0.7111, 67.354), ("18", 0.8170, 6.6293)])
def test_lanl_systems_have_the_published_weibull(system: str, shape: float, scale: float) -> None:
    """Positive gaps between failures anywhere in the system, in hours; 67.375 is printed for system 8."""
    starts = read(DATA / "lanl" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz", system=system).starts
    fitted = failure_time_distributions.fit("weibull", np.diff(starts) / HOUR)
    assert fitted.parameters == pytest.approx((shape, scale), rel=1e-4)


def test_kaplan_meier_by_hand() -> None:
    """Five nodes: failures at 1, 3 and 3, two that were lost from sight at 2 and 5."""
    times, survived = failure_time_distributions.product_limit(
        np.array([1.0, 2.0, 3.0, 3.0, 5.0]), np.array([True, False, True, True, False])
    )
    assert times.tolist() == [1.0, 3.0]
    assert survived.tolist() == pytest.approx([0.8, 0.8 / 3])


@pytest.mark.parametrize(
    ("name", "draw", "parameters"),
    [
        ("exponential", lambda g, n: 50 * g.exponential(size=n), (50,)),
        ("weibull", lambda g, n: 100 * g.weibull(0.6, n), (0.6, 100)),
        ("weibull", lambda g, n: 100 * g.weibull(3.0, n), (3.0, 100)),
        ("log-normal", lambda g, n: np.exp(2 + 1.5 * g.standard_normal(n)), (2, 1.5)),
    ],
)
@pytest.mark.parametrize("censored", [False, True])
def test_parameters_come_back(name: str, draw: object, parameters: tuple[float, ...], censored: bool) -> None:
    generator = np.random.default_rng(4)
    times = draw(generator, 20000)  # type: ignore[operator]  # a lambda of the table above
    limit = generator.uniform(0, 2 * np.median(times), 20000) if censored else np.full(20000, np.inf)
    fitted = failure_time_distributions.fit(name, np.minimum(times, limit), times <= limit)
    assert fitted.parameters == pytest.approx(parameters, rel=0.05)


@pytest.mark.parametrize("name", failure_time_distributions.LAWS)
def test_a_hazard_is_the_slope_of_its_integral(name: str) -> None:
    lives = weibull_machine().lifetimes()
    law = failure_time_distributions.fit(name, lives.end - lives.begin, lives.failed)
    ages = np.array([1000.0, DAY * 1.01, 5.03 * DAY, 20.07 * DAY])
    slope = (law.cumulative(ages + 1) - law.cumulative(ages - 1)) / 2
    assert np.log(slope) == pytest.approx(law.log_hazard(ages), rel=1e-4)
    assert law.survival(np.array([0.0]))[0] == 1.0


@pytest.mark.parametrize(("shape", "expected"), [(0.5, {"weibull", "kaplan-meier"}), (1.0, {"exponential"})])
def test_the_choice_is_by_held_out_likelihood(shape: float, expected: set[str]) -> None:
    machine = weibull_machine(nodes=60, shape=shape)
    fitted = survival.fit(machine, ("exponential", "weibull", "kaplan-meier")).fitted
    best = max(fitted.held_out, key=fitted.held_out.__getitem__)
    assert fitted.laws[0].name == best
    near = {name for name, value in fitted.held_out.items() if value > fitted.held_out[best] - 0.01}
    assert near & expected


def test_answers_are_conditional_on_the_uptime() -> None:
    machine = merged(2, 0.0, 10 * DAY, [(0, 4 * DAY, 4 * DAY + HOUR), (1, 9 * DAY, 9 * DAY + HOUR)])
    model = survival.fit(machine, ("weibull",))
    shape, scale = model.fitted.laws[0].parameters
    when = 6 * DAY
    answers = model.probability(np.array([0, 1]), np.array([when]), np.array([DAY]))
    for answer, age in zip(answers, (when - 4 * DAY - HOUR, when), strict=True):
        exact = 1 - np.exp((age / scale) ** shape - ((age + DAY) / scale) ** shape)
        assert answer == pytest.approx(exact, rel=1e-3)
    # What comes after `known` is not used: by then node 0 has been up since the beginning.
    early = model.probability(np.array([0, 1]), np.array([when]), np.array([DAY]), np.array([3 * DAY]))
    assert early[0] == early[1] == answers[1]
    said = model.explain(0, when, DAY)
    assert said.probability == answers[0]
    assert said.evidence.startswith("node 0 has been up for 47.0 h and has failed once; under the Weibull")


def test_frailty_learns_which_nodes_are_worse() -> None:
    """One node in ten fails ten times as often: its probability is higher, and the likelihood says so."""
    worse = weibull_machine(nodes=3, shape=1.0, scale=5 * DAY, seed=1)
    rest = weibull_machine(nodes=27, shape=1.0, scale=50 * DAY, seed=2)
    rows = [(int(n), s, e) for n, s, e in zip(worse.node, worse.start, worse.end, strict=True)]
    rows += [(3 + int(n), s, e) for n, s, e in zip(rest.node, rest.start, rest.end, strict=True)]
    machine = merged(30, 0.0, 400 * DAY, rows)
    model = survival.fit(machine, ("exponential",), frailty=True)
    answers = model.probability(np.arange(30), np.array([400 * DAY]), np.array([DAY]))
    assert answers[:3] == pytest.approx(1 - np.exp(-1 / 5), rel=0.3)
    assert np.median(answers[3:]) == pytest.approx(1 - np.exp(-1 / 50), rel=0.4)
    at_first = model.probability(np.arange(30), np.array([0.0]), np.array([DAY]))
    assert len(np.unique(at_first)) == 1


def test_a_curve_for_each_node_and_for_each_type() -> None:
    machine = weibull_machine()
    assert len(survival.fit(machine, ("exponential",), by="node").fitted.laws) > 10
    with pytest.raises(UsageError, match="no types of nodes"):
        survival.fit(machine, by="kind")


def test_compiled_loops_and_arrays_answer_alike() -> None:
    machine = weibull_machine()
    model = survival.fit(machine, ("weibull",), by="node", frailty=True)
    generator = np.random.default_rng(0)
    node, start = generator.integers(0, machine.nodes, 300), generator.uniform(-DAY, 500 * DAY, 300)
    duration, known = generator.exponential(5 * DAY, 300), start - generator.exponential(DAY, 300)
    compiled = model.compiled()
    one = [
        probability(compiled, int(n), s, d, k)
        for n, s, d, k in zip(node, start, duration, known, strict=True)
    ]
    assert model.probability(node, start, duration, known) == pytest.approx(one, rel=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(
    times=st.lists(st.floats(1e-3, 1e8), min_size=2, max_size=30),
    seen=st.lists(st.booleans(), min_size=30, max_size=30),
    name=st.sampled_from(sorted(failure_time_distributions.LAWS)),
)
def test_any_times_give_a_distribution_or_a_reason(times: list[float], seen: list[bool], name: str) -> None:
    try:
        law = failure_time_distributions.fit(name, np.array(times), np.array(seen[: len(times)]))
    except UsageError as error:
        assert "too few" in str(error)
        return
    survived = law.survival(failure_time_distributions.AGES)
    assert ((survived >= 0) & (survived <= 1)).all()
    assert (np.diff(survived) <= 1e-12).all()


def test_a_machine_without_failures_has_an_answer() -> None:
    """A new site: half a failure in all the uptime that was seen, and nothing is certain."""
    model = survival.fit(merged(10, 0.0, 10 * DAY, []))
    answer = model.probability(np.array([3]), np.array([10 * DAY]), np.array([DAY]))[0]
    assert answer == pytest.approx(1 - np.exp(-0.5 / 100))
    with pytest.raises(UsageError, match="no node of the history was ever up"):
        survival.fit(merged(10, 0.0, 0.0, []))
