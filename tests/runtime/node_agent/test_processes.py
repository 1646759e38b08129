"""Ending an attempt's processes: launchers that end by themselves, and tokens that begin alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import shedding
from tests.runtime.node_agent.started import Start, start, token
from tests.waiting import until
from whesl.runtime.node_agent.fencing import attempt_processes, stuck_processes
from whesl.runtime.node_agent.fencing.attempt_processes import TOKEN_VARIABLE, Process

__all__ = ["start", "token"]  # fixtures


def begun(rank: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Wait until a shell has become ``sleep``: then what it opens is open, and its end is heard of."""
    until(
        lambda: (found := attempt_processes.read(rank.pid)) is not None and found.name == "sleep",
        "sleep",
        30.0,
    )
    return rank


def test_a_launcher_ends_by_itself_when_its_ranks_were_killed(
    start: Start, token: str, tmp_path: Path
) -> None:
    pipe = tmp_path / "rank"
    os.mkfifo(pipe)
    launcher = start(f"read x < {pipe}; exit 7", token, "srun")
    rank = begun(start(f"exec sleep 300 > {pipe}", token))
    done = attempt_processes.kill_all(token, patience=60.0)
    assert (done.count, done.left, done.spared, done.forced) == (1, [], True, False)
    assert launcher.wait(120) == 7
    assert rank.wait(120) == -9


