"""Filtered failure prediction: periods, the document's example, and what filtering gains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from whesl.lab.readers.failures import periods as windows
from whesl.model.errors import UsageError
from whesl.prediction.failures import (
    failure_time_distributions,
    periodic_and_survival_prediction,
    survival,
)
from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.periodic_failures import by_chance, cycles, detect

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
real = pytest.mark.skipif(not (DATA / "mira").is_dir(), reason="the traces are not beside the checkout")


def daily_machine(nodes: int = 10, days: int = 60, seed: int = 1) -> History:
    """Return machines that restart each day within a few minutes, and fail at random besides."""
    generator = np.random.default_rng(seed)
    failures = []
    for node in range(nodes):
        hour = generator.uniform(0, 24)
        for day in range(days):
            at = day * DAY + hour * HOUR + generator.normal(0, 60)
            if at > 0 and generator.random() > 0.05:
                failures.append((node, at, at + 300))
        at = 0.0
        while (at := at + 6 * DAY * generator.weibull(0.7) + HOUR) < days * DAY:
            failures.append((node, at, at + HOUR))
    return merged(nodes, 0.0, days * DAY, failures)


def test_the_example_of_24_hours() -> None:
    """A reboot every 24 h, the last at t: 10 h from t + 5 on are accepted at 0.8, from t + 15 on refused."""
    times = [(0, day * DAY, day * DAY + 60) for day in range(1, 31)]
    others = [(1, HOUR * turn**3, HOUR * turn**3 + 60) for turn in range(1, 9)]
    machine = merged(2, 0.0, 30 * DAY + HOUR, times + others)
    model = periodic_and_survival_prediction.fit(machine, ("exponential",), threshold=0.2)
    t = 30 * DAY
    reliability = 1 - model.probability(
        np.array([0]), t + np.array([5.0, 15.0]) * HOUR, np.array([10 * HOUR])
    )
    assert reliability[0] > 0.8
    assert reliability[1] == 0.0
    accepted = ~model.will_fail(np.array([0]), t + np.array([5.0, 15.0]) * HOUR, np.array([10 * HOUR]))
    assert accepted.tolist() == [True, False]
    # Equation (1): alpha times what is fitted to the rest.
    rest = survival.fit(merged(2, 0.0, 30 * DAY + HOUR, others), ("exponential",))
    assert (
        reliability[0]
        == 1 - rest.probability(np.array([0]), np.array([t + 5 * HOUR]), np.array([10 * HOUR]))[0]
    )
    said = model.explain(0, t + 15 * HOUR, 10 * HOUR)
    assert said.evidence == (
        "node 0 goes down every 24.0 h, the last time was 15.0 h before; the next is due in 9.0 h, within "
        "the 10.0 h that were asked for"
    )
    assert "exponential distribution" in model.explain(0, t + 5 * HOUR, 10 * HOUR).evidence


def test_the_threshold_by_hand() -> None:
    """N 100 gaps in 100 days, period 1 day, tolerance 0.1 day: p = 0.2 / e."""
    p = 0.2 / np.e
    assert by_chance(100, 100 * DAY, DAY, 0.1 * DAY) == pytest.approx(
        (3.84 * 100 * p * (1 - p)) ** 0.5 + 100 * p
    )


def test_periods_of_mixed_events() -> None:
    """A daily and an eight-hourly sequence in noise; the mean of the gaps is near the period."""
    generator = np.random.default_rng(3)
    times = np.sort(
        np.concatenate(
            [np.arange(100) * DAY + generator.normal(0, 60, 100), generator.uniform(0, 100 * DAY, 60)]
        )
    )
    (found, *_) = cycles(times, 900.0)
    assert found.period == pytest.approx(DAY, rel=1e-3)
    assert found.share > 0.9
    assert len(found.events) >= 95
    best = detect(times, 900.0)[0]
    assert best.period == pytest.approx(DAY, abs=900)
    assert best.gaps > best.needed


@pytest.mark.parametrize("seed", range(8))
def test_no_cycle_in_what_has_none(seed: int) -> None:
    """Poisson events and Weibull bursts of the like number."""
    generator = np.random.default_rng(seed)
    assert cycles(np.sort(generator.uniform(0, 400 * DAY, 800)), 900.0) == []
    assert cycles(np.cumsum(DAY * generator.weibull(0.6, 800)), 900.0) == []
    assert not periodic_and_survival_prediction.fit(weibull_machine(seed=seed)).found


def test_a_sequence_that_is_too_short_or_a_bad_tolerance() -> None:
    assert detect(np.array([]), 900.0) == []
    assert cycles(np.array([1.0, 2.0]), 900.0) == []
    with pytest.raises(UsageError, match="above 0"):
        detect(np.arange(10.0), 0.0)


def test_detection_grows_linearly() -> None:
    """Twice the events take about twice the steps: the bins that are looked at are at most those filled."""
    generator = np.random.default_rng(1)
    for count in (2000, 20000):
        times = np.arange(count) * DAY + generator.normal(0, 60, count)
        (found,) = cycles(times, 900.0)
        assert len(found.events) == count


@real
def test_maintenance_windows_of_mira() -> None:
    """150 of 161 windows on a Monday; gaps of 14 days 96 times, of 7 days 34 times."""
    mira = windows(DATA / "mira" / "mira-maintenance-periods.csv")
    found = detect(mira.start, 7200.0)
    assert [round(one.period / DAY, 1) for one in found[:2]] == [14.0, 7.0]
    assert found[0].gaps >= 80
    (cycle, *_) = cycles(mira.start, 7200.0)
    assert cycle.period == pytest.approx(14 * DAY, abs=7200)


def test_filtering_improves_the_fit() -> None:
    """As in Table 1: exponential and Weibull are nearer to the times to failure without the periodic ones."""
    machine = daily_machine(days=180)
    model = periodic_and_survival_prediction.fit(machine, ("weibull",), by="node")
    assert len(model.found) == machine.nodes
    for name in ("exponential", "weibull"):
        before, after = [], []
        for node in range(machine.nodes):
            mine = machine.start[machine.node == node]
            rest = np.diff(np.setdiff1d(mine, np.concatenate(model.periodic[node])))
            before.append(
                failure_time_distributions.rmse(
                    failure_time_distributions.fit(name, np.diff(mine)), np.diff(mine)
                )
            )
            after.append(failure_time_distributions.rmse(failure_time_distributions.fit(name, rest), rest))
        assert np.mean(after) < 0.8 * np.mean(before)


def test_a_cycle_that_stopped_is_forgotten() -> None:
    times = [(0, day * DAY, day * DAY + 60) for day in range(1, 31)]
    others = [(1, HOUR * turn**3, HOUR * turn**3 + 60) for turn in range(1, 9)]
    model = periodic_and_survival_prediction.fit(merged(2, 0.0, 31 * DAY, times + others), ("exponential",))
    later = model.observe(merged(2, 0.0, 60 * DAY, times + others))
    asked = np.array([31.0, 33.5, 34.5, 50.0]) * DAY
    assert (later.probability(np.array([0]), asked, np.array([DAY])) == 1).tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_compiled_loops_and_arrays_answer_alike() -> None:
    machine = daily_machine()
    model = periodic_and_survival_prediction.fit(machine.until(30 * DAY), ("weibull",)).observe(machine)
    generator = np.random.default_rng(0)
    node, start = generator.integers(0, machine.nodes, 400), generator.uniform(0, 70 * DAY, 400)
    duration, known = generator.exponential(DAY / 2, 400), start - generator.exponential(DAY, 400)
    compiled = model.compiled()
    one = [
        probability(compiled, int(n), s, d, k)
        for n, s, d, k in zip(node, start, duration, known, strict=True)
    ]
    assert model.probability(node, start, duration, known) == pytest.approx(one, rel=1e-9)
    assert 0.1 < np.mean(np.array(one) == 1.0) < 0.9
