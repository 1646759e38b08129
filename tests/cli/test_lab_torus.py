"""``whesl lab torus`` and ``whesl lab grid``: results as files, and slips with what would be accepted."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from whesl.cli import main
from whesl.cli.lab.grid import grid
from whesl.cli.lab.torus import torus
from whesl.model.errors import WheslError

# Compiled for the first time, the loops take half a minute of a processor.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FIELDS = "{job} {submit} -1 {run} {cpus} -1 -1 {cpus} -1 -1 1 {user} 1 -1 1 {partition} -1 -1"
CLUSTERS = """
[[cluster]]
name = "fast"
machines = 2
cpus = 4
speed = 2.0
properties = ["nfs"]

[[cluster]]
name = "slow"
machines = 3
cpus = [2, 2, 1]
"""


def line(job: int, submit: int, run: int, cpus: int, user: int = 1, partition: int = 1) -> str:
    return FIELDS.format(job=job, submit=submit, run=run, cpus=cpus, user=user, partition=partition)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    rows = [line(1, 0, 100, 4), line(2, 10, 50, 8), line(3, 20, 30, 1, 2, 2), line(4, 30, 0, 1)]
    path.write_text("\n".join(["; MaxProcs: 16", *rows]) + "\n")
    return path


def test_torus_writes_jobs_and_a_summary(log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    failures = tmp_path / "failures.csv"
    failures.write_text("node,start,end\n0,40,41\n5,45,46\n")
    out = tmp_path / "out"
    command = f"--log {log} --shape 2x2x4 --failures {failures} --policy balancing --confidence 0.1"
    done = CliRunner().invoke(torus, [*command.split(), "--out", str(out), "--json"], catch_exceptions=False)
    summary = json.loads(done.stdout)
    assert json.loads((out / "summary.json").read_text()) == summary
    assert (summary["jobs"], summary["without_run_time"], summary["failure_count"]) == (3, 1, 2)
    rows = parquet.read_table(out / "jobs.parquet").to_pylist()
    assert [row["job"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert len(row["nodes"]) == row["processors"]
        assert row["end"] > row["start"] >= row["submit"]
        assert row["attempts"] == row["killed"] + 1


def test_failures_in_the_log_s_seconds_come_when_they_say(log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    failures = tmp_path / "failures.csv"
    failures.write_text("\n".join(["node,start,end", *(f"{node},15,15" for node in range(16))]))
    command = f"--log {log} --shape 2x2x4 --failures {failures} --out {tmp_path / 'out'}"
    CliRunner().invoke(torus, command.split(), catch_exceptions=False)
    rows = parquet.read_table(tmp_path / "out" / "jobs.parquet").to_pylist()
    assert [(row["start"], row["killed"]) for row in rows] == [(15.0, 1), (15.0, 1), (20.0, 0)]


def test_grid_writes_jobs_and_a_summary(log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    clusters = tmp_path / "clusters.toml"
    clusters.write_text(CLUSTERS)
    failures = tmp_path / "failures.csv"
    failures.write_text("cluster,machine,start,end\nfast,0,40,60\n")
    out = tmp_path / "out"
    command = f"--log {log} --clusters {clusters} --failures {failures} --policy cons --requirements used"
    done = CliRunner().invoke(grid, [*command.split(), "--out", str(out), "--json"], catch_exceptions=False)
    summary = json.loads(done.stdout)
    assert json.loads((out / "summary.json").read_text()) == summary
    rows = parquet.read_table(out / "jobs.parquet").to_pylist()
    assert [(row["job"], row["killed"], row["cluster"]) for row in rows] == [
        (1, 1, "fast"),
        (2, 0, ""),  # with a machine down no cluster holds eight processors
        (3, 0, "slow"),
    ]
    assert rows[0]["end"] == 40.0
    assert [row["cancelled"] for row in rows] == [False, True, False]
    assert [row["nodes"] for row in rows] == [[0], [], [2]]


TORUS_SLIPS = [
    ("--shape 2x2x1", r"small.swf:3: job 2 needs 8 .*no partition suits it"),
    ("--shape 2x2", "no torus"),
    ("--shape 0x1x1", "1 or more"),
    ("--shape 2x2x4 --accuracy 0.5", "does not fit krevat"),
    ("--shape 2x2x4 --policy balancing --confidence 0.5", "--failures FILE"),
    ("--shape 2x2x4 --failures {bad}", "not a file of failures"),
    ("--shape 2x2x4 --failures {other}", "nodes"),
    ("--shape 2x2x4 --failures {late} --failure-count 9", "the records hold 1"),
    ("--shape 2x2x4 --system 2", "which is not given"),
    ("--shape 2x2x4 --load nan", "no finite number"),
]


@pytest.mark.parametrize(("options", "said"), TORUS_SLIPS)
def test_slips_on_a_torus(options: str, said: str, log: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("nothing of that kind\n")
    (tmp_path / "other").write_text("node,start,end\n99,40,41\n")
    (tmp_path / "late").write_text("node,start,end\n1,40,41\n")
    names = {name: tmp_path / name for name in ("bad", "other", "late")}
    with pytest.raises((WheslError, click.UsageError), match=said):
        CliRunner().invoke(
            torus,
            ["--log", str(log), *options.format(**names).split()],
            catch_exceptions=False,
            standalone_mode=False,
        )


GRID_SLIPS = [
    ("--clusters {clusters} --failures {unknown}", r"unknown:2: a failure of cluster 'other'"),
    ("--clusters {clusters} --failures {machine}", r"machine:1: a failure of machine 7 of fast, which has 2"),
    ("--clusters {clusters} --failures {broken} --strict", "broken:2: "),
    ("--clusters {clusters} --failures {late}", "no failure within the log's time"),
    ("--clusters {clusters} --failures {late} --afc 1", "give one of them"),
    ("--clusters {clusters} --afc nan", "no finite number"),
    ("--clusters {clusters} --afc 1e12", "up to 10,000,000 can be generated"),
    ("--clusters {clusters} --policy ls --starts 5 --seconds 2", "give one of them"),
    ("--clusters {clusters} --seconds 2", "about local search"),
    ("--clusters {clusters} --policy ls --seconds 0", "not in the range"),
    ("--clusters {one} --requirements used", r"small.swf:4: partition 2 is no cluster"),
    ("--clusters {empty}", "no cluster"),
    ("--clusters {twice}", "twice:5: cluster a is listed twice|listed twice"),
    ("--clusters {table}", "table:1: no cluster"),
    ("--clusters {huge}", "huge.toml:[12]: cluster a: 1 to 10,000,000 machines"),
    ("--clusters {wide}", "wide.toml:[12]: cluster a: 1 to 10,000,000 machines and processors"),
]


@pytest.mark.parametrize(("options", "said"), GRID_SLIPS)
def test_slips_on_a_grid(options: str, said: str, log: Path, tmp_path: Path) -> None:
    one = '[[cluster]]\nname = "a"\nmachines = 1\ncpus = 8\n'
    files = {
        "clusters.toml": CLUSTERS,
        "one.toml": one,
        "empty.toml": "cluster = []",
        "twice.toml": one + one,
        "table": "not a table\n",
        "huge.toml": '[[cluster]]\nname = "a"\nmachines = 10000000000\ncpus = 1\n',
        "wide.toml": '[[cluster]]\nname = "a"\nmachines = 2\ncpus = 100000000000000000000000\n',
        "unknown": "cluster,machine,start,end\nother,0,10,20\n",
        "machine": "10\tfast\t5\t7\n",
        "broken": "10\tfast\t5\t0\nx\tfast\t5\t0\n",
        "late": "cluster,machine,start,end\nfast,0,1e9,2e9\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    names = {name.partition(".")[0]: tmp_path / name for name in files}
    with pytest.raises((WheslError, click.UsageError), match=said):
        CliRunner().invoke(
            grid,
            ["--log", str(log), *options.format(**names).split()],
            catch_exceptions=False,
            standalone_mode=False,
        )


def test_a_job_that_no_cluster_suits_is_cancelled_and_named(log: Path, tmp_path: Path) -> None:
    clusters = tmp_path / "one.toml"
    clusters.write_text('[[cluster]]\nname = "a"\nmachines = 1\ncpus = 4\n')
    done = CliRunner().invoke(grid, ["--log", str(log), "--clusters", str(clusters)], catch_exceptions=False)
    assert "1 jobs that no cluster suits are cancelled: lines 3" in done.stderr


def test_no_slip_shows_a_traceback(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lab", "torus", "--log", str(log), "--shape", "1x1x1"])
    assert ended.value.code == 2
    assert "no partition suits it" in capsys.readouterr().err
