"""``whesl placement learn``, ``score`` and ``health``: a newcomer's way with files, and bad input."""

from __future__ import annotations

import json
import runpy
import time
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.prediction.log_chains.test_stream import CHAIN, line
from whesl.cli.group import cli
from whesl.model.errors import UsageError
from whesl.placement.site.history import model
from whesl.placement.site.node_counters import Reading
from whesl.prediction.log_chains import chains_file

ROOT = Path(__file__).resolve().parents[3]
QUICK = ("--zone", "UTC", "--predictors", "prior,frailty", "-q")


def whesl(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["placement", *map(str, arguments)])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up site of the examples: synthetic, two of 16 nodes fail every other day."""
    out = tmp_path_factory.mktemp("site")
    runpy.run_path(str(ROOT / "examples" / "lab" / "made_up_site.py"))["main"](out)
    return out


@pytest.mark.costly
def test_a_model_is_learned_and_scored(site: Path, tmp_path: Path) -> None:
    records = ("--events", site / "events.txt", "--jobs", site / "jobs.txt")
    out = tmp_path / "site.npz"
    shown = whesl("learn", *records, *QUICK, "--out", out)
    assert shown.exit_code == 0, shown.output
    assert "below the base rate's" in shown.output
    assert "16 nodes, 39.9 days, 48 failures" in shown.output
    read = model.load(out)
    rows = sorted(read.risks(read.names, read.about.finish, (86400.0,)), key=lambda row: -row.probability[0])
    assert {row.node for row in rows[:2]} == {"n01", "n02"}
    page = tmp_path / "page"
    scored = whesl("score", *records, *QUICK, "--weeks", 3, "--out", page)
    assert scored.exit_code == 0, scored.output
    assert "none (no node ever fails)" in scored.output
    assert "too little history" in scored.output
    assert "Los Alamos" in scored.output
    summary = json.loads((page / "summary.json").read_text())
    assert summary["predictors"]["none"]["recall"] == 0
    assert summary["predictors"]["frailty"]["brier"] < summary["predictors"]["none"]["brier"]
    assert summary["beats_the_base_rate"] is True
    assert "no node ever fails" in (page / "index.html").read_text()


def test_signs_of_all_kinds_are_read(site: Path, tmp_path: Path) -> None:
    chains_file.save([CHAIN], tmp_path / "chains.toml")
    (tmp_path / "log").write_bytes(
        b"".join(
            text.replace(b"2026-01-01", b"2026-03-10")
            for text in (
                line(0, "n01", "EDAC MC0: 3 CE memory read error"),
                line(1, "n01", "Kernel panic - not syncing: x"),
            )
        )
    )
    readings = [
        Reading(node="n03", time=1773100000.0, counters={"memory corrected mc0": 1}),
        Reading(node="n03", time=1773200000.0, counters={"memory corrected mc0": 5}),
    ]
    health = tmp_path / "health"
    health.mkdir()
    (health / "n03.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, readings)) + b"\nnot json\n")
    (tmp_path / "nodes.json").write_text('{"nodes": []}')
    recorded = whesl(
        *("chains", "run", "--chains", tmp_path / "chains.toml", "--log", tmp_path / "log"),
        *("--record", tmp_path / "predictions"),
    )
    assert recorded.exit_code == 0, recorded.output
    shown = whesl(
        *("learn", "--events", site / "events.txt", *QUICK, "--nodes", "n[01-20]", "--health", health),
        *("--chains", tmp_path / "chains.toml", "--log", tmp_path / "log"),
        *("--predictions", tmp_path / "predictions", "--evidence", tmp_path / "nodes.json"),
        *("--out", tmp_path / "site.npz"),
    )
    assert shown.exit_code == 0, shown.output
    assert "20 nodes" in shown.output
    assert "log chains: 1 predictions" in shown.output
    assert "health: 2 readings, 1 counters that went up" in shown.output
    assert "n03.jsonl:3:" in shown.output
    about = model.load(tmp_path / "site.npz").about
    assert {"prior+signs", "frailty+signs"} <= about.scores.keys()


def test_bad_input_is_one_clear_error(site: Path, tmp_path: Path) -> None:
    events = ("--events", site / "events.txt")
    (tmp_path / "empty").write_text("")
    (tmp_path / "other").write_text("hello\n")
    (tmp_path / "back.txt").write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\nn1|2026-03-10T00:00:00|2026-03-09T00:00:00|DOWN|x\n"
    )
    for words, told in [
        (("learn",), "nothing to learn from"),
        (("learn", "--events", tmp_path / "empty"), "empty"),
        (("learn", "--events", tmp_path / "other"), "other:1: not a file of failures"),
        (("learn", "--events", tmp_path / "back.txt"), "no event in 1 lines"),
        (
            ("learn", "--events", tmp_path / "back.txt", "--strict"),
            "line 2: node n1 is back before it failed",
        ),
        (("learn", *events, "--nodes", "n[01-"), "--nodes n[01- is no list"),
        (("learn", *events, "--zone", "Mars/North"), "no such time zone"),
        (("learn", *events, "--since", "yesterday"), "--since 'yesterday' is no date"),
        (("learn", *events, "--leave-out", "("), "--leave-out is no regular expression"),
        (("learn", *events, "--predictors", "oracle"), "no predictor 'oracle'"),
        (("learn", *events, "--chains", tmp_path / "other"), "--log and --chains go together"),
        (("learn", *events, "--evidence", tmp_path / "other"), "is not the output of `whesl nodes --json`"),
        (("score", *events, "--weeks", 52), "5.7 weeks of history leave nothing before the last 52"),
        (("health", "--node", "../etc"), "is no name of a node"),
    ]:
        shown = whesl(*words)
        assert shown.exit_code != 0, words
        said = shown.output + str(shown.exception)
        assert told in said, said
        assert not isinstance(shown.exception, (KeyError, ValueError, TypeError, IndexError))


def test_a_history_of_days_is_not_scored_by_a_part_of_it(tmp_path: Path) -> None:
    """It was advised to score 0.0 weeks."""
    (tmp_path / "short.txt").write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\n"
        "n1|2026-03-09T00:00:00|2026-03-09T01:00:00|DOWN*|Not responding\n"
        "n2|2026-03-10T00:00:00|2026-03-10T01:00:00|DOWN*|Not responding\n"
    )
    shown = whesl("score", "--events", tmp_path / "short.txt", "--nodes", "n[1-4]")
    assert isinstance(shown.exception, UsageError)
    assert shown.exception.hint == "too little to score: go on observing"


def test_health_is_printed_and_appended(tmp_path: Path) -> None:
    counter = tmp_path / "sys/devices/system/edac/mc/mc0/ce_count"
    counter.parent.mkdir(parents=True)
    counter.write_text("4\n")
    words = ("health", "--root", tmp_path, "--no-smart", "--node", "n1")
    shown = whesl(*words)
    assert json.loads(shown.output)["counters"] == {"memory corrected mc0": 4}
    for _ in range(2):
        assert whesl(*words, "--append", tmp_path / "out").exit_code == 0
    assert len((tmp_path / "out" / "n1.jsonl").read_text().splitlines()) == 2
    (tmp_path / "out" / "n2.jsonl").symlink_to(tmp_path / "elsewhere")
    refused = whesl(*words[:-1], "n2", "--append", tmp_path / "out")
    assert refused.exit_code != 0
    assert not (tmp_path / "elsewhere").exists()


EVENTS = "NodeName|TimeStart|TimeEnd|State|Reason\nn2|{day}T10:00:00|{day}T12:00:00|DOWN*|Not responding\n"
JOBS = "JobID|State|Submit|Start|End|TimelimitRaw|NNodes|NodeList\n1|COMPLETED|{job}|{job}|{job}|60|1|n1\n"


@pytest.mark.parametrize("since", [None, "2026-01-01"])
def test_a_history_begins_with_its_accounts(
    since: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accounts that are younger than what was asked for say nothing of the time before them."""
    now = time.time()
    day = datetime.fromtimestamp(now - 5 * 86400).strftime("%Y-%m-%d")
    job = datetime.fromtimestamp(now - 20 * 86400).strftime("%Y-%m-%dT%H:%M:%S")
    for name, printed in (
        ("sinfo", "n[1-4]\n"),
        ("sacctmgr", EVENTS.format(day=day)),
        ("sacct", JOBS.format(job=job)),
    ):
        (tmp_path / f"{name}.txt").write_text(printed)
        (tmp_path / name).write_text(f"#!/bin/sh\ncat {tmp_path}/{name}.txt\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    shown = whesl("learn", "--slurm", "--json", *(("--since", since) if since else ()))
    assert shown.exit_code == 0, shown.output
    about = json.loads(shown.stdout)
    days = (about["finish"] - about["begin"]) / 86400
    expected = (now - datetime(2026, 1, 1).timestamp()) / 86400 if since else 20
    assert days == pytest.approx(expected, abs=0.1)
    assert about["failures"] == 1
