"""whesl clean: what is over goes, what is not, or cannot be told, stays."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests import commands
from tests.waiting import until
from whesl.client import ended_task_removal
from whesl.client.ended_task_removal import Leftover, standing
from whesl.client.workflow_leftovers import Found, choose, survey
from whesl.model.errors import UsageError
from whesl.model.states import TaskState
from whesl.runtime.isolator.task.taskdir import Result

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION BOOM JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION BOOM LOG "boom" stdout
EXCEPTION RECOVERY STEP BOOM JOB JOB.REPLACE
"""
COMPLETED = Result(code=0, state=TaskState.COMPLETED, reason="", claim="c")
PATIENCE = 60.0


def made(home: Path, workflow: str, task: str, result: Result | None = COMPLETED) -> Path:
    """Make a task's directory as an isolator leaves it, as far as it matters here."""
    path = home / "tasks" / workflow / task
    (path / "attempt-1").mkdir(parents=True)
    (path / "attempt-1" / "stdout").write_bytes(b"x" * 10_000)
    (path / "lock").touch()
    if result is not None:
        (path / "result.json").write_bytes(msgspec.json.encode(result))
    return path


# What may go -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [None, *TaskState])
def test_a_held_lock_keeps_everything(state: TaskState | None) -> None:
    assert standing(held=True, state=state, result=COMPLETED) == "its isolator runs"


@pytest.mark.parametrize("state", list(TaskState))
def test_the_coordinators_word_decides_where_it_knows_the_task(state: TaskState) -> None:
    stays = bool(standing(held=False, state=state, result=COMPLETED))
    assert stays is not state.final
    assert bool(standing(held=False, state=state, result=None)) is stays


def test_a_task_that_begins_again_is_not_taken_for_the_one_that_ended() -> None:
    word = standing(held=False, state=TaskState.COMPLETED, result=None, since=1.0)
    assert word == "no end of it is known"


def test_without_a_coordinator_an_unknown_end_is_none() -> None:
    assert standing(held=False, state=None, result=None) == "no end of it is known"
    assert standing(held=False, state=None, result=COMPLETED) == ""
    again = Result(code=75, state=TaskState.RECOVERING, reason="", claim="c")
    assert "recovering" in standing(held=False, state=None, result=again)


def test_a_workflow_goes_as_a_whole_and_only_when_it_is_old_enough() -> None:
    old = Leftover(path=Path("a"), task="w/a", changed=100.0)
    young = Leftover(path=Path("b"), task="w/b", changed=200.0)
    everything = [
        Found(workflow="old", leftovers=(old,)),
        Found(workflow="half", leftovers=(old, young)),
        Found(workflow="alive", leftovers=(old,), why="alive/a is running"),
    ]
    going, staying = choose(everything, 150.0)
    assert [found.workflow for found in going] == ["old"]
    assert {found.workflow: found.why for found in staying}["alive"] == "alive/a is running"
    assert "written to on" in {found.workflow: found.why for found in staying}["half"]


def test_commands_of_exec_go_one_by_one() -> None:
    """One that a power failure had ended once kept the files of all commands ever wrapped, for good."""
    old = Leftover(path=Path("a"), task="exec/a", changed=100.0)
    young = Leftover(path=Path("b"), task="exec/b", changed=200.0)
    lost = Leftover(path=Path("c"), task="exec/c", changed=100.0, why="no end of it is known")
    everything = Found(workflow="exec", leftovers=(old, young, lost), why="exec/c: no end of it is known")
    (going,), (staying,) = choose([everything], 150.0)
    assert (going.leftovers, going.why) == ((old,), "")
    assert (staying.leftovers, staying.why) == ((young, lost), "exec/c: no end of it is known")
    (going,), (staying,) = choose([Found(workflow="exec", leftovers=(old, young))], 150.0)
    assert (going.leftovers, staying.leftovers) == ((old,), (young,))
    assert choose([Found(workflow="exec", leftovers=(old,))], 150.0)[1] == []


def test_a_task_that_has_left_nothing_yet_keeps_its_workflow(tmp_path: Path) -> None:
    made(tmp_path, "flow", "first")
    states = {"flow/first": TaskState.COMPLETED, "flow/second": TaskState.REGISTERED}
    (found,) = survey(tmp_path, states)
    assert found.why == "flow/second is registered"
    (found,) = survey(tmp_path, {**states, "flow/second": TaskState.SKIPPED})
    assert (found.why, found.reported) == ("", True)


def test_a_misspelled_workflow_is_told(tmp_path: Path) -> None:
    made(tmp_path, "flow", "first")
    with pytest.raises(UsageError, match="no files are left of 'flaw'") as told:
        survey(tmp_path, {}, ["flaw"])
    assert "flow" in str(told.value.hint)


# Removing --------------------------------------------------------------------------------------------


def test_a_directory_goes_with_all_that_is_in_it_and_links_are_not_followed(tmp_path: Path) -> None:
    path = made(tmp_path, "flow", "first")
    precious = tmp_path / "results"
    precious.mkdir()
    (precious / "data").write_text("42")
    (path / "attempt-1" / "link").symlink_to(precious)
    (path / "bin").symlink_to(precious)
    weighed = ended_task_removal.look(path, {})
    assert (weighed.task, weighed.files, weighed.why) == ("flow/first", 5, "")
    assert weighed.size >= 10_000
    assert ended_task_removal.remove(path, None) == ""
    assert not path.exists()
    assert (precious / "data").read_text() == "42"


