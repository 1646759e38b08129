"""Contract tests of failure predictors; the predictors of ``whesl.prediction.failures`` pass them.

A test module makes a subclass of ``PredictorContract`` with a fixture ``fit``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from whesl.model.errors import UsageError
from whesl.prediction.failures.compiled_predictor import probabilities
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.port import Predictor

HOUR, DAY = 3600.0, 86400.0


class PredictorContract:
    """Tests that any failure predictor has to pass."""

    # False: the predictor knows failures before they happen, as an upper bound for other predictors.
    knows_the_past_alone = True
    # Day of the history up to which ``fit`` gets the failures; the predictor is asked about later times.
    split = 100.0

    @pytest.fixture
    def fit(self) -> Callable[[History], Predictor]:
        """Return the function that fits the predictor to a history."""
        raise NotImplementedError

    @pytest.fixture
    def machine(self) -> History:
        """Return 200 days of twelve nodes: some fail often, some once, two never."""
        draw = np.random.default_rng(5)
        failures = []
        for node in range(10):
            at = draw.exponential((node + 1) * 4 * DAY)
            while at < 200 * DAY:
                failures.append((node, at, at + 2 * HOUR))
                at += 2 * HOUR + draw.exponential((node + 1) * 4 * DAY)
        return merged(12, 0.0, 200 * DAY, failures)

    @pytest.fixture
    def predictor(self, fit: Callable[[History], Predictor], machine: History) -> Predictor:
        """Return the predictor, fitted to the first part of the history and given the whole history.

        Args:
            fit: fits the predictor to a history.
            machine: the whole history.
        """
        return fit(machine.until(self.split * DAY)).observe(machine)

    def test_it_answers_with_probabilities(self, predictor: Predictor) -> None:
        """Probabilities have any shape that NumPy broadcasts; they rise with the interval, from 0."""
        node, start = np.arange(12)[:, None], np.linspace(self.split, 199, 7)[None, :] * DAY
        before = np.zeros((12, 7))
        for duration in (0.0, HOUR, DAY, 30 * DAY):
            found = predictor.probability(node, start, np.array(duration))
            assert found.shape == (12, 7)
            assert ((found >= 0) & (found <= 1)).all()
            assert (found >= before - 1e-12).all()
            assert duration or not found.any()
            before = found

    def test_an_answer_has_a_reason(self, predictor: Predictor) -> None:
        for node in range(12):
            question = (np.array([node]), np.array([150 * DAY]), np.array([DAY]))
            told = predictor.explain(node, 150 * DAY, DAY)
            assert told.node == node
            assert told.probability == pytest.approx(float(predictor.probability(*question)[0]))
            assert told.will_fail == bool(predictor.will_fail(*question)[0])
            assert told.evidence.strip()

    def test_loops_get_the_same_answers(self, predictor: Predictor) -> None:
        """The predictor's arrays for compiled loops give the same probabilities as the predictor itself."""
        node = np.arange(12)
        start, duration = np.full(12, 150 * DAY), np.full(12, 2 * DAY)
        for known in (start, start - DAY):
            own = predictor.probability(node, start, duration, known)
            assert probabilities(predictor.compiled(), node, start, duration, known) == pytest.approx(own)

    def test_it_does_not_know_the_future(
        self, fit: Callable[[History], Predictor], predictor: Predictor, machine: History
    ) -> None:
        """Later failures in the history do not change the answers for earlier times."""
        if not self.knows_the_past_alone:
            pytest.skip("it is told of the future")
        early = fit(machine.until(self.split * DAY))
        node = np.arange(12)
        for time in np.linspace(self.split, 199, 5) * DAY:
            then = early.observe(machine.until(time))
            for ahead in (0.0, 3 * DAY):
                question = (node, np.array([time + ahead]), np.array([DAY]), np.array([time]))
                assert predictor.probability(*question) == pytest.approx(
                    then.probability(*question), rel=1e-9
                )

    def test_observing_changes_no_other(self, fit: Callable[[History], Predictor], machine: History) -> None:
        early = fit(machine.until(self.split * DAY))
        question = (np.arange(12), np.array([self.split * DAY]), np.array([DAY]))
        before = early.probability(*question).tolist()
        late = early.observe(machine)
        assert late.name == early.name
        assert early.probability(*question).tolist() == before

    def test_what_cannot_be_asked_is_refused(self, predictor: Predictor) -> None:
        for node, start, duration in ((12, 0.0, DAY), (-1, 0.0, DAY), (0, np.nan, DAY), (0, 0.0, -1.0)):
            with pytest.raises(UsageError):
                predictor.probability(np.array([node]), np.array([start]), np.array([duration]))
