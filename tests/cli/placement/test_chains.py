"""``whesl placement chains``: the way of a newcomer, bad input, and a follower that is a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests import commands
from tests.prediction.log_chains.test_stream import LOG, line
from tests.waiting import until
from whesl.cli.group import cli
from whesl.model.evidence import PredictedFailure
from whesl.placement.site.history import prediction_file

CHAINS = """version = 1

[[chain]]
name = 'memory'
lead = 600
confidence = 0.8
steps = ['EDAC MC<*>: <*> CE <*>', 'Kernel panic - not syncing: <*>']
"""


def whesl(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["placement", "chains", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "chains.toml").write_text(CHAINS)
    (tmp_path / "log").write_bytes(LOG)
    return tmp_path


@pytest.mark.costly
def test_the_demonstration_keeps_what_it_made_and_the_other_commands_take_it(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    size = ("--nodes", 24, "--days", 15, "--failures", 90, "--count", 4)
    shown = whesl("demo", "-q", *size, "--out", out, "--json")
    assert shown.exit_code == 0, shown.output
    summary = json.loads(shown.stdout)
    assert summary["synthetic"] is True
    assert summary["mined"]["recall"] > 0.4
    mined = tmp_path / "mined.toml"
    found = whesl("mine", "-q", "--log", out / "log", "--failures", out / "failures.csv", "--out", mined)
    assert found.exit_code == 0, found.output
    assert "on the failures held out: precision" in found.output
    checked = whesl("check", "-q", mined, "--log", out / "log", "--failures", out / "failures.csv", "--json")
    assert checked.exit_code == 0, checked.output
    scores = json.loads(checked.stdout)["scores"]
    assert scores["precision"] > 0.5
    ran = whesl("run", "--chains", mined, "--log", out / "log", "--json")
    assert ran.exit_code == 0, ran.output
    lines = [row for row in ran.stdout.splitlines() if row.startswith("{")]
    assert len(lines) == scores["predictions"]


def test_predictions_are_printed_and_recorded(files: Path) -> None:
    record = files / "predictions.jsonl"
    shown = whesl("run", "--chains", files / "chains.toml", "--log", files / "log", "--record", record)
    assert shown.exit_code == 0, shown.output
    assert "n1 fails in 10 min with probability 0.80: chain memory" in shown.output
    assert "1 lines hold a message of a chain, and no time and node" in shown.output
    (one,) = prediction_file.read(record).predictions
    assert (one.node, one.lead, one.source) == ("n1", 600.0, "chains:memory")
    others = whesl("run", "--chains", files / "chains.toml", "--log", files / "log", "--nodes", "n[5-9]")
    assert "1 predictions of nodes that are not in --nodes" in others.output


def test_a_follower_survives_rotation_and_ends_when_it_is_told_to(files: Path) -> None:
    log, record = files / "messages", files / "record"
    first, last = "EDAC MC0: 3 CE memory read error", "Kernel panic - not syncing: Fatal"
    log.write_bytes(line(0, "n2", first) + line(0, "n2", last) + line(0, "n1", first))
    words = [
        "placement",
        "chains",
        "run",
        "--chains",
        files / "chains.toml",
        "--log",
        log,
        "--record",
        record,
    ]
    process = commands.begin(
        *map(str, words), "--follow", "--whole", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: prediction_file.read(record).predictions, "the first prediction", 60)
        os.rename(log, files / "messages.1")  # noqa: PTH104 - as logrotate does
        log.write_bytes(line(1, "n1", last))
        until(lambda: len(prediction_file.read(record).predictions) > 1, "the second prediction", 60)
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "n1 fails in 10 min" in out
    assert "4 lines, 2 predictions" in err


def test_bad_input_is_one_clear_error(files: Path) -> None:
    (files / "bad.toml").write_text(CHAINS.replace("600", "-5"))
    (files / "noise").write_text("hello\n" * 300)
    (files / "damaged.xz").write_bytes(b"\xfd7zXZ\x00" + b"x" * 50)
    good, log = files / "chains.toml", files / "log"
    for words, told in [
        (("check", files / "bad.toml"), "bad.toml:5: lead: -5"),
        (("run", "--chains", good, "--log", files / "noise"), "noise: none of its first 200 lines"),
        (("run", "--chains", good, "--log", files / "damaged.xz"), "damaged.xz"),
        (("run", "--chains", good), "give either --log FILE or --journal"),
        (("run", "--chains", good, "--log", files / "none"), "cannot read"),
        (("run", "--chains", good, "--log", log, "--nodes", "n[1-"), "--nodes n[1- is no list"),
        (("run", "--chains", good, "--log", log, "--form", "(?P<node>x)"), "no group time"),
        (("check", good, "--failures", log), "--failures without --log"),
        (("mine", "--log", log, "--failures", log), "accepted are"),
    ]:
        shown = whesl(*words)
        assert shown.exit_code != 0
        said = shown.output + str(shown.exception)
        assert told in said, said
        assert not isinstance(shown.exception, (KeyError, ValueError, TypeError, IndexError))


def test_a_file_of_predictions_with_damage_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "p"
    first = PredictedFailure(node="n1", time=1.0, lead=60.0, confidence=0.5)
    prediction_file.append(path, first)
    with path.open("ab") as file:
        file.write(b'{"node": "n2", "time": 1')  # a writer that was killed
    assert prediction_file.read(path).predictions == [first]
    prediction_file.append(path, first)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(PredictedFailure(node="n1", time=1.0, lead=-1.0)) + b"\n")
    read = prediction_file.read(path)
    assert read.predictions == [first, first]
    assert [number for number, _ in read.malformed] == [2, 4]
    assert prediction_file.read(tmp_path / "none").predictions == []


@pytest.fixture
def remembering(files: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Return what starts a follower of ``messages`` that remembers; it is killed at the end."""
    started = []

    def start() -> subprocess.Popen[str]:
        words = ("--chains", "chains.toml", "--log", "messages", "--record", "record", "--state", "state")
        started.append(
            commands.begin(
                "placement",
                "chains",
                "run",
                *words,
                "--follow",
                "--whole",
                cwd=files,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.costly
def test_a_half_seen_chain_survives_a_kill_and_a_rotation(
    files: Path, remembering: Callable[[], subprocess.Popen[str]]
) -> None:
    """Also a line that was half written when the follower was killed, and what was logged meanwhile."""
    first, last = "EDAC MC0: 3 CE memory read error", "Kernel panic - not syncing: Fatal"
    log, state, record = files / "messages", files / "state", files / "record"
    torn = line(1, "n2", last)
    log.write_bytes(line(0, "n1", first) + line(0, "n2", first) + torn[:40])
    process = remembering()
    until(lambda: state.exists() and b'"n2"' in state.read_bytes(), "what is half seen is written down", 60)
    process.kill()
    process.wait()
    with log.open("ab") as file:
        file.write(torn[40:])
    log.rename(files / "messages.1")
    log.write_bytes(line(2, "n1", last))
    process = remembering()
    until(lambda: len(prediction_file.read(record).predictions) == 2, "both predictions", 60)
    assert [one.node for one in prediction_file.read(record).predictions] == ["n2", "n1"]
    process.send_signal(signal.SIGTERM)
    assert "2 lines, 2 predictions" in process.communicate(timeout=60)[1]
    # Nothing of it comes once more.
    process = remembering()
    log.open("ab").write(line(3, "n1", first))
    until(lambda: state.read_bytes().count(b'"n1"') == 1, "the next line was read", 60)
    assert len(prediction_file.read(record).predictions) == 2


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 5000])
def test_a_state_that_cannot_be_used_is_told_and_written_anew(
    content: bytes, files: Path, remembering: Callable[[], subprocess.Popen[str]]
) -> None:
    (files / "state").write_bytes(content)
    (files / "messages").write_bytes(LOG)
    process = remembering()
    until(lambda: prediction_file.read(files / "record").predictions, "a prediction", 60)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert "state cannot be used, and is written anew" in said
    assert "Traceback" not in said
    refused = whesl("run", "--chains", files / "chains.toml", "--log", files / "log", "--state", "x")
    assert "--state without --log FILE --follow" in str(refused.exception)
