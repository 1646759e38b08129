"""Evaluation of predictors: what is asked, what is known then, and what is said of the result."""

from __future__ import annotations

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from tests.prediction.failures.test_ffp import daily_machine
from whesl.lab.execution.progress_interface import Silent
from whesl.lab.predictor_evaluation import catalogue, report
from whesl.lab.predictor_evaluation.evaluation import Settings, ask, evaluate
from whesl.model.errors import UsageError
from whesl.prediction.failures.failure_history import merged

SETTINGS = Settings(split=60 * DAY, horizon=DAY, every=DAY / 4)


def test_questions_by_hand() -> None:
    """Node 0 is down from 61 d to 62 d: nobody asks about it then, and its failure is one of the outcomes."""
    truth = merged(2, 0.0, 64 * DAY, [(0, 61 * DAY, 62 * DAY)])
    questions, every = ask(truth, 60 * DAY, 64 * DAY, SETTINGS, 10**6)
    assert every == DAY / 4
    asked = list(zip(questions.node.tolist(), (questions.start / DAY).tolist(), strict=True))
    assert (0, 60.75) in asked
    assert (0, 61.0) in asked  # its failure at that moment is not known yet
    assert (0, 61.25) not in asked
    assert (0, 62.0) in asked
    assert max(time for _, time in asked) < 63.0
    failing = sorted({time for (_, time), failed in zip(asked, questions.failed, strict=True) if failed})
    assert failing == [60.25, 60.5, 60.75, 61.0]
    fewer, apart = ask(truth, 60 * DAY, 64 * DAY, SETTINGS, 8)
    assert (len(fewer.node) <= 8, apart) == (True, DAY * 3 / 4)


def test_each_wins_where_it_should() -> None:
    """Machines that restart daily: only the filter knows when; exact predictions are perfect."""
    names = ("base", "survival", "ffp", "exact", "none")
    machine = daily_machine(nodes=6, days=90)
    settings = Settings(split=60 * DAY, horizon=4 * HOUR, every=HOUR)
    done = evaluate(machine, [catalogue.asked(name) for name in names], settings, Silent())
    score = {one.asked: one for one in done.scores}
    assert done.best is score["ffp"]
    assert score["ffp"].alarms.recall > 0.8
    assert score["ffp"].alarms.precision > 0.7
    assert score["ffp"].alarms.lead.max() <= 4 * HOUR
    assert score["exact"].brier == 0.0
    assert (score["exact"].alarms.recall, score["exact"].alarms.aoa) == (1.0, 1.0)
    assert score["none"].alarms.alarms == 0
    assert score["base"].skill == pytest.approx(0.0, abs=0.01)
    assert not score["base"].better
    assert report.verdict(done).startswith("ffp is the best")
    assert [figure.name for figure in report.figures(done)] == ["calibration", "lead-times"]


def test_nothing_beats_the_base_rate_where_nothing_can() -> None:
    """Memoryless failures of equal nodes."""
    machine = weibull_machine(nodes=40, days=300, shape=1.0)
    done = evaluate(
        machine,
        [catalogue.asked(name) for name in ("base", "survival", "by-node")],
        Settings(split=200 * DAY, every=DAY),
        Silent(),
    )
    assert done.best is None
    assert report.verdict(done) == "No fitted predictor beats the base rate beyond chance."


def test_a_split_outside_the_records() -> None:
    for split in (-1.0, 401 * DAY):
        with pytest.raises(UsageError, match="records go from 1970-01-01 00:00:00 to 1971-02-05"):
            evaluate(weibull_machine(), [catalogue.asked("base")], Settings(split), Silent())


def test_a_machine_that_is_never_up_again() -> None:
    down = [(0, 50 * DAY, 90 * DAY), (1, 60 * DAY, 89.5 * DAY), (1, 89.6 * DAY, 90 * DAY)]
    machine = merged(2, 0.0, 90 * DAY, down)
    with pytest.raises(UsageError, match="no node is up and in service for a whole horizon"):
        evaluate(machine, [catalogue.asked("base")], Settings(60.5 * DAY), Silent())


def test_names_of_predictors() -> None:
    assert catalogue.asked("aoa:0.7:0.2").numbers == (0.7, 0.2)
    assert not catalogue.asked("exact").fitted
    with pytest.raises(UsageError, match="did you mean survival"):
        catalogue.asked("survivl")
    for bad in ("aoa", "aoa:x", "survival:1", "confidence:0.1:0.2"):
        with pytest.raises(UsageError, match="write "):
            catalogue.asked(bad)
    for name in (*catalogue.FITTED, "none", "exact", "confidence:0.5", "accuracy:0.5", "aoa:0.5"):
        one = catalogue.asked(name)
        machine = weibull_machine(nodes=4, days=150)
        if one.name == "by-type":
            continue
        made = catalogue.fit(one, machine, 1, 900.0) if one.fitted else catalogue.given(one, machine, 1)
        assert made.probability(np.arange(4), np.array([DAY]), np.array([DAY])).shape == (4,)
