"""A home whose file system hangs: commands are told so, and a program starts and ends all the same."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.nfsbed import NfsBed
from tests.runtime.isolator import started_runner
from tests.waiting import until
from whesl.files import hanging_file_system
from whesl.runtime.isolator.launch import home_watch, program_runner, unwatched_command
from whesl.runtime.wire import keys
from whesl.runtime.wire.private_directory import HomeError

PATIENCE = 30.0


@pytest.fixture
def bed(nfs_bed: Callable[..., NfsBed]) -> NfsBed:
    return nfs_bed("node", attributes=0.0, absences=0.0)


def test_a_home_that_hangs_is_told_and_the_command_runs_without_it(
    bed: NfsBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``whesl exec`` waited for the file server in its first call, deaf to signals, as all commands did."""
    monkeypatch.setenv("WHESL_HOME", str(bed.at("node")))
    monkeypatch.setattr(hanging_file_system, "START_LIMIT", 0.2)
    ran: list[list[str]] = []
    monkeypatch.setattr(program_runner, "become", ran.append)
    monkeypatch.setattr(program_runner, "give_back_signals", lambda: None)
    bed.change("node", stalled=True)
    with pytest.raises(HomeError, match="did not answer") as seen:
        keys.home()
    unwatched_command.instead(("app",), seen.value, str(seen.value))
    assert ran == [["app"]]
    bed.change("node", stalled=False)


def test_a_file_system_that_answers_is_asked_anew(bed: NfsBed) -> None:
    question = hanging_file_system.Question(str(bed.at("node") / "missing"))
    for _ in range(2):
        bed.change("node", stalled=True)
        assert not question.answered()
        bed.change("node", stalled=False)
        assert question.answered(PATIENCE)


def test_the_keeper_learns_the_end_while_the_status_cannot_be_written(
    bed: NfsBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program had ended, its runner waited for the file server, and ``whesl exec`` waited with it."""
    directory = bed.at("node") / "task"
    status = directory / "attempt-1/status"
    monkeypatch.setattr(home_watch, "LOOK", 0.0)
    monkeypatch.setattr(home_watch, "SILENT_LOOK", 0.0)
    monkeypatch.setattr(home_watch, "SILENCE", 0.0)
    go = tmp_path / "go"
    waits = f"while [ ! -e {go} ]; do sleep 0.02; done; kill -TERM $$"
    runner = started_runner.begin("/bin/sh", "-c", waits, status=status, place=tmp_path)
    until(lambda: status.read_bytes().startswith(b"run"), "the program", PATIENCE)
    watch = home_watch.HomeWatch(str(directory))
    bed.change("node", stalled=True)
    for _ in range(3):
        assert watch._end(time.monotonic()) is None, "the program runs"
    go.touch()
    assert until(lambda: watch._end(time.monotonic()), "the end", PATIENCE) == (143, True)
    bed.change("node", stalled=False)
    assert runner.wait(PATIENCE) == 143
    assert program_runner.read(status.read_bytes()) == (143, True)


def test_a_hanging_isolator_without_an_attempt_is_left_after_a_time(
    bed: NfsBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOOK", "SILENT_LOOK", "SILENCE"):
        monkeypatch.setattr(home_watch, name, 0.0)
    isolator = os.posix_spawn(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    watch = home_watch.HomeWatch(str(bed.at("node") / "task"))
    watch.isolator = os.pidfd_open(isolator)
    bed.change("node", stalled=True)
    until(lambda: watch._idle_since < time.monotonic(), "the silence", PATIENCE, watch.look)
    monkeypatch.setattr(home_watch, "NOTHING_RUNS", 0.0)
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    watch.look()
    assert ended == [os.EX_SOFTWARE]
    os.close(watch.isolator)
    with contextlib.suppress(ChildProcessError):
        assert os.waitstatus_to_exitcode(os.waitpid(isolator, 0)[1]) == -9
    bed.change("node", stalled=False)


WAITS = """
import os, sys
from whesl.runtime.isolator.launch import home_watch
home_watch.LOOK = home_watch.SILENT_LOOK = home_watch.SILENCE = 0.1
watch = home_watch.HomeWatch(sys.argv[1])
watch.ended = 0
watch.start()
os.listdir(sys.argv[1])
raise SystemExit("the file system answered")
"""


def test_a_keeper_that_waits_in_a_file_of_the_home_ends_all_the_same(bed: NfsBed) -> None:
    """The home fell silent while a task of a second ended: ``whesl exec`` waited for the file server."""
    bed.change("node", stalled=True)
    words = [sys.executable, "-c", WAITS, str(bed.at("node"))]
    ended = subprocess.run(words, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    bed.change("node", stalled=False)
    assert (ended.returncode, b"the program ended with status 0" in ended.stderr) == (0, True)
