"""The published table: what it says, and that nothing strange is taken for one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.files import file_retry
from whesl.model.errors import CouldNotObserveError, UsageError
from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.risk_table import NodeRisk, Table
from whesl.prediction.failures.given_accuracy_predictors import Given

NAMES = ("n01", "n02", "n03")
NOW = 1_700_000_000.0


def made(**more: bool | str) -> Table:
    predictor = Given("exact", 3, [1], [NOW + 5000.0])
    return risk_table.make(predictor, NAMES, NOW, valid_for=600.0, **more)  # type: ignore[arg-type]  # of any kind


def test_a_table_says_what_its_predictor_says() -> None:
    said = made(active=True, cluster="bed")
    assert [row.node for row in said.nodes] == list(NAMES)
    assert said.nodes[0].probability == (0.0,) * 8
    assert said.nodes[0].expected is None
    assert said.nodes[0].reason == ""
    assert said.nodes[1].probability == (0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert said.nodes[1].expected == pytest.approx(5400.0)
    assert "is predicted to fail" in said.nodes[1].reason
    assert said.horizon(3600.0) == 1
    assert said.horizon(3601.0) == 2
    assert said.horizon(1e9) == 7
    assert risk_table.decode(risk_table.encode(said)) == said


def test_a_node_the_predictor_does_not_know_is_expected_to_live() -> None:
    said = risk_table.make(
        Given("exact", 1, [0], [NOW + 1.0]), ("new", "old"), NOW, valid_for=1.0, places=[-1, 0]
    )
    assert said.nodes[0].probability == (0.0,) * 8
    assert said.nodes[1].probability == (1.0,) * 8


def test_the_mean_time_to_failure_of_a_constant_hazard_is_its_inverse() -> None:
    horizons = np.linspace(100.0, 50_000.0, 400)
    said = risk_table.expected((1.0 - np.exp(-horizons / 20_000.0)).tolist(), horizons.tolist())
    assert said == pytest.approx(20_000.0, rel=1e-3)


def test_a_table_is_replaced_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    file_retry.replace(path, risk_table.encode(made()), mode=0o640)
    file_retry.replace(path, risk_table.encode(made(active=True)), mode=0o640)
    assert risk_table.read(path).active
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(risk_table.encode(made()))
    (tmp_path / "link").symlink_to(real)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing", ".", "/dev/zero"):
        with pytest.raises(CouldNotObserveError):
            risk_table.read(tmp_path / name)
    with pytest.raises(CouldNotObserveError, match="more than 10 bytes"):
        risk_table.read_bytes(real, most=10)


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": 2},
        {"horizons": (2.0, 1.0)},
        {"horizons": ()},
        {"thresholds": (0.5,) * 7},
        {"thresholds": (0.5,) * 7 + (2.1,)},
        {"thresholds": (0.0,) + (0.5,) * 7},
        {"nodes": (NodeRisk(node="n1; rm", probability=(0.0,)),), "horizons": (1.0,)},
        {"nodes": (NodeRisk(node="n1", probability=(1.5,)),), "horizons": (1.0,)},
        {"nodes": (NodeRisk(node="n1", probability=(0.1, 0.2)),), "horizons": (1.0,)},
        {"nodes": (NodeRisk(node="n1", probability=(0.1,), expected=-1.0),), "horizons": (1.0,)},
        {"nodes": (NodeRisk(node="n1", probability=(0.1,), reason="a\x1b[2J"),), "horizons": (1.0,)},
        {"nodes": (NodeRisk(node="n1", probability=(0.1,)),) * 2, "horizons": (1.0,)},
    ],
)
def test_a_table_with_a_flaw_is_refused(wrong: dict[str, object]) -> None:
    whole = msgspec.structs.replace(made(), **wrong)
    with pytest.raises(CouldNotObserveError, match="cannot be used"):
        risk_table.decode(risk_table.encode(whole))


@given(st.data())
def test_torn_and_damaged_tables_are_refused_or_whole(data: st.DataObject) -> None:
    whole = risk_table.encode(made())
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(CouldNotObserveError):
        risk_table.decode(whole[:cut])
    mutated = bytearray(whole)
    mutated[cut] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CouldNotObserveError):
        assert risk_table.flaw(risk_table.decode(bytes(mutated))) == ""


def test_a_table_holds_until_its_time_and_never_from_the_future() -> None:
    said = made()
    assert risk_table.fresh(said, NOW + 599.0)
    assert not risk_table.fresh(said, NOW + 600.0)
    assert not risk_table.fresh(said, NOW - 3600.0)


def test_names_that_no_table_can_have_are_said() -> None:
    with pytest.raises(UsageError, match="no node's name"):
        risk_table.make(Given("exact", 1, [], []), ("a b",), NOW, valid_for=1.0)
