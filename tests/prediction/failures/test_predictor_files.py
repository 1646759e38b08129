"""Saved predictors: the same answers after loading; files that were changed are refused, and run nothing."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.prediction.failures.histories import DAY, weibull_machine
from tests.prediction.failures.test_ffp import daily_machine
from whesl.model.errors import WheslError
from whesl.prediction.failures import (
    given_accuracy_predictors,
    learned,
    periodic_and_survival_prediction,
    recency,
    survival,
)
from whesl.prediction.failures.predictor_base import ArrayPredictor
from whesl.prediction.failures.predictor_files import load, save

MACHINE = weibull_machine(nodes=8, days=200)
PREDICTORS: dict[str, Callable[[], ArrayPredictor]] = {
    "given": lambda: given_accuracy_predictors.of_accuracy(MACHINE, 0.7, 0.5, seed=1),
    "none": lambda: given_accuracy_predictors.none(8),
    "survival": lambda: survival.fit(MACHINE, threshold=0.25),
    "kaplan-meier": lambda: survival.fit(MACHINE, ("kaplan-meier",), by="node", frailty=True),
    "ffp": lambda: periodic_and_survival_prediction.fit(daily_machine(nodes=8)),
    "recency": lambda: recency.fit(MACHINE, threshold=0.25),
    "learned": lambda: learned.fit(MACHINE, seed=1, samples=300, rounds=5),
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_the_same_answers_after_loading(name: str, tmp_path: Path) -> None:
    predictor = PREDICTORS[name]()
    save(predictor, tmp_path / "p.npz")
    again = load(tmp_path / "p.npz")
    assert (again.name, again.threshold, type(again)) == (
        predictor.name,
        predictor.threshold,
        type(predictor),
    )
    question = (np.arange(8)[:, None], np.linspace(0, 300 * DAY, 40), np.array(DAY))
    assert again.probability(*question).tolist() == predictor.probability(*question).tolist()
    assert again.explain(3, 100 * DAY, DAY) == predictor.explain(3, 100 * DAY, DAY)
    assert list(tmp_path.iterdir()) == [tmp_path / "p.npz"]
    longer = weibull_machine(nodes=8, days=220)
    assert (
        again.observe(longer).probability(*question).tolist()
        == predictor.observe(longer).probability(*question).tolist()
    )


def changed(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    with np.load(path) as file:
        arrays = dict(file)
    meta = json.loads(arrays.pop("meta").tobytes())
    change(meta, arrays)
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, allow_pickle=False, meta=text, **arrays)


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "version": lambda meta, _: meta.update(version=2),
    "kind": lambda meta, _: meta.update({"is": "os.system"}),
    "missing": lambda _, arrays: arrays.pop("tree_left"),
    "loop": lambda _, arrays: arrays["tree_left"].__setitem__(0, 0),
    "far": lambda _, arrays: arrays["tree_right"].__setitem__(0, 10**8),
    "feature": lambda _, arrays: arrays["tree_feature"].__setitem__(0, 999),
    "root": lambda _, arrays: arrays["tree_root"].__setitem__(0, -5),
    "step": lambda meta, _: meta.update(step=0),
    "node": lambda _, arrays: arrays["history_node"].__setitem__(0, 99),
    "order": lambda _, arrays: arrays["history_start"].__setitem__(-1, -1.0),
    "type": lambda _, arrays: arrays.update(history_start=np.array(["x"])),
    "nodes": lambda meta, _: meta.update(nodes=10**15),
    "threshold": lambda meta, _: meta.update(threshold=7),
    "laws": lambda meta, _: meta.update(laws=[["weibull", [0.0, 1.0]]]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    save(PREDICTORS["learned"](), path)
    changed(path, CHANGES[change])
    with pytest.raises(WheslError, match="does not hold a predictor"):
        load(path)


class Payload:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("run-by-pickle"),))


def test_a_pickle_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "p.npz"
    path.write_bytes(pickle.dumps(Payload()))
    with pytest.raises(WheslError, match="does not hold a predictor"):
        load(path)
    np.savez(path, meta=np.array([Payload()], dtype=object))
    with pytest.raises(WheslError, match="does not hold a predictor"):
        load(path)
    assert not Path("run-by-pickle").exists()


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    """An array that claims a petabyte, and one that unpacks to more than any history has."""
    path = tmp_path / "p.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 47,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("meta.npy", header.getvalue())
    with pytest.raises(WheslError, match="does not hold a predictor"):
        load(path)
    with pytest.raises(WheslError, match="cannot read"):
        load(tmp_path / "absent.npz")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None
)
@given(at=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), cut=st.booleans())
def test_any_damage_is_refused_or_harmless(tmp_path: Path, at: float, value: int, cut: bool) -> None:
    path = tmp_path / "p.npz"
    if not path.exists():
        save(PREDICTORS["survival"](), tmp_path / "p.npz")
    data = bytearray(path.read_bytes())
    place = int(at * len(data))
    data[place] = value
    other = tmp_path / "damaged.npz"
    other.write_bytes(bytes(data[:place] if cut else data))
    try:
        answers = load(other).probability(np.arange(8), np.array([DAY]), np.array([DAY]))
    except WheslError:
        return
    assert ((answers >= 0) & (answers <= 1)).all()
