"""``whesl exec`` under signals, and with each of its own parts killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.processes import lives
from tests.runtime.isolator.bench import CRASH, PATIENCE, Bench, bench, exists, until
from whesl.runtime.isolator.task import taskdir

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def program(bench: Bench) -> None:
    """The beginning of a process is a part of what is tested."""
    bench.forked = False


# Signals ----------------------------------------------------------------------------------------------


def test_term_is_given_to_the_task_with_a_grace(bench: Bench) -> None:
    command = bench.script('trap "echo saved; exit 7" TERM; echo ready; while :; do sleep 0.1; done\n')
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "ready" in out.read_text(), "the task's start")
        child.terminate()
        assert child.wait(PATIENCE) == 7
    assert out.read_text() == "ready\nsaved\n"


def test_a_task_that_ignores_term_is_ended_after_the_grace(bench: Bench) -> None:
    command = bench.script('trap "" TERM; echo ready; while :; do sleep 0.1; done\n')
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, options=("--term-grace", "0.5"), stdout=stdout)
        until(lambda: "ready" in out.read_text(), "the task's start")
        child.terminate()
        assert child.wait(PATIENCE) == -15


def test_usr1_reaches_the_main_process_and_spares_its_children(bench: Bench) -> None:
    waiting = "until [ -e go ]; do sleep 0.05; done"
    command = bench.script(
        f'trap "echo usr1" USR1; echo ready; ({waiting}) & p=$!; wait $p; wait $p && echo "child lived"\n'
    )
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "ready" in out.read_text(), "the task's start")
        child.send_signal(signal.SIGUSR1)
        until(lambda: "usr1" in out.read_text(), "the signal")
        (bench.place / "go").touch()
        assert child.wait(PATIENCE) == 0
    assert out.read_text() == "ready\nusr1\nchild lived\n"


def test_a_pause_keeps_the_task_until_the_time_limit(bench: Bench) -> None:
    rules = bench.rules(CRASH.replace("[app]", "[app] LIMIT 1 ELSE PAUSE"))
    command = bench.script('echo "An error occurred in MPI_Send"; sleep 300\n')
    child = bench.exec(*command, options=("-e", rules), stdout=(bench.place / "out").open("wb"))
    until(lambda: "paused" in bench.kinds(), "the pause")
    assert child.poll() is None
    child.terminate()
    assert child.wait(PATIENCE) == -15


def test_a_first_attempt_that_ended_leaves_no_zombie_with_the_keeper(bench: Bench) -> None:
    command = bench.script(
        """\
        [ "$WHESL_RESTART_COUNT" = 0 ] && { echo "An error occurred in MPI_Send"; exit 1; }
        touch again; until [ -e go ]; do sleep 0.01; done
        """
    )
    child = bench.exec(*command, options=("-e", bench.rules()), stdout=(bench.place / "out").open("wb"))
    until((bench.place / "again").exists, "the second attempt")

    def children() -> list[bool]:
        """Return which of the keeper's children live, without the witnesses of its signals."""
        found = psutil.Process(child.pid).children()
        return [lives(each) for each in found if not lives(each) or each.name() != "cat"]

    until(lambda: children() == [True], "one child, alive")
    (bench.place / "go").touch()
    assert child.wait(PATIENCE) == 0


# Killed parts of ourselves -------------------------------------------------------------------------------


@pytest.mark.costly
def test_an_exception_printed_while_no_isolator_lived_is_handled(bench: Bench) -> None:
    command = bench.script(
        """\
        echo "start $WHESL_RESTART_COUNT"
        [ "$WHESL_RESTART_COUNT" = 1 ] && exit 0
        until [ -e go ]; do sleep 0.01; done
        echo "An error occurred in MPI_Send"; sleep 300
        """
    )
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, options=("-e", bench.rules()), stdout=stdout)
        until(lambda: "launched" in bench.kinds(), "the isolator's record of the start")
        isolator = bench.isolator()
        (bench.place / "go").touch()
        os.kill(isolator, signal.SIGKILL)
        assert child.wait(PATIENCE) == 0
    assert out.read_text() == "start 0\nAn error occurred in MPI_Send\nstart 1\n"
    assert "resumed-isolator" in bench.kinds()
    assert len(bench.raised()) == 1


def another(bench: Bench, last: int) -> int:
    """Wait for an isolator that is not the last one; return its process id."""
    found: int = until(lambda: (pid := bench.isolator()) != last and pid, "another isolator")
    return found


