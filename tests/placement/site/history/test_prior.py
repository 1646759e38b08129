"""The prior of a site with too little history, and where its numbers come from."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, weibull_machine
from whesl.lab.readers import failures
from whesl.model.errors import WheslError
from whesl.placement.site.history import prior
from whesl.prediction.failures import failure_time_distributions, survival
from whesl.prediction.failures.failure_history import History, merged

LANL = Path(__file__).resolve().parents[5] / "shared/data/lanl/LA-UR-05-7318-failure-data-1996-2005.csv.xz"


def quiet(days: float = 10.0, nodes: int = 50) -> History:
    return replace(merged(nodes, 0.0, days * DAY, []), names=tuple(f"n{n}" for n in range(nodes)))


def test_a_site_without_any_failure_has_a_small_and_equal_hazard() -> None:
    one = prior.fit(quiet())
    chance = one.probability(np.arange(50), np.asarray(10 * DAY), np.asarray(DAY))
    assert np.ptp(chance) == 0
    assert 1e-5 < chance[0] < 0.01
    longer = prior.fit(quiet(days=300)).probability(np.array([0]), np.array([300 * DAY]), np.array([DAY]))
    assert longer[0] < chance[0]


def test_a_node_that_failed_stands_out_at_once() -> None:
    history = merged(50, 0.0, 10 * DAY, [(7, 8 * DAY, 8 * DAY + 3600), (7, 9 * DAY, 9 * DAY + 3600)])
    chance = prior.fit(history).probability(np.arange(50), np.asarray(10 * DAY), np.asarray(DAY))
    assert int(np.argmax(chance)) == 7
    assert chance[7] > 5 * np.median(chance)


def test_with_much_history_the_data_win() -> None:
    history = weibull_machine(nodes=60, days=800, shape=prior.SHAPE, scale=20 * DAY)
    law = prior.fit(history).fitted.laws[0]
    assert law.parameters[1] == pytest.approx(20 * DAY, rel=0.15)


def test_the_numbers_are_those_of_the_records_of_los_alamos(tmp_path: Path) -> None:
    if not LANL.exists():
        pytest.skip("the failure records of Los Alamos are not here")
    first, *lines = lzma.decompress(LANL.read_bytes()).decode("utf-8", "replace").splitlines(keepends=True)
    systems: dict[str, list[str]] = {}
    for line in lines:
        systems.setdefault(line.partition(",")[0], []).append(line)
    shapes, weights, hazards = [], [], []
    for number, rows in systems.items():
        (tmp_path / number).write_text(first + "".join(rows))
        try:
            history = failures.read(tmp_path / number).history
        except WheslError:
            continue
        lives = history.lifetimes()
        if lives.failed.sum() < 50 or history.nodes < 5:
            continue
        duration = lives.end - lives.begin
        shapes.append(failure_time_distributions.fit("weibull", duration, lives.failed).parameters[0])
        weights.append(survival.fit(history, ("weibull",), frailty=True).fitted.frailty)
        hazards.append(np.log(lives.failed.sum() / ((duration / DAY) ** prior.SHAPE).sum()))
    assert len(shapes) == 17
    assert np.median(shapes) == pytest.approx(prior.SHAPE, abs=0.005)
    assert np.median(weights) == pytest.approx(prior.FRAILTY, abs=0.05)
    from scipy.optimize import brentq  # loads for a second, in each process that collects tests
    from scipy.special import digamma, polygamma

    shape = brentq(lambda one: polygamma(1, one) - np.var(hazards, ddof=1), 0.05, 50)
    assert shape == pytest.approx(prior.FAILURES, abs=0.05)
    assert np.exp(digamma(shape) - np.mean(hazards)) == pytest.approx(prior.EXPOSURE, rel=0.01)
