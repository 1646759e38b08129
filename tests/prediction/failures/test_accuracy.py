"""Predictors of a given accuracy: the counts that were asked for, and answers that agree in all forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from whesl.model.errors import UsageError
from whesl.prediction.failures import given_accuracy_predictors
from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.failures.failure_history import merged

TRUTH = weibull_machine()


@pytest.mark.parametrize("aoa", [0.0, 0.5, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("mix", [0.0, 0.3, 0.7])
def test_the_accuracy_is_what_was_asked_for(aoa: float, mix: float) -> None:
    """Counted from the predictions themselves: a hit lies in the down time of a failure."""
    predictor = given_accuracy_predictors.of_accuracy(TRUTH, aoa, mix, seed=3)
    hits = wrong = 0
    for node, time in zip(predictor.node, predictor.time, strict=True):
        mine = TRUTH.node == node
        inside = (TRUTH.start[mine] <= time) & (time < TRUTH.end[mine])
        hits += bool(inside.any())
        wrong += not inside.any()
    missed = len(TRUTH) - hits
    assert hits / (hits + missed + wrong) == pytest.approx(aoa, abs=2 / len(TRUTH))
    if 0 < aoa < 1:
        assert wrong / (wrong + missed) == pytest.approx(mix, abs=3 / len(TRUTH))


@given(failures=st.integers(0, 5000), aoa=st.floats(0, 1), mix=st.floats(0, 0.999))
def test_counts_are_possible(failures: int, aoa: float, mix: float) -> None:
    hits, missed, wrong = given_accuracy_predictors.counts(failures, aoa, mix)
    assert hits >= 0
    assert missed >= 0
    assert wrong >= 0
    assert hits + missed == failures


def test_an_accuracy_that_no_predictions_have_is_refused() -> None:
    with pytest.raises(UsageError, match="AOA 0 with mix 1"):
        given_accuracy_predictors.counts(10, 0.0, 1.0)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="not from 0 to 1"):
            given_accuracy_predictors.confidence(TRUTH, bad)


def test_confidence_is_the_level_however_many_failures_come() -> None:
    truth = merged(2, 0.0, DAY, [(0, HOUR, 2 * HOUR), (0, 3 * HOUR, 4 * HOUR)])
    predictor = given_accuracy_predictors.confidence(truth, 0.3)
    answers = predictor.probability(
        np.array([0, 0, 1, 0]), np.array([0.0, 0.0, 0.0, HOUR]), np.array([HOUR, DAY, DAY, 1.0])
    )
    assert answers.tolist() == pytest.approx([0.0, 0.3, 0.0, 0.3])
    assert predictor.will_fail(np.array([0, 1]), np.array([0.0]), np.array([DAY])).tolist() == [True, False]
    assert not given_accuracy_predictors.confidence(truth, 0.0).will_fail(
        np.array([0]), np.array([0.0]), np.array([DAY])
    )[0]


def test_tie_breaking_draws_once_for_each_failure() -> None:
    low, high = (given_accuracy_predictors.tie_breaking(TRUTH, level, seed=5) for level in (0.3, 0.8))
    assert set(zip(low.node, low.time, strict=True)) < set(zip(high.node, high.time, strict=True))
    assert len(high.time) / len(TRUTH) == pytest.approx(0.8, abs=0.1)
    everything = given_accuracy_predictors.exact(TRUTH)
    said = high.will_fail(TRUTH.node, TRUTH.start - 10, np.array(HOUR))
    assert (everything.will_fail(TRUTH.node, TRUTH.start - 10, np.array(HOUR))).all()
    assert said.mean() == pytest.approx(0.8, abs=0.1)
    other = given_accuracy_predictors.tie_breaking(TRUTH, 0.3, seed=6)
    assert other.time.tolist() != low.time.tolist()


def test_compiled_loops_and_arrays_answer_alike() -> None:
    predictor = given_accuracy_predictors.of_accuracy(TRUTH, 0.6, 0.5, seed=2)
    generator = np.random.default_rng(0)
    node = generator.integers(0, TRUTH.nodes, 500)
    start = generator.uniform(0, TRUTH.finish, 500)
    duration = generator.exponential(5 * DAY, 500)
    whole = predictor.probability(node, start, duration)
    compiled = predictor.compiled()
    one = [probability(compiled, int(n), s, d, s) for n, s, d in zip(node, start, duration, strict=True)]
    assert whole.tolist() == one
    assert 0 < whole.mean() < 1


def test_bad_questions_are_refused() -> None:
    predictor = given_accuracy_predictors.none(4)
    zero, hour = np.array([0.0]), np.array([HOUR])
    assert predictor.probability(np.arange(4), zero, hour).tolist() == [0.0] * 4
    with pytest.raises(UsageError, match="knows nodes 0 to 3"):
        predictor.probability(np.array([4]), zero, hour)
    with pytest.raises(UsageError, match="finite"):
        predictor.probability(np.array([0]), np.array([np.nan]), hour)
    with pytest.raises(UsageError, match="below zero"):
        predictor.probability(np.array([0]), zero, -hour)
    assert predictor.explain(2, 0.0, HOUR).evidence == "no failure of node 2 is predicted for the next 1.0 h"
