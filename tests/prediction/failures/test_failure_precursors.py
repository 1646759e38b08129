"""Signs: what a kind says is learned from what followed it; a kind that means nothing changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from whesl.prediction.failures import (
    failure_precursors,
    given_accuracy_predictors,
    learned,
    predictor_files,
    survival,
)
from whesl.prediction.failures.compiled_predictor import probabilities
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_precursors import Sign, Signed, Signs

WARNED = "memory corrected"
RANDOM = "a rumour"


def machine(seed: int = 3) -> tuple[History, Signs]:
    """Return a machine of which half of the failures are told of six hours before, and rumours."""
    history = weibull_machine(nodes=30, days=300, seed=seed)
    draw = np.random.default_rng(seed)
    rows = [
        Sign(int(node), float(start) - 6 * HOUR, WARNED, "mc0: 3 more")
        for node, start in zip(history.node, history.start, strict=True)
        if draw.random() < 0.5
    ]
    rows += [
        Sign(int(draw.integers(30)), float(draw.uniform(0, 300 * DAY)), RANDOM, "somebody")
        for _ in range(200)
    ]
    return history, failure_precursors.signs(rows)


def test_what_a_kind_says_is_learned() -> None:
    history, seen = machine()
    found = failure_precursors.fit(survival.fit(history), history, seen)
    factor = dict(zip(seen.kinds, found.factor, strict=True))
    assert factor[WARNED] > 10
    assert factor[RANDOM] < 1.5


def test_signs_of_the_future_say_nothing_and_old_ones_end() -> None:
    history, _ = machine()
    seen = failure_precursors.signs([Sign(4, 100 * DAY, WARNED, "mc0")])
    base = survival.fit(history)
    one = Signed(base, seen, np.array([20.0]), DAY, 0.5)
    node, hours = np.array([4]), np.array([6 * HOUR])

    def ratio(at: float, known: float | None = None) -> float:
        when = None if known is None else np.array([known])
        own = -np.log1p(-one.probability(node, np.array([at]), hours, when))
        plain = -np.log1p(-base.probability(node, np.array([at]), hours, when))
        return float((own / plain)[0])

    assert ratio(100 * DAY - 1) == pytest.approx(1.0)
    assert ratio(100 * DAY) == pytest.approx(20.0)
    assert ratio(100 * DAY + 0.9 * DAY) == pytest.approx(20.0)
    assert ratio(101 * DAY + 1) == pytest.approx(1.0)
    assert ratio(100.5 * DAY, known=100 * DAY - 1) == pytest.approx(1.0)
    assert one.probability(np.array([5]), np.array([100 * DAY]), hours) == base.probability(
        np.array([5]), np.array([100 * DAY]), hours
    )


def test_the_arrays_say_the_same_as_the_predictor() -> None:
    whole, seen = machine()
    short = whole.until(60 * DAY)
    for base in (survival.fit(whole, frailty=True), learned.fit(short, seed=1, samples=100, rounds=2)):
        history = base.history
        one = failure_precursors.fit(base, history, seen)
        draw = np.random.default_rng(0)
        node = draw.integers(0, 30, 400)
        start = draw.uniform(0, history.finish, 400)
        # The very moments of signs are among them.
        told = np.flatnonzero(seen.time < history.finish)[-50:]
        start[: len(told)], node[: len(told)] = seen.time[told], seen.node[told]
        duration = np.full(400, 12 * HOUR)
        own = one.probability(node, start, duration)
        assert probabilities(one.compiled(), node, start, duration, start) == pytest.approx(
            own, rel=0.15, abs=2e-3
        )
        if base.name != "learned":
            assert probabilities(one.compiled(), node, start, duration, start) == pytest.approx(own)


def test_evidence_names_who_saw_what() -> None:
    history, _ = machine()
    seen = failure_precursors.signs([Sign(4, 100 * DAY, WARNED, "seen by alice")])
    one = Signed(survival.fit(history), seen, np.array([20.0]), DAY, 0.5)
    told = one.explain(4, 100 * DAY + 2 * HOUR, DAY).evidence
    assert "memory corrected 2.0 h before (seen by alice), 20.0 times the usual hazard" in told
    assert "times the usual" not in one.explain(5, 100 * DAY, DAY).evidence


def test_the_same_after_saving_and_damage_is_told(tmp_path: Path) -> None:
    history, seen = machine()
    one = failure_precursors.fit(survival.fit(history), history, seen).at_threshold(0.2)
    predictor_files.save(one, tmp_path / "p.npz", {"a": 1})
    read, about = predictor_files.load_with(tmp_path / "p.npz")
    assert about == {"a": 1}
    assert (read.name, read.threshold) == (one.name, 0.2)
    question = (np.arange(30)[:, None], np.linspace(0, 300 * DAY, 20), np.array(DAY))
    assert read.probability(*question).tolist() == one.probability(*question).tolist()
    assert read.explain(3, 299 * DAY, DAY) == one.explain(3, 299 * DAY, DAY)


def test_without_signs_nothing_changes() -> None:
    history, _ = machine()
    base = survival.fit(history)
    one = failure_precursors.fit(base, history, failure_precursors.signs([]))
    node = np.arange(30)
    at, day = np.asarray(200 * DAY), np.asarray(DAY)
    assert one.probability(node, at, day).tolist() == pytest.approx(base.probability(node, at, day).tolist())
    assert one.observe(history).history is history
    assert given_accuracy_predictors.none(3).name
