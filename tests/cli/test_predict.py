"""``whesl ckpt predict`` for running tasks: told once; a program without a client writes before it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import commands, waiting
from tests.alike import alike
from tests.waiting import written
from whesl.api import PredictedFailure, RefusedError, UsageError, predict_failure
from whesl.model import home

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE, CHECKPOINT]
DECLARE EXCEPTION DYING JOB_LEVEL JOB [run] LIMIT 1 ELSE FAIL
EXCEPTION DETECTION DYING PREDICTED WITHIN 600 CONFIDENCE 0.5
EXCEPTION RECOVERY STEP DYING JOB JOB.CHECKPOINT {
    "trigger": "${workspace}/now", "written": "${workspace}/state.*", "timeout": 60
}
EXCEPTION RECOVERY STEP DYING JOB JOB.REPLACE {"environment": {"AGAIN": "1"}}
"""
# Counts on from its newest state, and writes that when it is asked for it.
PROGRAM = """\
import os, pathlib, time
states = sorted(pathlib.Path().glob("state.*"))
step = int(states[-1].read_text()) if states else 0
print(f"from {step}, again={os.environ.get('AGAIN', '0')}", flush=True)
while not os.path.exists("end"):
    step += 1
    time.sleep(0.01)
    if os.path.exists("now"):
        pathlib.Path("state.1").write_text(str(step))
        os.unlink("now")
"""
NODE = socket.gethostname()


def whesl(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return commands.whesl(*words, env={**os.environ, "WHESL_HOME": str(place / "home")}, cwd=place)


def begin(place: Path, *options: str) -> subprocess.Popen[bytes]:
    (place / "rules.esl").write_text(RULES)
    (place / "program.py").write_text(PROGRAM)
    command = ["exec", "-e", "rules.esl", *options, "--step", "run", "--", sys.executable, "program.py"]
    with (place / "output").open("w") as output:
        return commands.begin(
            *command,
            env={**os.environ, "WHESL_HOME": str(place / "home")},
            cwd=place,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


@pytest.mark.costly
@pytest.mark.parametrize("coordinator", alike([True, False]))
def test_a_program_without_a_client_goes_on_from_what_it_wrote(tmp_path: Path, coordinator: bool) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    if coordinator:
        assert whesl(tmp_path, "coordinator", "start").returncode == 0
    task = begin(tmp_path, *(() if coordinator else ("--no-coordinator",)))
    try:
        waiting.until(lambda: "from 0" in written(tmp_path / "output"), "the first attempt", 60)
        unsure = whesl(tmp_path, "ckpt", "predict", NODE, "--lead", "30", "--confidence", "0.1")
        assert unsure.returncode == 0, unsure.stderr
        told = whesl(
            tmp_path, "ckpt", "predict", NODE, "--lead", "30", "--evidence", "EDAC", "--json", "--id", "p"
        )
        assert json.loads(told.stdout)["tasks"] == ["exec/run"], told.stderr
        again = whesl(tmp_path, "ckpt", "predict", NODE, "--lead", "30", "--evidence", "EDAC", "--id", "p")
        assert again.returncode == 0
        waiting.until(lambda: "again=1" in written(tmp_path / "output"), "the second attempt", 60)
        step = (tmp_path / "state.1").read_text()
        assert f"from {step}, again=1" in written(tmp_path / "output")
        (tmp_path / "end").touch()
        assert task.wait(60) == 0
    finally:
        task.terminate()
        task.wait(60)
        if coordinator:
            whesl(tmp_path, "coordinator", "stop")
    report = whesl(tmp_path, "report", "exec").stdout
    assert report.count("DYING") >= 1 and "is predicted to fail in" in report and "EDAC" in report
    assert written(tmp_path / "output").count("again=1") == 1
    # A node's own health program tells every user of the node; a coordinator was started for each of them.
    late = whesl(tmp_path, "ckpt", "predict", NODE, "--lead", "30")
    assert late.returncode == 1 and "no running task uses" in late.stderr, late.stderr
    assert not home.endpoint(tmp_path / "home").exists()


def test_what_is_no_prediction_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    now = time.time()
    for wrong in ({"lead": -1.0}, {"lead": float("inf")}, {"confidence": 0.0}, {"node": ""}, {"time": 0.0}):
        values: dict[str, Any] = {"node": NODE, "time": now, "lead": 10.0, **wrong}
        with pytest.raises(UsageError):
            predict_failure(PredictedFailure(**values))
    with pytest.raises(RefusedError, match=r"no task is running|no running task uses"):
        predict_failure(PredictedFailure(node="n1", time=now, lead=10.0))
    said = whesl(tmp_path, "ckpt", "predict", "n1", "--lead", "nan")
    assert said.returncode == 2 and "--lead" in said.stderr and "Traceback" not in said.stderr
