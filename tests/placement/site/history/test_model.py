"""A model in a file: its nodes' names, where it comes from, and what is expected of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.prediction.failures.histories import weibull_machine
from whesl.model.errors import WheslError
from whesl.placement.site.history import model as models
from whesl.placement.site.history.model import About, SiteModel
from whesl.prediction.failures import predictor_files, survival

DAY = 86400.0


def site(nodes: int = 12) -> SiteModel:
    history = weibull_machine(nodes=nodes)
    names = tuple(f"n{number:02d}" for number in range(nodes))
    history = replace(history, names=names)
    about = About(learned=history.finish, begin=history.begin, finish=history.finish, failures=len(history))
    return SiteModel(survival.fit(history, frailty=True), names, about)


def test_a_model_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    written = site()
    models.save(written, tmp_path / "site.npz")
    read = models.load(tmp_path / "site.npz")
    assert (read.names, read.about) == (written.names, written.about)
    now = written.about.finish + DAY
    assert np.array_equal(
        read.probability(read.names, now, DAY), written.probability(written.names, now, DAY)
    )


def test_the_risk_agrees_with_the_predictor_and_explains_what_is_likely() -> None:
    one = site()
    now = one.about.finish + DAY
    rows = one.risks(one.names, now, (3600.0, DAY, 7 * DAY), explained=0.0)
    for number, row in enumerate(rows):
        assert row.node == one.names[number]
        assert list(row.probability) == sorted(row.probability)
        assert row.node in row.evidence
        assert row.expected > 0
    assert one.risks(one.names, now, (DAY,))[0].evidence == ""


def test_a_node_that_is_not_known_is_taken_for_a_usual_one() -> None:
    one = site()
    now = one.about.finish
    values = one.probability([*one.names, "new1"], now, DAY)
    assert values[-1] == pytest.approx(float(np.median(values[:-1])))
    assert "not known" in one.risks(["new1"], now, (DAY,), explained=0.0)[0].evidence


def test_a_predictor_without_names_is_refused(tmp_path: Path) -> None:
    predictor_files.save(survival.fit(weibull_machine(nodes=3)), tmp_path / "plain.npz")
    with pytest.raises(WheslError, match="nodes have no names"):
        models.load(tmp_path / "plain.npz")


def test_damaged_files_are_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "site.npz"
    models.save(site(), path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(WheslError):
            models.load(path)
