"""Every failure predictor passes the contract that predictors of others have to pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whesl.prediction.failures import periodic_and_survival_prediction, recency, survival
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.given_accuracy_predictors import exact
from whesl.prediction.failures.port import Predictor
from whesl.testing.contracts import PredictorContract

FITS: dict[str, Callable[[History], Predictor]] = {
    "survival": lambda past: survival.fit(past, ("weibull",)),
    "frailty": lambda past: survival.fit(past, ("kaplan-meier",), frailty=True),
    "ffp": lambda past: periodic_and_survival_prediction.fit(past, ("weibull",)),
    "recency": recency.fit,
}


@pytest.mark.parametrize("name", FITS, scope="class")
class TestFitted(PredictorContract):
    @pytest.fixture
    def fit(self, name: str) -> Callable[[History], Predictor]:
        return FITS[name]


class TestExact(PredictorContract):
    knows_the_past_alone = False

    @pytest.fixture
    def fit(self) -> Callable[[History], Predictor]:
        return exact
