"""``whesl lab predict``: results in files and as JSON, and what is said of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.prediction.failures.test_ffp import daily_machine
from whesl.cli.group import cli
from whesl.model.errors import UsageError
from whesl.prediction.failures.predictor_files import load

DAY = 86400.0


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    machine = daily_machine(nodes=6, days=90)
    path = tmp_path_factory.mktemp("records") / "failures.csv"
    rows = [
        f"{node},{start},{end}"
        for node, start, end in zip(machine.node, machine.start, machine.end, strict=True)
    ]
    path.write_text("\n".join(["node,start,end", *rows, "3,later,never"]) + "\n")
    return path


def predict(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["lab", "predict", *map(str, arguments)])


@pytest.mark.costly
def test_results_as_files_and_json(records: Path, tmp_path: Path) -> None:
    result = predict(
        *("--failures", records, "--split", "1970-03-02", "--horizon", "4", "--every", "2"),
        *("--predictors", "base,survival,ffp,aoa:0.8", "--out", tmp_path / "out", "--json"),
    )
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (printed["nodes"], printed["malformed"], printed["best"]) == (6, 1, "ffp")
    assert printed["malformed_lines"] == [len(records.read_text().splitlines())]
    scores = printed["predictors"]
    assert list(scores) == ["base", "survival", "ffp", "aoa:0.8"]
    assert scores["ffp"]["recall"] > 0.8
    assert 0 < scores["ffp"]["lead_time"]["median"] <= 4 * 3600
    cycles = scores["ffp"]["fit"]["periodic"]
    assert {one["node"] for one in cycles} == {f"node {node}" for node in range(6)}
    assert [one["period"] for one in cycles] == pytest.approx([24.0] * 6, abs=0.1)
    assert set(scores["survival"]["fit"]["held_out"]) == {
        "exponential",
        "weibull",
        "log-normal",
        "kaplan-meier",
    }
    assert printed["hours_between_failures"]["weibull"]["shape"] > 0
    names = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert names >= {"scores.md", "scores.csv", "calibration.svg", "lead-times.png", "index.html", "ffp.npz"}
    model = load(tmp_path / "out" / "predictors" / "ffp.npz")
    assert model.probability(np.arange(6), np.array([70 * DAY]), np.array([DAY])).tolist() == [1.0] * 6


def test_the_table_and_the_verdict(records: Path) -> None:
    result = predict(
        "--failures", records, "--split", "1970-03-02", "--predictors", "base,ffp", "--horizon", "4"
    )
    assert result.exit_code == 0, result.output
    assert "| ffp |" in result.stdout
    assert "ffp is the best" in result.stdout
    assert "1 of " in result.stderr
    assert "cannot be read, and are left out" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--split", "yesterday"), "--split 'yesterday' is no date"),
        (("--split", "1999-01-01"), "the records go from 1970-01-01"),
        (("--split", "1970-03-02", "--strict"), "time 'later' is not YYYY-MM-DD"),
        (("--split", "1970-03-02", "--nodes", "2"), "is not one of 2"),
        (("--split", "1970-03-02", "--format", "lanl"), "not a file of failures in the format lanl"),
        (("--split", "1970-03-02", "--predictors", "base,oracle"), "no predictor 'oracle'"),
        (("--split", "1970-03-02", "--predictors", "by-type"), "tells no types of nodes"),
        (("--split", "1970-03-02", "--predictors", "aoa:3"), "AOA 3.0 is not from 0 to 1"),
        (("--split", "1970-03-02", "--system", "20"), "no system 20"),
    ],
)
def test_bad_input_is_one_clear_error(records: Path, arguments: tuple[str, ...], says: str) -> None:
    result = predict("--failures", records, *arguments)
    assert isinstance(result.exception, UsageError)
    assert says in str(result.exception)
