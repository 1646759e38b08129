"""No predictor sees the future: fed an event at a time it answers as it does with the whole history."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, weibull_machine
from tests.prediction.failures.test_ffp import daily_machine
from whesl.prediction.failures import learned, periodic_and_survival_prediction, survival
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.port import Predictor

MACHINE = weibull_machine(nodes=12, days=200)
DAILY = daily_machine(nodes=4, days=200)
SPLIT = 100 * DAY
FITTED: dict[str, Callable[[History], Predictor]] = {
    "survival": lambda past: survival.fit(past, ("weibull",)),
    "by node": lambda past: survival.fit(past, ("weibull",), by="node"),
    "ffp": lambda past: periodic_and_survival_prediction.fit(past, ("weibull",)),
    "learned": lambda past: learned.fit(past, seed=1, samples=500, rounds=10),
    "frailty": lambda past: survival.fit(past, ("kaplan-meier",), frailty=True),
}


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.costly
def test_events_one_at_a_time_and_all_at_once(name: str) -> None:
    """The last of these histories contains the future of all earlier questions, and does not use it."""
    machine = DAILY if name == "ffp" else MACHINE
    early = FITTED[name](machine.until(SPLIT))
    late = early.observe(machine)
    everyone = np.arange(machine.nodes)
    times = np.concatenate([machine.start, machine.end, np.linspace(SPLIT, 200 * DAY, 20)])
    compared = set()
    for time in np.unique(times[(times >= SPLIT) & (times < 200 * DAY)]):
        step = early.observe(machine.until(time))
        for ahead in (0.0, 3 * DAY):
            question = (everyone, np.array([time + ahead]), np.array([DAY / 3]), np.array([time]))
            now, then = step.probability(*question), late.probability(*question)
            assert now == pytest.approx(then, rel=1e-9), f"{name} at {time}"
            compared.update(now.tolist())
    assert len(compared) > 20


@pytest.mark.parametrize("name", FITTED)
def test_what_is_fitted_is_of_the_past(name: str) -> None:
    """A fit to a history that was cut is one to the same history that never went on."""
    one = FITTED[name](MACHINE.until(SPLIT))
    other = FITTED[name](weibull_machine(nodes=12, days=200).until(SPLIT))
    question = (np.arange(12), np.array([SPLIT]), np.array([DAY]))
    assert one.probability(*question).tolist() == other.probability(*question).tolist()
