"""Experiments: run by name, kept when they have finished, and said as they are."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from whesl.cli.group import cli
from whesl.lab.reproductions import registry
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_tables import Table
from whesl.model.errors import UsageError

RUNS: list[str] = []


@pytest.fixture(autouse=True)
def experiments(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Experiments in a module of the test."""
    RUNS.clear()
    module = ModuleType("whesl_test_experiments")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = ("first", "broken", "second", "no-data")
    monkeypatch.setattr(registry, "EXPERIMENTS", dict.fromkeys(names, module.__name__))
    monkeypatch.setattr(registry, "_registered", {})

    @experiment("first", "000, Fig. 2", "the first")
    def first(given: Inputs) -> Report:
        RUNS.append("first")
        with given.progress.stage("steps", 2) as advance:
            advance(2)
        finding = Finding("makespan", "000", "it takes 155", "155", "150", False, "-5", "another machine")
        figure = Figure("f", "F", "x", "y", [Series("a", [1, 2], [3.0, 4.0])])
        return Report([finding], [Table("t", "T", ("a",), [(1,), (None,)])], [figure], {"FLAW": {"loss": 30}})

    @experiment("second", "001", "the second")
    def second(given: Inputs) -> Report:
        RUNS.append("second")
        holds: Any = np.bool_(True)
        return Report([Finding("n", "001", "s", "1", "1", holds), Finding("n", "001", "s", "1", "-", None)])

    @experiment("broken", "001", "a defect")
    def broken(given: Inputs) -> Report:
        raise ZeroDivisionError("float division by zero")

    @experiment("no-data", "002", "the third")
    def third(given: Inputs) -> Report:
        given.trace("swf/X.swf.xz")
        raise AssertionError

    yield


def call(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["lab", "reproduce", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit | UsageError), result.exception
    return (2 if isinstance(result.exception, UsageError) else result.exit_code), result.stdout, result.stderr


def test_values_of_one_stand_at_the_top() -> None:
    assert json.loads(call("first", "--json")[1]) == {"FLAW": {"loss": 30}}


def test_values_of_several_stand_by_name() -> None:
    assert json.loads(call("second", "first", "--json")[1]) == {"second": {}, "first": {"FLAW": {"loss": 30}}}


def test_what_does_not_hold_is_said_with_its_reason() -> None:
    status, shown, _ = call("first", "second")
    assert status == 0
    assert "0 hold, 1 do not" in shown
    assert "1 hold, 0 do not, 1 cannot be shown here" in shown
    assert "- does not hold: it takes 155 (000)\n  printed 155, here 150; -5; another machine" in shown


def test_one_that_cannot_run_stops_no_other(tmp_path: Path) -> None:
    status, shown, said = call("--all", "--json", "--data", str(tmp_path))
    assert status == 1
    assert list(json.loads(shown)) == ["first", "second"]
    assert "no-data:" in said
    assert "broken: a defect, ZeroDivisionError: float division by zero (test_reproduce.py:" in said
    assert "--data DIR" in said


def test_what_has_finished_is_not_run_again(tmp_path: Path) -> None:
    call("first", "--out", str(tmp_path))
    assert (tmp_path / "first" / "f.svg").exists()
    page = (tmp_path / "first" / "index.html").read_text()
    assert "0 of 1 findings hold here, 1 do not." in page
    assert "another machine" in (tmp_path / "index.html").read_text()
    assert (tmp_path / "first" / "t.csv").read_text() == 'a\n1\n""\n'
    assert call("second", "--out", str(tmp_path / "numpy"))[0] == 0
    RUNS.remove("second")
    status, shown, said = call("first", "second", "--out", str(tmp_path), "--json")
    assert status == 0
    assert RUNS == ["first", "second"]
    assert json.loads(shown)["first"] == {"FLAW": {"loss": 30}}
    assert "first: finished before" in said
    call("first", "--out", str(tmp_path), "--quick")
    call("first", "--out", str(tmp_path), "--again")
    assert RUNS == ["first", "second", "first", "first"]


def test_a_damaged_report_is_no_finished_one(tmp_path: Path) -> None:
    call("first", "--out", str(tmp_path))
    report = tmp_path / "first" / "report.json"
    report.write_text(report.read_text()[:100])
    call("first", "--out", str(tmp_path))
    assert RUNS == ["first", "first"]


def test_names_are_checked_before_anything_runs() -> None:
    assert call("second", "frist")[0] == 2
    assert call()[0] == 2
    assert call("first", "--all")[0] == 2
    assert RUNS == []


def test_they_are_listed() -> None:
    assert "second   the second (001)" in call("--list")[1]
    assert json.loads(call("--list", "--json")[1])[0] == {
        "name": "first",
        "source": "000, Fig. 2",
        "about": "the first",
    }