def test_the_end_of_launchers_is_told_before_the_last_look(
    start: Start, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "rank"
    os.mkfifo(pipe)
    launcher = start(f"read x < {pipe}; exit 7", token, "srun")
    begun(start(f"exec sleep 300 > {pipe}", token))
    happened: list[str] = []
    look = attempt_processes.look

    def seen(*arguments: Any, **options: Any) -> attempt_processes.Look:
        found = look(*arguments, **options)
        happened.append("something left" if found.found else "nothing left")
        return found

    def launchers_ended() -> None:
        assert launcher.wait(120) == 7
        happened.append("launchers ended")

    monkeypatch.setattr(attempt_processes, "look", seen)
    done = attempt_processes.kill_all(token, patience=60.0, launchers_ended=launchers_ended)
    # Who was told looks elsewhere by himself: nothing is left to be told at the end.
    assert (done.left, done.spared) == ([], False)
    assert happened[-2:] == ["launchers ended", "nothing left"]


def test_a_launcher_that_waits_for_ever_is_killed(start: Start, token: str) -> None:
    launcher = start("while :; do :; done", token, "srun")
    done = attempt_processes.kill_all(token, patience=0.1)
    assert (done.count, done.left, done.forced) == (1, [], True)
    assert launcher.wait(120) == -9


def test_without_patience_all_are_killed_at_once(start: Start, token: str) -> None:
    launcher = start("sleep 300", token, "srun")
    done = attempt_processes.kill_all(token)
    assert (done.spared, done.forced) == (False, True)
    assert launcher.wait(120) == -9


def test_the_tenth_attempt_is_not_the_first(start: Start, token: str) -> None:
    tenth = start("sleep 300", f"{token}0")
    assert attempt_processes.of_attempt(token) == []
    assert attempt_processes.kill_all(token).count == 0
    assert tenth.poll() is None
    everyone = attempt_processes.of_attempt(f"{token.partition('.')[0]}.")
    assert tenth.pid in [process.pid for process in everyone]


def test_the_end_of_what_was_killed_is_seen_when_it_comes(
    start: Start, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With an hour between two looks, a wait by the clock would not come back.
    for name in ("_LOOK_FIRST", "_LOOK_PATIENT", "_LOOK_LONGEST"):
        monkeypatch.setattr(attempt_processes, name, 3600.0)
    start("sleep 300", token)
    start("exec sleep 300", token)
    done = attempt_processes.kill_all(token)
    assert done.left == []
    assert done.count == 3


def test_without_descriptors_the_end_is_looked_for(
    start: Start, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(pid: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", none_left)
    start("exec sleep 300", token)
    assert attempt_processes.kill_all(token).left == []


def process(pid: int, state: str, name: str = "app") -> Process:
    return Process(pid=pid, parent=1, group=pid, session=pid, state=state, started=7, name=name)


def test_a_stopped_process_is_told_from_one_that_runs(start: Start, token: str) -> None:
    running, stopped = start("sleep 60", token), start("sleep 60", token)
    os.kill(stopped.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
    said = stuck_processes.stuck(lambda: attempt_processes.of_attempt(token))
    assert said == f"stopped (state T): sh ({stopped.pid})"
    assert str(running.pid) not in said


@pytest.mark.parametrize("name", ["slurmstepd", "somebody"])
def test_a_stopped_keeper_of_tasks_is_seen_though_it_is_none_of_them(
    name: str, token: str, tmp_path: Path
) -> None:
    """Nothing that its tasks print arrives any more, and their end is not told."""
    above = tmp_path / name
    above.write_bytes(Path("/bin/sh").read_bytes())
    above.chmod(0o700)
    script = f"{attempt_processes.TOKEN_VARIABLE}={token} sleep 60 & echo; wait"
    with subprocess.Popen([above, "-c", script], stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            parent.stdout.readline()
            os.kill(parent.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, parent.pid, os.WSTOPPED | os.WNOWAIT)
            found = until(lambda: attempt_processes.of_attempt(token), "the rank", 30.0)
            assert len(found) == 1
            said = stuck_processes.stuck(lambda: attempt_processes.of_attempt(token))
        finally:
            attempt_processes.kill_all(token)
            parent.kill()
    assert said == (f"stopped (state T): slurmstepd ({parent.pid})" if name == "slurmstepd" else "")


def test_who_only_happens_to_wait_inside_the_kernel_is_not_stuck() -> None:
    looks = [[process(1, "D"), process(2, "D")], [process(1, "D"), process(2, "S")], [process(1, "D")]]
    waited: list[float] = []
    said = stuck_processes.stuck(lambda: looks.pop(0), wait=waited.append)
    assert said == "waiting inside the kernel (state D): app (1)"
    assert sum(waited) == pytest.approx(stuck_processes.WAITING_FOR)


def test_where_everything_runs_nothing_is_waited_for() -> None:
    waited: list[float] = []
    assert stuck_processes.stuck(lambda: [process(1, "S"), process(2, "R")], wait=waited.append) == ""
    assert waited == []


def test_many_stuck_processes_are_told_in_one_line() -> None:
    said = stuck_processes.stuck(
        lambda: [process(pid, "T") for pid in range(1, 129)], wait=lambda _seconds: None
    )
    assert said.endswith("app (4) and 124 more") and "\n" not in said


def test_a_process_in_the_midst_of_its_start_is_not_missed(token: str) -> None:
    """Whoever has started it goes on before its environment is there; a look then would start it again."""
    for _ in range(60):
        child = subprocess.Popen(
            ["/bin/sh", "-c", "sleep 60"], env={TOKEN_VARIABLE: token}, start_new_session=True
        )
        try:
            assert token.encode() in (attempt_processes.environment_of(child.pid) or b"")
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def test_what_has_no_environment_for_good_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program started without one, a zombie; what has neither that nor a command line, once only."""
    monkeypatch.setattr(attempt_processes, "EXEC_TIMEOUT", 3600.0)
    cleared = subprocess.Popen(["/bin/sleep", "60"], env={}, start_new_session=True)
    dead = subprocess.Popen(["/bin/true"], env={})
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert attempt_processes.environment_of(cleared.pid) == b""
        assert not attempt_processes.environment_of(dead.pid)
        monkeypatch.setattr(attempt_processes, "EXEC_TIMEOUT", 0.0)
        monkeypatch.setattr(attempt_processes, "command_line", lambda pid: b"")
        monkeypatch.setattr(attempt_processes, "_bare", known := set[int]())
        assert attempt_processes.environment_of(cleared.pid) == b"" and known == {cleared.pid}
        monkeypatch.setattr(attempt_processes, "command_line", None)  # calling it would be a TypeError
        assert attempt_processes.environment_of(cleared.pid) == b""
    finally:
        cleared.kill()
        cleared.wait()
        dead.wait()
    assert attempt_processes.environment_of(dead.pid) is None


def test_what_looks_like_a_zombie_and_lives_is_ended(start: Start, token: str, tmp_path: Path) -> None:
    """A process whose first thread has ended: state Z, neither environment nor command line."""
    beats = tmp_path / "beats"
    rank = start(f"exec {sys.executable} {shedding.__file__} leaderless {beats}", token)
    until(beats.exists, "the thread that lives", 30.0)
    status = Path(f"/proc/{rank.pid}/stat")
    until(lambda: status.read_text().rpartition(")")[2].split()[0] == "Z", "its first one's end", 30.0)
    assert attempt_processes.kill_all(token).left == []
    before = beats.stat().st_size
    time.sleep(0.3)  # it would beat six times
    assert beats.stat().st_size == before


def test_a_child_that_came_after_the_listing_is_not_missed(
    start: Start, token: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A parent that is listed, forks, and ends before it is read: its child was not listed."""
    go, forked = tmp_path / "go", tmp_path / "forked"
    parent = start(
        f"until [ -e {go} ]; do :; done; setsid sleep 300 & echo $! >{forked}; exit 0",
        token,
    )
    listing = os.listdir

    def listed(path: str) -> list[str]:
        found = listing(path)
        if path == "/proc" and not go.exists():
            go.touch()
            parent.wait(120)
        return found

    monkeypatch.setattr(os, "listdir", listed)
    done = attempt_processes.kill_all(token)
    assert (done.count, done.left) == (1, [])
    child = attempt_processes.read(int(forked.read_text()))
    assert child is None or child.state == "Z"


def test_a_runner_that_is_not_known_leads_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container all processes of outside are of session 0; slurmd was killed with an attempt."""
    outside = Process(pid=10, parent=0, group=0, session=0, state="S", started=1, name="slurmd")
    monkeypatch.setattr(attempt_processes, "everything", lambda: [outside])
    assert attempt_processes.look("no-such-task.", 0).found == []
