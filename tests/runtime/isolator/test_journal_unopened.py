"""A journal that cannot be made: the task is watched, recovered and ended all the same.

With a WHESL_HOME of 489 characters ``whesl exec`` never ended, nothing was judged, and no signal was heard.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.equipment.faults import FaultError, tmpfs
from tests.runtime.isolator.bench import Bench, bench, until
from whesl.runtime.isolator.launch import program_runner, unwatched_command
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.wire.private_directory import HomeError

__all__ = ["bench"]


@pytest.fixture
def far(bench: Bench) -> Bench:
    """A task whose journal's path is longer than SQLite takes."""
    place = bench.place
    while len(str(place)) < 520:
        place /= "d" * 60
    place.mkdir(parents=True)
    bench.directory = TaskDir(place / "task")
    return bench


def test_without_a_journal_a_task_recovers_and_ends_with_its_status(far: Bench) -> None:
    program = '[ "$WHESL_RESTART_COUNT" = 1 ] && exit 5\necho "An error occurred in MPI_Send"\nsleep 600\n'
    options = ("-e", far.rules())
    assert far.run(*far.script(program), options=options)[0] == 5
    assert "raised CRASH" in (far.directory.path / "summary").read_text()
    assert "kept in memory alone" in (far.directory.path / "log").read_text()


def test_without_a_journal_a_task_hears_signals(far: Bench) -> None:
    child = far.exec(*far.script("touch begun\nexec sleep 600\n"), options=("-e", far.rules()))
    until((far.place / "begun").exists, "the program")
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == -signal.SIGTERM


@pytest.mark.costly
@pytest.mark.parametrize("room", ["full", "nearly full", "read-only", "read-only and no home", "a file"])
def test_where_the_home_takes_nothing_the_command_runs_as_without_whesl(bench: Bench, room: str) -> None:
    """It was not run at all: a job failed for the sake of who watches it.

    On a nearly full disk the task began, and could not tell its end: neither it nor a signal ended the job.
    """
    try:
        with tmpfs(bench.place / "disk", 64 * 1024) as small:
            disk = small.path
            home = disk / "home"
            disk.chmod(0o700)
            if room == "a file":
                home.touch()
            elif room != "read-only and no home":
                home.mkdir(0o700)
            if room == "full":
                (disk / "fill").write_bytes(bytes(shutil.disk_usage(disk).free))
            elif room.startswith("read-only"):
                subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            command = bench.script('echo $PPID; trap "exit 5" TERM; touch begun; while :; do sleep 0.1; done')
            program = [sys.executable, "-m", "whesl", "exec", "-e", bench.rules(), "--", *command]
            streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            environment = bench.environment | {"WHESL_HOME": str(home)}
            child = subprocess.Popen(program, cwd=bench.place, env=environment, **streams)
            bench.started.append(child)
            until((bench.place / "begun").exists, "the program")
            child.send_signal(signal.SIGTERM)
            out, err = child.communicate(timeout=30)
    except FaultError as error:
        pytest.skip(str(error))
    assert (child.returncode, out) == (5, f"{os.getpid()}\n")
    assert err.count("whesl:") == 1 and "the command runs as without WHESL: no rule is applied" in err


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_what_is_a_user_s_own_mistake_is_refused(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[str] = []
    monkeypatch.setattr(program_runner, "become", became.extend)
    monkeypatch.setattr(program_runner, "give_back_signals", lambda: None)
    home = HomeError("a loop of links, a file in its place, a name too long, no permission")
    home.__cause__ = OSError(number, "no")
    for error in (home, OSError(number, "no")):
        for begun in (True, False):
            became.clear()
            monkeypatch.setattr(unwatched_command, "_has_begun", lambda begun=begun: begun)
            unwatched_command.instead(["true"], error, "no")
            assert bool(became) is (not begun and (error is home or number in unwatched_command.REFUSING))
    unwatched_command.instead(["true"], HomeError("open to others"), "no")
    assert became == (["true"] if number in unwatched_command.REFUSING else [])
