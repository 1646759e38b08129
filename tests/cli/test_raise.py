"""``whesl raise`` for a task of ``whesl exec`` that has no coordinator, and the same as a call of Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import commands, waiting
from whesl import api
from whesl.model.errors import RefusedError, UsageError
from whesl.runtime.isolator.task import raise_requests as left
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.messages import RaiseException

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION PREDICTED JOB_LEVEL JOB [run] LIMIT 1 ELSE FAIL
EXCEPTION DETECTION PREDICTED LOG "never printed" stdout
EXCEPTION RECOVERY STEP PREDICTED JOB JOB.REPLACE {"environment": {"AGAIN": "1"}}
DECLARE EXCEPTION OTHERS JOB_LEVEL JOB [walk] ELSE FAIL
EXCEPTION DETECTION OTHERS LOG "never printed either" stdout
"""
PATIENCE = 60.0
SCRIPT = 'echo "attempt${AGAIN:-0}" >> attempts; while [ ! -e end ]; do sleep 0.05; done'


def until(condition: Callable[[], Any], what: str) -> Any:
    return waiting.until(condition, what, PATIENCE)


class Lone:
    """A home without a coordinator, and one task that runs until it is told to end."""

    def __init__(self, place: Path, *options: str) -> None:
        self.place = place
        self.home = place / "home"
        self.environment = {**os.environ, "WHESL_HOME": str(self.home)}
        (place / "rules.esl").write_text(RULES)
        self.task = self.start("run", *options)
        until(lambda: self.attempts() == ["attempt0"], "the first attempt")

    def start(self, step: str, *more: str) -> subprocess.Popen[bytes]:
        options = ["exec", "-e", "rules.esl", *more, "--step", step, "--", "sh", "-c", SCRIPT]
        return commands.begin(
            *options,
            env=self.environment,
            cwd=self.place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def attempts(self) -> list[str]:
        path = self.place / "attempts"
        return path.read_text().split() if path.exists() else []

    def call(self, *words: str) -> tuple[int, str]:
        done = commands.whesl(*words, env=self.environment, cwd=self.place, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def directory(self) -> TaskDir:
        (path,) = (self.home / "tasks").glob("exec/run")
        return TaskDir(path)

    def raised(self) -> list[str]:
        try:
            with Journal(self.directory().journal, read_only=True) as journal:
                return [r.data["raised"]["exception"] for r in journal.read() if r.kind == "raised"]
        except JournalError:
            return []

    def end(self) -> int:
        (self.place / "end").touch()
        return self.task.wait(PATIENCE)


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Lone]:
    lone = Lone(tmp_path, "--no-coordinator")
    try:
        yield lone
    finally:
        lone.task.terminate()
        lone.task.wait(PATIENCE)


def test_it_is_raised_recovered_and_reported(lone: Lone) -> None:
    status, said = lone.call("raise", "PREDICTED", "--task", "run", "--evidence", "DIMM 3", "--wait")
    assert (status, said) == (0, "PREDICTED is raised on exec/run\n")
    until(lambda: lone.attempts() == ["attempt0", "attempt1"], "the second attempt")
    assert lone.raised() == ["PREDICTED"]
    assert lone.end() == 0
    assert "DIMM 3" in lone.call("report", "exec")[1]
    assert not (lone.home / "coordinator" / "endpoint.json").exists(), "nothing was started for it"


@pytest.mark.costly
def test_what_cannot_be_raised_says_why(lone: Lone) -> None:
    status, said = lone.call("raise", "PREDICTD")
    assert status == 1 and "no exception 'PREDICTD' is declared for exec/run" in said
    assert "did you mean: PREDICTED" in said
    status, said = lone.call("raise", "OTHERS", "--task", "run")
    assert status == 1 and "is declared" in said
    status, said = lone.call("raise", "PREDICTED", "--node", "nowhere")
    assert status == 1 and "no running task uses the node 'nowhere'" in said
    status, said = lone.call("raise", "PREDICTED", "--job", "77")
    assert status == 1 and "no running task belongs to a job '77'" in said
    status, said = lone.call("raise", "PREDICTED", "--task", "run", "--job", "77")
    assert status == 2 and "not several" in said
    assert "Traceback" not in said and lone.raised() == []
    assert lone.end() == 0
    status, said = lone.call("raise", "PREDICTED", "--task", "run")
    assert status == 1 and "exec/run has ended: it is completed" in said


def test_the_call_of_python_and_its_id(lone: Lone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHESL_HOME", str(lone.home))
    with pytest.raises(UsageError):
        api.raise_exception("PREDICTED", task="run", node="n1")
    with pytest.raises(RefusedError, match="there is no task"):
        api.raise_exception("PREDICTED", task="nobody")
    first = api.raise_exception("PREDICTED", id="alert-7")
    assert (first.tasks, first.id) == (("exec/run",), "alert-7")
    api.wait_until_taken(first)
    api.wait_until_taken(api.raise_exception("PREDICTED", id="alert-7"))
    until(lambda: lone.attempts() == ["attempt0", "attempt1"], "the second attempt")
    assert lone.raised() == ["PREDICTED"]
    # Another one is another exception, and its limit is reached.
    status, said = lone.call("raise", "PREDICTED", "--json")
    assert status == 0 and json.loads(said)["tasks"] == ["exec/run"]
    assert lone.task.wait(PATIENCE) != 0
    assert lone.raised() == ["PREDICTED", "PREDICTED"]


@pytest.mark.costly
def test_with_a_coordinator_that_knows_no_workflow_of_it(tmp_path: Path) -> None:
    """What the rules declare is known from the isolator's registration."""
    (tmp_path / "home").mkdir(mode=0o700)
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home")}
    whesl = [sys.executable, "-m", "whesl", "coordinator"]
    subprocess.run([*whesl, "start"], env=environment, check=True, timeout=PATIENCE)
    try:
        lone = Lone(tmp_path)
        until(lambda: "exec/run" in lone.call("status")[1], "the registration")
        status, said = lone.call("raise", "PREDICTD")
        assert status == 1 and "did you mean: PREDICTED" in said
        assert lone.call("raise", "PREDICTED", "--evidence", "DIMM 3", "--wait")[0] == 0
        until(lambda: lone.attempts() == ["attempt0", "attempt1"], "the second attempt")
        assert lone.end() == 0
        assert "raised from outside: DIMM 3" in lone.call("report", "exec")[1]
    finally:
        subprocess.run([*whesl, "stop"], env=environment, check=False, timeout=PATIENCE)


def test_the_isolator_is_killed_before_it_has_removed_the_file(lone: Lone) -> None:
    """It reads the file again, and knows the id."""
    message = RaiseException(id="r1", exception="PREDICTED", task="exec/run")
    left.leave(lone.directory().raised, message)
    until(lone.raised, "the exception")
    owner = lone.directory().owner()
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    left.leave(lone.directory().raised, message)
    until(lambda: not left.waits(lone.directory().raised, "r1"), "the other isolator")
    until(lambda: lone.attempts() == ["attempt0", "attempt1"], "the second attempt")
    assert lone.raised() == ["PREDICTED"]
    assert lone.end() == 0


def test_what_is_no_exception_is_put_away(lone: Lone) -> None:
    directory = lone.directory().raised
    directory.mkdir(0o700)
    for name, content in (("a.json", b"{"), ("b.json", b"[]"), ("c.json", b"\xff" * 99)):
        (directory / name).write_bytes(content)
    (directory / "d.json").write_bytes(msgspec.json.encode({"type": "raise", "id": "x", "exception": "NO"}))
    until(lambda: not list(directory.iterdir()), "an empty directory")
    assert lone.raised() == [] and lone.end() == 0


def test_so_many_wait_at_most(tmp_path: Path) -> None:
    for number in range(left.MOST_WAITING):
        left.leave(tmp_path / "raised", RaiseException(id=str(number), exception="E", task="t"))
    left.leave(tmp_path / "raised", RaiseException(id="3", exception="E", task="t"))
    with pytest.raises(RefusedError, match="has not taken"):
        left.leave(tmp_path / "raised", RaiseException(id="more", exception="E", task="t"))
