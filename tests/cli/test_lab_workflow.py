"""``whesl lab workflow``: what it writes, and what it says of bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from whesl.cli.group import cli
from whesl.model.errors import UsageError, WheslError

STG = "2\n0 0 0\n1 5 1 0\n2 7 1 1\n3 0 1 2\n"
FAILURES = "node,start,end\n0,3,4\n1,100,\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.stg").write_text(STG)
    (tmp_path / "f.csv").write_text(FAILURES)
    return tmp_path


def call(*words: str) -> str:
    result = CliRunner().invoke(cli, ["lab", "workflow", "--quiet", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*words: str) -> str:
    result = CliRunner().invoke(cli, ["lab", "workflow", "--quiet", *words])
    if isinstance(result.exception, WheslError):
        return str(result.exception)
    assert result.exit_code == 2
    return result.output


def test_a_run_and_its_files(folder: Path) -> None:
    words = ["--workflow", "g.stg", "--nodes", "2", "--failures", "f.csv", "--policy", "rank_hybd"]
    shown = json.loads(call(*words, "--out", "out", "--json"))
    assert shown == json.loads((folder / "out" / "summary.json").read_text())
    # Records begin at 3, when node 0 fails for a second: the first task runs on node 1.
    assert (shown["makespan"], shown["loss"], shown["reschedulings"]) == ([12.0], 0.0, 0)
    jobs = pq.read_table(folder / "out" / "jobs.parquet").to_pydict()
    assert jobs["name"] == ["0", "1", "2", "3"]
    assert (jobs["submit"], jobs["end"]) == ([0, 0, 5, 12], [0, 5, 12, 12])
    assert jobs["node"][1:3] == [1, 0]
    assert pq.read_table(folder / "out" / "attempts.parquet").num_rows == 4


def test_policies_side_by_side(folder: Path) -> None:
    words = ["--workflow", "g.stg", "--failures", "f.csv", "--predictor", "exact", "--policy", "flaw"]
    shown = call(*words, "--policy", "fifo", "--out", "out")
    assert [line.split("|")[1].strip() for line in shown.splitlines()] == ["policy", "---", "flaw", "fifo"]
    assert (folder / "out" / "flaw" / "summary.json").exists()
    assert (folder / "out" / "fifo" / "jobs.parquet").exists()


def test_a_machine_as_toml(folder: Path) -> None:
    (folder / "r.toml").write_text(
        "bandwidth = 1e9\n[[nodes]]\ncount = 1\n[[nodes]]\nnames = 'fast[1-1]'\nspeed = 2.0\n"
    )
    assert json.loads(call("--workflow", "g.stg", "--resources", "r.toml", "--json"))["makespan"] == [6.0]


def test_a_machine_of_so_many_nodes(folder: Path) -> None:
    (folder / "r.toml").write_text("nodes = 4\n")
    assert json.loads(call("--workflow", "g.stg", "--resources", "r.toml", "--json"))["nodes"] == 4


def test_a_policy_that_asks_without_a_predictor_says_so(folder: Path) -> None:
    words = ["lab", "workflow", "--workflow", "g.stg", "--nodes", "2", "--policy", "flaw"]
    assert "flaw asks no predictor (--predictor)" in CliRunner().invoke(cli, words).stderr


def test_predictions_of_an_accuracy_follow_their_seed(folder: Path) -> None:
    words = [
        "--workflow",
        "g.stg",
        "--nodes",
        "2",
        "--failures",
        "f.csv",
        "--json",
        "--predictor",
        "aoa:0.5:1",
    ]
    assert call(*words, "--seed", "3") == call(*words, "--seed", "3")
    assert "AOA(0.5, mix 1, seed 3)" in call(*words, "--seed", "3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workflow", "g.stg"], "no machine"),
        (["--workflow", "g.stg", "--nodes", "2", "--resources", "r.toml"], "both say what the machine is"),
        (["--workflow", "g.stg", "--nodes", "1", "--failures", "f.csv"], "f.csv:3: node 1 is not one of 1"),
        (["--workflow", "g.stg", "--nodes", "1000000000000"], "1000000000000 is not in the range"),
        (["--workflow", "g.stg", "--nodes", "2", "--predictor", "magic"], "no predictor 'magic'"),
        (["--workflow", "g.stg", "--nodes", "2", "--predictor", "aoa:2"], "AOA 2.0 is not from 0 to 1"),
        (["--workflow", "g.stg", "--nodes", "2", "--policy", "fifo", "--ascending"], "does not fit fifo"),
        (["--workflow", "g.stg", "--nodes", "2", "--policy", "best"], "'best' is not one of"),
        (["--workflow", "g.stg", "--nodes", "2", "--strict"], "which is not given"),
        (["--workflow", "none.json", "--nodes", "2"], "cannot read none.json"),
        (["--workflow", "f.csv", "--nodes", "2"], "accepted are WfCommons .json and .stg"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, words: list[str], said: str) -> None:
    assert said in refused(*words)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("nodes = 0", "nodes have names or a count"),
        ("nodes = 'many'", "r.toml:1: nodes is 'many': expected `int | array`"),
        ("nodes = []", "r.toml:1: no nodes"),
        ("[[nodes]]\ncount = -1", "r.toml:2: count is -1"),
        ("[[nodes]]\ncount = 2\nspeed = -1", "r.toml:3: speed is -1"),
        ("[[nodes]]\nspeeds = 1", "r.toml:2: 'speeds' is not known here; 'speed' is meant?"),
        ("[[nodes]]\nspeed = 1", "nodes have names or a count"),
        ('[[nodes]]\nnames = "n[1-"', "r.toml:2: "),
        ("bandwidth = 'fast'\n[[nodes]]", "r.toml:1: bandwidth is 'fast': expected `float`"),
        ("[[nodes]", "r.toml:1: no TOML"),
    ],
)
def test_bad_machines_are_named(folder: Path, content: str, said: str) -> None:
    (folder / "r.toml").write_text(content)
    found = refused("--workflow", "g.stg", "--resources", "r.toml")
    assert said in found
    assert "r.toml" in found


def test_failures_of_another_machine(folder: Path) -> None:
    (folder / "r.toml").write_text("[[nodes]]\ncount = 5\n")
    words = ["--workflow", "g.stg", "--resources", "r.toml", "--failures", "f.csv"]
    assert "failures of 2 nodes, and the machine has 5" in refused(*words)


def test_errors_are_those_of_usage(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["lab", "workflow", "--workflow", "g.stg"])
    assert isinstance(result.exception, UsageError)


def test_a_fitted_predictor_knows_the_past_alone(folder: Path) -> None:
    lines = [f"{node},{at},{at + 60}" for at in range(0, 2_000_000, 50_000) for node in (0, 1)]
    (folder / "long.csv").write_text("\n".join(["node,start,end", *lines]) + "\n")
    words = ["--workflow", "g.stg", "--nodes", "2", "--failures", "long.csv", "--predictor", "survival"]
    found = json.loads(
        call(*words, "--at", "1000100", "--policy", "reliable", "--threshold", "0.2", "--json")
    )
    assert found["predictor"].startswith("survival(")
    assert "nothing to fit to" in refused(*words)


@pytest.mark.parametrize(("nodes", "loaded"), [("2", False), ("200", True)])
def test_small_workflows_run_uncompiled(tmp_path: Path, nodes: str, loaded: bool) -> None:
    """Two tasks on two nodes took half a minute of a processor, all of it to compile."""
    (tmp_path / "g.stg").write_text(STG)
    program = (
        "import sys\nfrom whesl.prediction import compile_choice\nfrom whesl.cli.group import cli\n"
        f"try: cli(['lab', 'workflow', '--workflow', 'g.stg', '--nodes', {nodes!r}, '-q'])\n"
        "except SystemExit as end: assert not end.code, end\n"
        "print(compile_choice.compiles(), 'numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == f"{loaded} {loaded}"
