"""Learned prediction: what the trees see, that they find what is there, and that their forms agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.prediction.failures.histories import DAY, HOUR, weibull_machine
from whesl.model.errors import UsageError
from whesl.prediction import tree_scoring
from whesl.prediction.failures import learned, measures, survival
from whesl.prediction.failures.compiled_predictor import probability
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.features import COLUMNS, Features
from whesl.prediction.failures.predictor_files import load, save


def bursty_machine(nodes: int = 30, days: int = 300, seed: int = 1) -> History:
    """Return a machine on which a rack's first node fails, and then the others mostly within the day."""
    generator = np.random.default_rng(seed)
    failures = []
    for leader in range(0, nodes, 5):
        at = 0.0
        while (at := at + DAY + generator.exponential(12 * DAY)) < days * DAY:
            failures.append((leader, at, at + HOUR))
            for node in range(leader + 1, leader + 5):
                if generator.random() < 0.8:
                    after = at + generator.uniform(2, 20) * HOUR
                    failures.append((node, after, after + HOUR))
    return replace(merged(nodes, 0.0, days * DAY, failures), group=np.arange(nodes, dtype=np.int32) // 5)


MACHINE = bursty_machine()
SPLIT = 200 * DAY


@pytest.fixture(scope="module")
def model() -> learned.LearnedPredictor:
    return learned.fit(MACHINE.until(SPLIT), seed=1, samples=4000)


def test_features_by_hand() -> None:
    machine = merged(
        3, 0.0, 100 * DAY, [(1, 80 * DAY, 80.5 * DAY), (1, 89 * DAY, 90 * DAY), (2, 99 * DAY, 99.5 * DAY)]
    )
    (row,) = Features(machine).table(np.array([1]), np.array([99 * DAY + 60]))
    seen = dict(zip(COLUMNS, row.tolist(), strict=True))
    assert seen["the time since it was last back"] == pytest.approx(np.log(9 * DAY + 120))
    assert seen["the time since its last failure"] == pytest.approx(np.log(10 * DAY + 120))
    assert np.isnan(seen["the time since its last failure but two"])
    assert [seen[f"its failures in the last {days} d"] for days in (7, 30)] == [0, 2]
    assert seen["its mean repair time"] == pytest.approx(np.log(0.75 * DAY + 60))
    assert seen["its last repair time"] == pytest.approx(np.log(DAY + 60))
    assert seen["failures of the nodes beside it in the last 30 d"] == 1
    assert seen["failures of the machine in the last 1 h"] == 1
    assert seen["failures of the machine in the last 720 h"] == 3
    assert (seen["the hour of the day"], seen["being down at present"]) == (0, 0)
    (down,) = Features(machine).table(np.array([2]), np.array([99.2 * DAY]))
    assert down[COLUMNS.index("being down at present")] == 1


def test_it_finds_what_survival_cannot(model: learned.LearnedPredictor) -> None:
    """A rack's failures are in the features: better than uptime alone on the time after the split."""
    plain = survival.fit(MACHINE.until(SPLIT)).observe(MACHINE)
    node = np.repeat(np.arange(MACHINE.nodes), 99)
    start = np.tile(np.arange(SPLIT, 299 * DAY, DAY), MACHINE.nodes)
    failed = measures.failed_within(MACHINE, node, start, np.array(DAY))
    answers = model.observe(MACHINE).probability(node, start, np.array(DAY), np.nextafter(start, 0))
    other = plain.probability(node, start, np.array(DAY), np.nextafter(start, 0))
    assert measures.brier(answers, failed) < 0.97 * measures.brier(other, failed)
    assert measures.calibration(answers, failed).error < 0.04


@pytest.mark.costly
def test_compiled_and_direct_answers_agree(model: learned.LearnedPredictor) -> None:
    whole = model.observe(MACHINE)
    generator = np.random.default_rng(0)
    node, start = generator.integers(0, MACHINE.nodes, 300), generator.uniform(DAY, 299 * DAY, 300)
    duration, known = generator.exponential(2 * DAY, 300), start - generator.exponential(DAY / 4, 300)
    compiled = whole.compiled()
    one = [
        probability(compiled, int(n), s, d, k)
        for n, s, d, k in zip(node, start, duration, known, strict=True)
    ]
    assert whole.probability(node, start, duration, known) == pytest.approx(one, rel=1e-9)


def test_the_trees_are_those_of_the_library() -> None:
    import xgboost

    generator = np.random.default_rng(5)
    rows = generator.normal(size=(500, 6)).astype(np.float32)
    rows[generator.random(rows.shape) < 0.2] = np.nan
    label = np.nan_to_num(rows[:, 0] * 2 + rows[:, 1] ** 2)
    data = xgboost.DMatrix(rows, label=label)
    booster = xgboost.train({"max_depth": 4, "base_score": 0.0, "nthread": 1}, data, 20)
    mine = tree_scoring.of_booster(booster)
    tree_scoring.check(mine, 6)
    assert tree_scoring.score(mine, rows) == pytest.approx(
        booster.predict(data, output_margin=True), abs=1e-4
    )


def test_trees_are_scored_alike_without_the_compiler(
    model: learned.LearnedPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = learned._rows(Features(MACHINE).table(np.arange(20), np.full(20, 150 * DAY)))
    compiled = tree_scoring.score(model.model.trees, rows)
    monkeypatch.setattr("whesl.prediction.numba_jit.COMPILES", False)
    assert tree_scoring.score(model.model.trees, rows) == pytest.approx(compiled, rel=1e-12)


def test_one_seed_one_model(model: learned.LearnedPredictor) -> None:
    again = learned.fit(MACHINE.until(SPLIT), seed=1, samples=4000)
    assert [one.tolist() for one in again.model.trees] == [one.tolist() for one in model.model.trees]


def test_the_evidence_names_what_counts(model: learned.LearnedPredictor) -> None:
    whole = model.observe(MACHINE)
    last = MACHINE.start[(MACHINE.node == 5) & (MACHINE.start > SPLIT)][0]
    said = whole.explain(7, float(last) + HOUR, DAY)
    assert said.evidence.startswith("node 7 fails within 24.0 h with probability")
    assert "failures in its group in the last 24 h (1, typically 0;" in said.evidence
    assert said.probability > 0.15


def test_a_compiled_form_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "_MOST", 10)
    model = learned.fit(weibull_machine(), seed=1, samples=200, rounds=2)
    with pytest.raises(UsageError, match=r"answers to tabulate, one for each node every 1.0 h\n"):
        model.compiled()


def test_of_few_failures_nothing_is_learned(tmp_path: Path) -> None:
    """It stays the survival model, also for a new site without any failure, and can be saved."""
    for rows in ([], [(0, DAY, 2 * DAY), (1, 3 * DAY, 4 * DAY)]):
        history = merged(3, 0.0, 9 * DAY, rows)
        model = learned.fit(history, seed=1)
        plain = survival.fit(history, ("weibull",), frailty=True)
        question = (np.arange(3), np.array([9 * DAY]), np.array([DAY]))
        assert model.probability(*question) == pytest.approx(plain.probability(*question), rel=1e-3)
        assert "survival alone would say" in model.explain(0, 9 * DAY, DAY).evidence
        save(model, tmp_path / "p.npz")
        assert (
            load(tmp_path / "p.npz").probability(*question).tolist() == model.probability(*question).tolist()
        )
