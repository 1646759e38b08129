"""Heartbeats of ranks: real programs with their watchers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import whesl
from tests.waiting import until

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a starter of programs as rank 3, whose standard error is the file ``said``."""
    started = []

    def made(program: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "SLURM_PROCID": "3", "RANK": ""}
        with (tmp_path / "said").open("wb") as said:
            started.append(
                subprocess.Popen([sys.executable, "-c", program], stderr=said, cwd=tmp_path, env=environment)
            )
        return started[-1]

    yield made
    for process in started:
        process.kill()
        process.wait()


def said(place: Path) -> str:
    return (place / "said").read_text()


def test_a_rank_that_is_stopped_and_goes_on(start: Start, tmp_path: Path) -> None:
    program = """
import time, whesl
while True:
    whesl.heartbeat(2)
    open("begun", "w").close()
    time.sleep(0.05)
"""
    rank = start(program)
    until((tmp_path / "begun").exists, "its first heartbeat", 30)
    rank.send_signal(signal.SIGSTOP)
    until(lambda: ": no heartbeat for 2 s\n" in said(tmp_path), "the watcher says so", 30)
    assert said(tmp_path).startswith("whesl: rank 3 on ")
    rank.send_signal(signal.SIGCONT)
    until(lambda: ": a heartbeat again, after " in said(tmp_path), "the watcher says so", 30)


def test_a_section_has_its_own_limit_and_no_limit_is_one(start: Start, tmp_path: Path) -> None:
    program = """
import time, whesl
whesl.heartbeat(1)
with whesl.section("a long one", 600):
    time.sleep(3)
whesl.heartbeat(0)
time.sleep(3)
with whesl.section("checkpoint", 1):
    while True:
        whesl.heartbeat(600)
        time.sleep(0.05)
"""
    start(program)
    until(lambda: said(tmp_path).endswith("\n"), "the watcher says something", 60)
    assert said(tmp_path).endswith(": section checkpoint not over after 1 s\n")
    assert said(tmp_path).count("\n") == 1


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_watcher_ends_with_its_rank(start: Start, tmp_path: Path, end: str) -> None:
    """A fork, such as a loader's worker, outlives the rank, and does not keep the watcher."""
    program = f"""
import os, time, whesl
whesl.heartbeat(600)
if os.fork() == 0:
    while not os.path.exists("end"):
        time.sleep(0.05)
    os._exit(0)
open("begun", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
{end}
"""
    rank = start(program)
    until((tmp_path / "begun").exists, "its first heartbeat", 30)
    watcher = [
        one for one in psutil.Process(rank.pid).children() if "heartbeat_watch" in " ".join(one.cmdline())
    ]
    assert len(watcher) == 1
    (tmp_path / "go").touch()
    psutil.wait_procs(watcher, timeout=30)
    assert not watcher[0].is_running()
    (tmp_path / "end").touch()


def test_a_job_that_was_suspended_is_not_silent(start: Start, tmp_path: Path) -> None:
    program = """
import os, time, whesl
while not os.path.exists("end"):
    whesl.heartbeat(3)
    open("begun", "w").close()
    time.sleep(0.05)
"""
    rank = start(program)
    until((tmp_path / "begun").exists, "its first heartbeat", 30)
    both = [psutil.Process(rank.pid), *psutil.Process(rank.pid).children()]
    for process in both:
        process.suspend()
    time.sleep(5)
    for process in both:
        process.resume()
    (tmp_path / "end").touch()
    assert rank.wait(30) == 0
    assert said(tmp_path) == ""


def test_what_is_no_limit() -> None:
    with pytest.raises(ValueError, match="timeout has to be seconds"):
        whesl.heartbeat(-1)
    with pytest.raises(ValueError, match="timeout has to be seconds"), whesl.section("x", 0):
        pass


RULES = """\
DECLARE ENTITY JOB
DECLARE RESOURCE JOB[REPLACE]
INCLUDE "heartbeat"
EXCEPTION RECOVERY STEP RANK_SILENT JOB JOB.REPLACE
"""


def test_rules_end_an_attempt_whose_rank_is_silent(tmp_path: Path) -> None:
    program = """
import os, time, whesl
whesl.heartbeat(1)
if os.environ["WHESL_RESTART_COUNT"] == "0":
    time.sleep(600)
print("done")
"""
    (tmp_path / "rules.esl").write_text(RULES)
    done = subprocess.run(
        [sys.executable, "-m", "whesl", "exec", "-e", "rules.esl", "--", sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "WHESL_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "no heartbeat for 1 s" in done.stderr
