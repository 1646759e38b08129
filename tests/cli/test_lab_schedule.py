"""``whesl lab schedule`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from whesl.cli.group import cli
from whesl.model.errors import WheslError

JOBS = ((1, 0, 10, 2), (2, 1, 5, 3), (3, 2, 8, 1), (4, 3, 8, 2), (5, 9, 5, 1), (6, 9, 0, 1), (7, 9, 3, 5))


def swf(path: Path, header: str = "; MaxProcs: 4\n") -> Path:
    lines = [
        f"{job} {at} -1 {run} {size} -1 -1 {size} {run} -1 1 1 1 1 1 1 -1 -1" for job, at, run, size in JOBS
    ]
    path.write_text(header + "\n".join(lines) + "\nrubbish\n")
    return path


def schedule(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["lab", "schedule", *map(str, arguments)], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.costly
def test_results(tmp_path: Path) -> None:
    log, out = swf(tmp_path / "x.swf"), tmp_path / "out"
    summary = json.loads(schedule("--log", log, "--policy", "easy", "--out", out, "--json"))
    assert summary == json.loads((out / "summary.json").read_text())
    assert (summary["jobs"], summary["processors"], summary["mean_wait"]) == (5, 4, 21 / 5)
    assert summary["lines_malformed"] == [{"line": 9, "reason": "1 fields"}]
    assert [(each["count"], each["lines"]) for each in summary["lines_noted"]] == [(1, "7"), (1, "8")]
    table = parquet.read_table(out / "jobs.parquet")
    assert table.column_names == [
        "job",
        "submit",
        "start",
        "end",
        "processors",
        "nodes",
        "attempts",
        "killed",
    ]
    assert table["start"].to_pylist() == [0, 10, 2, 15, 9]
    assert table["end"].to_pylist() == [10, 15, 10, 23, 14]
    assert table["nodes"].to_pylist() == [[0, 1], [0, 1, 2], [2], [0, 1], [3]]
    assert table["attempts"].to_pylist() == [1] * 5


def test_failures(tmp_path: Path) -> None:
    log, out = swf(tmp_path / "x.swf"), tmp_path / "out"
    failures = tmp_path / "failures.csv"
    failures.write_text("node,start,end\n0,0,0\n1,6,20\n")
    arguments = ("--log", log, "--failures", failures, "--out", out, "--json")
    summary = json.loads(schedule(*arguments))
    table = parquet.read_table(out / "jobs.parquet")
    assert table["attempts"].to_pylist()[0] == 2
    assert table["killed"].to_pylist()[0] == 1
    assert summary["kills"] == 1
    assert summary["node_hours_lost"] == pytest.approx(12 / 3600)
    kept = json.loads(schedule(*arguments, "--checkpoint", 4))
    assert kept["node_hours_lost"] == pytest.approx(4 / 3600)
    avoided = json.loads(schedule(*arguments, "--policy", "reliable", "--predictor", "exact"))
    assert avoided["kills"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--strict",), "1 malformed lines"),
        (("--policy", "reliable"), "needs failures"),
        (("--predictor", "exact"), "about failures"),
        (("--processors", 10**10), "a machine of 10000000000 nodes\n.*at most 10,000,000"),
        (("--processors", 10**30), "at most 10,000,000"),
        (("--processors", 0), "0 is not in the range"),
        (("--checkpoint", "nan"), "nan is no finite number"),
        (("--seed", -1), "-1 is not in the range"),
    ],
)
def test_refused(tmp_path: Path, arguments: tuple[object, ...], said: str) -> None:
    with pytest.raises((WheslError, click.UsageError), match=said):
        schedule("--log", swf(tmp_path / "x.swf"), *arguments)


def test_a_machine_that_nothing_tells(tmp_path: Path) -> None:
    with pytest.raises(WheslError, match="MaxProcs"):
        schedule("--log", swf(tmp_path / "x.swf", ""))


def test_numbers_that_no_log_has(tmp_path: Path) -> None:
    """Seconds were lost in times so late, and a job's number became another one."""
    log, out = tmp_path / "x.swf", tmp_path / "out"
    rest = "-1 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1"
    log.write_text(f"; MaxProcs: 4\n1 {10**300} {rest}\n{10**30} 1 {rest}\n2.5 2 {rest}\n4 3 {rest}\n")
    summary = json.loads(schedule("--log", log, "--out", out, "--json"))
    assert [each["lines"] for each in summary["lines_noted"]] == ["2", "3-4", "3"]
    assert parquet.read_table(out / "jobs.parquet")["job"].to_pylist() == [-1, -1, 4]


def test_failures_of_a_larger_machine(tmp_path: Path) -> None:
    failures = tmp_path / "failures.csv"
    failures.write_text("node,start,end\n1,6,20\n9,6,20\n")
    with pytest.raises(WheslError, match=r"failures\.csv:3: node 9 is not one of 4\n.*nodes are 0 to 3"):
        schedule("--log", swf(tmp_path / "x.swf"), "--failures", failures)


def test_a_machine_that_is_too_small_for_all(tmp_path: Path) -> None:
    log = tmp_path / "x.swf"
    log.write_text("1 0 -1 10 9 -1 -1 9 20 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(WheslError, match=r"no job can run on 4 processors: .*: line 1\n.*--processors N"):
        schedule("--log", log, "--processors", 4)
