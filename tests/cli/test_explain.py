"""``whesl explain`` as it is called; a rehearsal says what a run that is only observed raises."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.language.corpus import EXAMPLES
from whesl.cli import main

RULES = """\
INCLUDE "disk"
INCLUDE "openmpi"
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION SLOW JOB_LEVEL JOB [solve]
EXCEPTION DETECTION SLOW LOG "retrying" output RECURRING 3 WITHIN 3600
EXCEPTION RECOVERY STEP SLOW JOB NODE.REPLACE
DECLARE EXCEPTION BROKEN JOB_LEVEL JOB [solve] ELSE FAIL
EXCEPTION DETECTION BROKEN EXCEPTION MPI_ERROR 2 TIMES
DECLARE EXCEPTION PAIR JOB_LEVEL JOB [solve] ELSE FAIL
EXCEPTION DETECTION PAIR MULTIPLE ["link down", MATCH "port \\d+ inactive"] output
DECLARE EXCEPTION HANG JOB_LEVEL JOB [solve] ELSE FAIL
EXCEPTION DETECTION HANG LOG "cycle" output TIMEOUT 3600
DECLARE EXCEPTION FAILED JOB_LEVEL JOB [solve] ELSE FAIL
EXCEPTION DETECTION FAILED EXIT CODE 3
DECLARE EXCEPTION OTHER JOB_LEVEL JOB [analyse] ELSE FAIL
EXCEPTION DETECTION OTHER LOG "retrying" output
EXCEPTION RECOVERY STEP DISK_FULL JOB JOB.REPLACE
EXCEPTION RECOVERY STEP MPI_ABORT JOB NODE.REPLACE
"""
LOG = """\
cycle 1
retrying the connection
[n02:12345] *** An error occurred in MPI_Send
link down
retrying the connection
OSError: [Errno 28] No space left on device
[n02:12345] *** An error occurred in MPI_Recv
port 17 inactive
cycle 2
retrying the connection
cp: error writing 'x': No space left on device
[n02:12345] *** An error occurred in MPI_Recv
"""


def call(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as exited:
        main([str(argument) for argument in arguments])
    assert isinstance(exited.value.code, int)
    return exited.value.code


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.esl"
    path.write_text(RULES)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "old.out"
    path.write_text(LOG)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert call("explain", *arguments, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_in_sentences(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("explain", rules) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"SLOW (JOB_LEVEL, {rules}:7) Watched for: solve" in text
    assert 'contains "retrying", 3 times within 1 h' in text
    assert "No space left on device" not in text
    assert re.search(r"no space left on device.*\[<disk>:\d+\]", text)
    assert "Nothing is done about it: the task fails." in text
    assert "MPI_NETWORK" not in text


def test_which_tasks_of_a_workflow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("prepare", "solve"):
        (tmp_path / f"{name}.sh").write_text("#!/bin/sh\n#SBATCH -N 1\ntrue\n")
    path = tmp_path / "rules.esl"
    path.write_text(EXAMPLES["hang.esl"].replace("run-lulesh", "solve"))
    assert call("explain", path, "--workflow", tmp_path / "solve.sh") == 0
    assert "Watched for: 1 of 1 tasks: solve" in capsys.readouterr().out
    assert said(capsys, path, "--workflow", tmp_path / "solve.sh")["exceptions"][0]["tasks"] == ["solve"]


def test_on_a_log(rules: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("explain", rules, "--log", log) == 0
    text = capsys.readouterr().out
    assert f"{rules}, on 12 lines ({len(LOG)} bytes)" in text
    assert "DISK_FULL would have been raised twice:" in text
    assert f"{log}:6 (byte {LOG.index('OSError')}): OSError: [Errno 28] No space left on device" in text
    assert f"{log}:10 (byte {LOG.rindex('retrying')}) after 3 lines: retrying the connection" in text
    assert "[MPI_ERROR 2 times is BROKEN]" in text
    assert "its pattern is in 2 lines, the last one is line 9" in text
    assert "SLOW: WITHIN 3600 s, which is taken as kept" in text
    assert "FAILED: how the job ended, unless --status says so" in text


def test_what_is_shown_is_bounded(rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = tmp_path / "long.out"
    long.write_text("No space left on device\x1b[2J\n" * 20)
    assert call("explain", rules, "--log", long) == 0
    text = capsys.readouterr().out
    assert "... and 15 more" in text
    assert "\x1b" not in text
    assert call("explain", rules, "--log", long, "--all") == 0
    assert "more" not in capsys.readouterr().out


@pytest.mark.parametrize("module", [gzip, bz2, lzma], ids=lambda module: module.__name__)
def test_a_compressed_log_is_read_as_its_text(
    rules: Path, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], module: Any
) -> None:
    found = said(capsys, rules, "--log", log)["log"]["counts"]
    packed = tmp_path / "old.log"
    packed.write_bytes(module.compress(LOG.encode()))
    assert found and said(capsys, rules, "--log", packed)["log"]["counts"] == found
    packed.write_bytes(packed.read_bytes()[:-9])
    assert call("explain", rules, "--log", packed) == 2
    assert f"cannot read {packed} to its end" in capsys.readouterr().err


def test_a_log_that_nothing_here_unpacks_is_no_quiet_one(
    rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    packed = tmp_path / "old.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd and so on")
    assert call("explain", rules, "--log", packed) == 2
    assert f"zstd -dc {packed} into a pipe" in capsys.readouterr().err


def test_a_log_from_a_pipe(rules: Path) -> None:
    done = commands.whesl("explain", str(rules), "--log", "-", input=LOG, check=True)
    assert "DISK_FULL would have been raised twice:" in done.stdout


def test_nothing(rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").touch()
    assert call("explain", rules, "--log", tmp_path / "empty") == 0
    assert "nothing would have been raised" in capsys.readouterr().out


def test_rules_that_watch_nothing_call_no_log_clean(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = tmp_path / "idle.esl"
    idle.write_text('INCLUDE "disk"\n')
    assert call("explain", idle, "--log", log) == 0
    said = capsys.readouterr().out
    assert "nothing is watched" in said and "nothing would have been raised" not in said
    assert call("explain", idle) == 0
    assert "nothing is watched" in capsys.readouterr().out


def test_logs_of_one_source(
    rules: Path, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RULES.replace('"retrying" output', '"retrying" file "logs/a.log"')
    rules.write_text(text)
    assert "SLOW" not in said(capsys, rules, "--log", log)["log"]["counts"]
    assert said(capsys, rules, "--log", f"logs/a.log={log}")["log"]["counts"] == {"OTHER": 3, "SLOW": 1}
    odd = tmp_path / "a=b.out"
    odd.write_text(LOG)
    assert "DISK_FULL" in said(capsys, rules, "--log", odd)["log"]["counts"]


def test_mistakes(rules: Path, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("explain", rules, "--log", tmp_path / "none") == 2
    assert "stdout, stderr, output" in capsys.readouterr().err
    assert call("explain", rules, "--status", "3") == 2
    rules.write_text("DECLARE ENTITY WRONG\n")
    assert call("explain", rules, "--log", log) == 1
    assert "ESL020" in capsys.readouterr().err


@pytest.mark.costly
@pytest.mark.parametrize(
    ("status", "streams"), [(0, "one"), pytest.param(3, "one", marks=pytest.mark.variant), (3, "two")]
)
def test_a_rehearsal_says_what_an_observed_run_raises(
    rules: Path, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, streams: str
) -> None:
    script = f"cat {log}{' >&2' if streams == 'two' else ''}; exit {status}"
    out, err, summary = tmp_path / "real.out", tmp_path / "real.err", tmp_path / "summary.json"
    command = ["exec", "--observe", "-e", str(rules), "--name", "solve"]
    command += ["--no-coordinator", "--json-summary", str(summary), "--quiet", "--", "sh", "-c", script]
    with out.open("wb") as stdout, (out if streams == "one" else err).open("ab") as stderr:
        ended = commands.whesl(*command, stdout=stdout, stderr=stderr, cwd=tmp_path)
    assert ended.returncode == status
    raised = json.loads(summary.read_text())["handled"]
    assert {item["outcome"] for item in raised} == {"observed"}

    logs = ["--log", str(out)] if streams == "one" else ["--log", f"stdout={out}", "--log", f"stderr={err}"]
    rehearsed = said(capsys, rules, *logs, "--job", "solve", "--status", str(status))["log"]
    # An observed run tells each exception once, where it was raised first.
    first = [o for o in rehearsed["occurrences"] if o["number"] == 1]
    assert [o["exception"] for o in first] == [r["exception"] for r in raised]
    for seen, told in zip(first, raised, strict=True):
        # Of lines that count together a rehearsal shows the last, a summary the first.
        if seen["line"] > 0 and not told["others"]:
            assert (seen["file"], seen["offset"]) == (told["file"], told["offset"])
    assert [o["transformed_from"] for o in first] == [r["transformed_from"] for r in raised]
    assert {o["exception"] for o in first} == {"SLOW", "MPI_ERROR", "BROKEN", "PAIR", "DISK_FULL"} | (
        {"FAILED"} if status else set()
    )
