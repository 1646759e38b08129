"""Measures: the documents' examples, and cases counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.prediction.failures.histories import HOUR, weibull_machine
from whesl.prediction.failures import given_accuracy_predictors, measures
from whesl.prediction.failures.failure_history import merged

# FLAW, Figure 8: down times and predictions of P0, P1, P2.
TRUTH = merged(3, 0.0, 150.0, [(0, 15.0, 20.0), (1, 60.0, 65.0), (2, 5.0, 10.0)])


def test_figure_1_of_flaw_is_rated_as_one_third() -> None:
    """Failure 1 is not predicted, P1 falls into up time, P2 into the down time of failure 2."""
    truth = merged(1, 0.0, 100.0, [(0, 20.0, 30.0), (0, 70.0, 80.0)])
    found = measures.aoa(truth, [0, 0], [40.0, 75.0])
    assert found[:3] == (1, 1, 1)
    assert found.value == pytest.approx(1 / 3)


def test_the_example_has_an_aoa_of_one_half() -> None:
    assert measures.aoa(TRUTH, [0, 2, 2], [18.0, 8.0, 90.0]) == (2, 1, 1, 0.5)


def test_nine_of_ten_answers_of_flaws_example_are_right() -> None:
    """Each free node is asked at each scheduling event: 3 at 0, 3 at 40, 1 at 65, 3 at 100."""
    predictor = given_accuracy_predictors.Given("example", 3, [0, 2, 2], [18.0, 8.0, 90.0])
    queries = [(0, 0, 35), (1, 0, 40), (2, 0, 45), (0, 40, 40), (1, 40, 35), (2, 40, 32)]
    queries += [(1, 65, 35), (0, 100, 50), (1, 100, 50), (2, 100, 60)]
    node, start, duration = np.array(queries, dtype=float).T
    said = predictor.will_fail(node.astype(int), start, duration)
    failed = measures.failed_within(TRUTH, node.astype(int), start, duration)
    assert measures.aaa(said, failed) == 0.9
    assert int((failed & ~said).sum()) == 1


def test_the_accuracies_of_nothing() -> None:
    nothing = merged(1, 0.0, 10.0, [])
    assert measures.aoa(nothing, [], []).value == 1.0
    assert measures.aoa(nothing, [0], [3.0]) == (0, 0, 1, 0.0)
    assert measures.aaa([], []) == 1.0


def test_two_predictions_in_one_down_time_are_one_hit() -> None:
    assert measures.aoa(TRUTH, [0, 0], [16.0, 17.0])[:3] == (1, 2, 0)


@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_predictions_of_an_accuracy_are_measured_at_it(level: float) -> None:
    truth = weibull_machine()
    predictor = given_accuracy_predictors.of_accuracy(truth, level, 0.4, seed=9)
    assert measures.aoa(truth, predictor.node, predictor.time).value == pytest.approx(level, abs=0.02)


def test_alarms_by_hand() -> None:
    """Node 0 fails at 10 h and 30 h; asked each 4 h for 8 h ahead; alarms at 4 h, 8 h, 16 h."""
    truth = merged(2, 0.0, 40 * HOUR, [(0, 10 * HOUR, 11 * HOUR), (0, 30 * HOUR, 31 * HOUR)])
    start: NDArray[np.float64] = HOUR * np.arange(0.0, 36.0, 4.0, dtype=np.float64)
    said = np.isin(start / HOUR, [4, 8, 16])
    scores = measures.alarms(truth, np.zeros(9, dtype=int), start, 8 * HOUR, said)
    assert scores.precision == pytest.approx(2 / 3)
    assert (scores.recall, scores.alarms, scores.failures) == (0.5, 3, 2)
    assert scores.lead.tolist() == [6 * HOUR]
    assert scores.aoa == pytest.approx(1 / 3)
    silent = measures.alarms(truth, np.zeros(9, dtype=int), start, 8 * HOUR, np.zeros(9, dtype=bool))
    assert np.isnan(silent.precision)
    assert (silent.recall, silent.f1, len(silent.lead)) == (0.0, 0.0, 0)


def test_scores_of_probabilities_by_hand() -> None:
    said, failed = np.array([0.9, 0.6, 0.2, 0.1]), np.array([True, False, True, False])
    assert measures.brier(said, failed) == pytest.approx((0.01 + 0.36 + 0.64 + 0.01) / 4)
    assert measures.skill(said, failed, 0.5) == pytest.approx(1 - 0.255 / 0.25)
    assert measures.ranking(said, failed) == 0.75
    assert measures.ranking(np.full(4, 0.3), failed) == 0.5
    assert measures.log_loss(np.full(4, 0.5), failed) == pytest.approx(np.log(2))
    assert measures.best_threshold(said, failed) == 0.2
    assert measures.best_threshold(said, np.zeros(4, dtype=bool)) == 1.0


def test_a_calibrated_forecast_has_no_error() -> None:
    generator = np.random.default_rng(1)
    said = generator.random(100_000)
    found = measures.calibration(said, generator.random(100_000) < said)
    assert found.error < 0.01
    assert found.questions.tolist() == [10_000] * 10
    wrong = measures.calibration(said, generator.random(100_000) < said / 2)
    assert wrong.error == pytest.approx(0.25, abs=0.01)
    assert measures.calibration(np.full(10, 0.2), np.arange(10) < 2).error == pytest.approx(0)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60),
    st.floats(0, 1),
)
def test_the_best_threshold_is_the_best(pairs: list[tuple[float, bool]], other: float) -> None:
    """Compared with any other threshold, F1 counted in the plain way."""
    said, failed = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])

    def f1(threshold: float) -> float:
        raised = said >= threshold
        return float(2 * (raised & failed).sum() / max(raised.sum() + failed.sum(), 1))

    assert f1(measures.best_threshold(said, failed)) >= f1(other) - 1e-12