def test_a_task_that_begins_meanwhile_stays(tmp_path: Path) -> None:
    path = made(tmp_path, "flow", "first")
    assert ended_task_removal.look(path, {}).why == ""
    held = os.open(path / "lock", os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert ended_task_removal.remove(path, None) == "its isolator runs"
        assert (path / "attempt-1" / "stdout").exists()
    finally:
        os.close(held)
    (path / "result.json").unlink()  # a new start takes the old result away
    (path / "job.json").touch()
    assert ended_task_removal.remove(path, TaskState.COMPLETED) == "no end of it is known"
    assert (path / "attempt-1" / "stdout").exists()


def test_what_was_interrupted_can_be_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path, "flow", "first")
    (path / "attempt-2").mkdir()

    def interrupted(_path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ended_task_removal.remove(path, None)
    assert ended_task_removal.look(path, {}).why == ""
    assert ended_task_removal.remove(path, None) == ""
    assert not path.exists()


# The command -----------------------------------------------------------------------------------------


class Desk:
    """A home in which one task ran with a coordinator, one without, and one still runs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = place / "home"
        self.environment = {**os.environ, "WHESL_HOME": str(self.home)}
        (place / "rules.esl").write_text(RULES)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(
            *words, env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL, timeout=PATIENCE
        )

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*words), env=self.environment, cwd=self.place, stdin=subprocess.DEVNULL
        )

    @staticmethod
    def command(*words: str) -> list[str]:
        return [sys.executable, "-m", "whesl", *words]

    def run(self, workflow: str, *options: str, script: str) -> list[str]:
        rules = ["exec", "-e", "rules.esl", "--workflow", workflow, "--step", "go", *options]
        return [*rules, "--", "sh", "-c", script]


FAILS_ONCE = '[ "$WHESL_RESTART_COUNT" = 1 ] || { echo boom; sleep 30; }'


@pytest.mark.costly
def test_reports_stay_and_running_tasks_do_not_notice(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.call("coordinator", "start").returncode == 0
    living = None
    try:
        assert desk.call(*desk.run("told", script=FAILS_ONCE)).returncode == 0
        assert desk.call(*desk.run("alone", "--no-coordinator", script=FAILS_ONCE)).returncode == 0
        wait = "until [ -e go ]; do sleep 0.05; done"
        living = desk.begin(*desk.run("living", script=wait))
        until(lambda: "living/go\trunning" in desk.call("status").stdout, "it runs", PATIENCE)
        report = desk.call("report", "told").stdout
        assert "1 recovered in place" in report

        refused = desk.call("clean")
        assert (refused.returncode, "nobody can confirm" in refused.stderr) == (2, True)
        assert desk.call("clean", "--yes").stdout == "nothing to remove\n"  # all of it is young
        looked = json.loads(desk.call("clean", "-n", "--older-than", "0", "--json").stdout)
        assert [(row["workflow"], row["report_stays"]) for row in looked["removed"]] == [
            ("alone", False),
            ("told", True),
        ]
        assert [row["workflow"] for row in looked["kept"]] == ["living"]
        assert "living/go is running" in looked["kept"][0]["why"]
        assert looked["bytes"] > 100_000

        done = desk.call("clean", "--yes", "told")
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in (desk.home / "tasks").iterdir()) == ["alone", "living"]
        assert desk.call("report", "told").stdout == report
        assert "told/go\tcompleted" in desk.call("status", "told").stdout

        # The same name again: nothing of what was removed is missing.
        assert desk.call(*desk.run("told", script=FAILS_ONCE)).returncode == 0
        (tmp_path / "go").touch()
        assert living.wait(PATIENCE) == 0
        assert json.loads(desk.call("clean", "-y", "--older-than", "0", "--json").stdout)["kept"] == []
        assert list((desk.home / "tasks").iterdir()) == []
    finally:
        (tmp_path / "go").touch()
        if living is not None:
            living.wait(PATIENCE)
        desk.call("coordinator", "stop")


def test_who_says_no_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from whesl.cli.manage import clean as module

    path = made(tmp_path / "home", "flow", "first")
    (tmp_path / "home").chmod(0o700)
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    terminal = type("Terminal", (), {"stdin": type("Input", (), {"isatty": staticmethod(lambda: True)})})
    monkeypatch.setattr(module, "sys", terminal)
    answered = CliRunner().invoke(module.clean, ["flow"], input="n\n", standalone_mode=False)
    assert (answered.return_value, path.exists()) == (1, True)
    assert "nothing was removed" in answered.output
    answered = CliRunner().invoke(module.clean, ["flow"], input="y\n", standalone_mode=False)
    assert (answered.return_value, path.exists()) == (0, False)


def test_what_cannot_be_removed_is_told_and_the_rest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from whesl.cli import group

    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    stuck = made(home, "flow", "stuck")
    made(home, "flow", "fine")
    monkeypatch.setenv("WHESL_HOME", str(home))
    really = shutil.rmtree

    def refuses(path: str) -> None:
        if str(stuck) in str(path):
            raise OSError(5, "Input/output error", path)
        really(path)

    monkeypatch.setattr(shutil, "rmtree", refuses)
    with pytest.raises(SystemExit) as ended:
        group.run(["clean", "--yes", "flow"])
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert "flow/stuck" in printed.err
    assert "Input/output error" in printed.err
    assert stuck.exists()
    assert not (home / "tasks" / "flow" / "fine").exists()