def test_a_killed_isolator_costs_the_task_nothing(bench: Bench) -> None:
    command = bench.script("echo start; until [ -e go ]; do sleep 0.01; done; exit 6\n")
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        first = bench.isolator()
        os.kill(first, signal.SIGKILL)
        second = another(bench, first)
        assert second != first
        (bench.place / "go").touch()
        assert child.wait(PATIENCE) == 6
    assert out.read_text() == "start\n"


@pytest.mark.slow
def test_an_isolator_that_keeps_dying_does_not_end_a_task_that_is_well(bench: Bench) -> None:
    command = bench.script("echo start; until [ -e go ]; do sleep 0.01; done; exit 6\n")
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        pid = 0
        for _ in range(6):
            pid = another(bench, pid)
            os.kill(pid, signal.SIGKILL)
        until(lambda: not exists(pid), "the last one's end")
        assert child.poll() is None
        (bench.place / "go").touch()
        assert child.wait(PATIENCE) == 6
    assert out.read_text() == "start\n"


def test_a_task_that_ended_while_no_isolator_lived_keeps_its_status(bench: Bench) -> None:
    command = bench.script("echo start; until [ -e go ]; do sleep 0.01; done; exit 6\n")
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        isolator = bench.isolator()
        os.kill(child.pid, signal.SIGSTOP)
        os.kill(isolator, signal.SIGKILL)
        (bench.place / "go").touch()
        until(lambda: taskdir.read_status(bench.directory.status(1)) == 6, "the runner's word")
        os.kill(child.pid, signal.SIGCONT)
        assert child.wait(PATIENCE) == 6


def test_a_killed_keeper_costs_nothing_and_the_next_call_attaches(bench: Bench) -> None:
    command = bench.script("echo start $WHESL_RESTART_COUNT; until [ -e go ]; do sleep 0.01; done; exit 8\n")
    out = bench.place / "out"
    with out.open("ab") as stdout:
        first = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        isolator = bench.isolator()
        first.kill()
        assert first.wait(PATIENCE) == -9
        second = bench.exec(*command, stdout=stdout)
        keeper = Path(f"/proc/{second.pid}/cmdline")
        until(lambda: b"isolator_keeper.py" in keeper.read_bytes(), "the second call has attached")
        assert bench.isolator() == isolator
        (bench.place / "go").touch()
        assert second.wait(PATIENCE) == 8
    assert out.read_text() == "start 0\n"


@pytest.mark.costly
@pytest.mark.parametrize("written", [True, False], ids=["", "before it wrote anything down"])
def test_keeper_and_isolator_killed_the_next_call_takes_the_task_up(bench: Bench, written: bool) -> None:
    command = bench.script("echo start $WHESL_RESTART_COUNT; until [ -e go ]; do sleep 0.01; done; exit 8\n")
    out = bench.place / "out"
    with out.open("ab") as stdout:
        first = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        isolator = bench.isolator()
        first.kill()
        first.wait(PATIENCE)
        os.kill(isolator, signal.SIGKILL)
        until(lambda: bench.directory.owner() is None, "its end")
        if not written:
            for record in bench.directory.path.glob("journal.db*"):
                record.unlink()
        second = bench.exec(*command, stdout=stdout)
        assert bench.isolator() != isolator
        (bench.place / "go").touch()
        assert second.wait(PATIENCE) == 8
    assert out.read_text() == "start 0\n"


# Signals before anything runs ---------------------------------------------------------------------------


def test_a_signal_before_anything_runs_is_not_lost(bench: Bench) -> None:
    """TERM comes while the isolator's interpreter is still starting."""
    mark = bench.place / "ended"
    child = bench.exec("bash", "-c", f"sleep 20; touch {mark}", stdout=subprocess.DEVNULL)
    until(bench.directory.job_file.exists, "the isolator's start")
    time.sleep(0.05)
    child.terminate()
    assert child.wait(PATIENCE) in (143, -15)
    assert not mark.exists()


def test_what_was_ignored_stays_so_as_under_nohup(bench: Bench) -> None:
    child = bench.exec(
        "bash",
        "-c",
        f"touch {bench.place / 'runs'}; sleep 0.5; exit 4",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        stdout=subprocess.DEVNULL,
    )
    until((bench.place / "runs").exists, "the task's start")
    child.send_signal(signal.SIGHUP)
    assert child.wait(PATIENCE) == 4


def test_the_task_inherits_no_blocked_or_ignored_signals(bench: Bench) -> None:
    code, out, _ = bench.run("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
    assert code == 0
    # Signals 32 and 33 are the C library's own: it blocks them for moments, and nobody else can.
    own = 0b11 << 31
    assert [int(line.split()[1], 16) & ~own for line in out.splitlines()] == [0, 0]
