"""What a person asks a real coordinator, and is told, on the command line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests import commands
from tests.equipment.faults import tmpfs
from tests.equipment.free_ports import free_port
from tests.journals import report
from tests.runtime.coordinator.daemons import Isolator, kill, register, whesl
from tests.waiting import until
from whesl.model import home as places
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client import start
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import Owner
from whesl.runtime.wire.endpoint import write_endpoint
from whesl.runtime.wire.keys import private_directory
from whesl.runtime.wire.messages import Control, Finished, Welcome


class TestCommandLine:
    @pytest.mark.costly
    def test_coordinator(self, home: Path) -> None:
        assert whesl("coordinator", "status").returncode == 1
        assert json.loads(whesl("coordinator", "status", "--json").stdout) == {"running": False}
        assert whesl("coordinator", "start").returncode == 0
        status = whesl("coordinator", "status")
        assert status.returncode == 0 and "runs: process" in status.stdout
        assert "files: journal " in status.stdout
        assert json.loads(whesl("coordinator", "status", "--json").stdout)["running"]
        assert whesl("coordinator", "stop").returncode == 0
        assert "no coordinator" in whesl("coordinator", "stop").stdout

    def test_one_that_does_not_answer_is_not_called_ended(self, home: Path) -> None:
        found = start.ensure_running(home)
        os.kill(found.pid, signal.SIGSTOP)
        try:
            told = whesl("coordinator", "stop")
        finally:
            os.kill(found.pid, signal.SIGCONT)
        assert told.returncode != 0 and "no coordinator" not in told.stdout
        assert f"process {found.pid}" in told.stderr and f"kill {found.pid}" in told.stderr

    def test_one_of_a_version_with_other_messages_is_named(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = start.ensure_running(home)
        os.kill(found.pid, signal.SIGSTOP)  # its messages would not be understood; no answer comes
        try:
            write_endpoint(home, msgspec.structs.replace(found, wire=found.wire + 1, version="9.9.9"))
            for words in (("coordinator", "stop"), ("coordinator", "start")):
                told = whesl(*words)
                assert told.returncode != 0
                assert "it is of WHESL 9.9.9" in told.stderr, words
            assert "it is of WHESL 9.9.9" in whesl("coordinator", "status").stdout
            write_endpoint(home, found)
        finally:
            os.kill(found.pid, signal.SIGCONT)
        assert start.stop(home)

    def test_a_file_system_without_locks_has_one_coordinator_all_the_same(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))  # Lustre without -o flock

        monkeypatch.setattr(fcntl, "flock", refuse)
        held = start.lock(home)
        with pytest.raises(start.AlreadyRunningError):
            start.lock(home)
        takeover_lock.release(held)
        takeover_lock.release(start.lock(home))

    @pytest.mark.slow
    def test_a_dead_host_s_coordinator_is_followed_by_one_that_a_person_asks_for(self, home: Path) -> None:
        """Where locks hold on one host alone, or a server keeps them, nobody else knows that it is dead."""
        private_directory(home / "coordinator")
        dead = Owner(host="elsewhere", boot="b", pid=1, started=1)
        kept = takeover_lock.take(str(places.coordinator_lock(home)), dead)
        told = whesl("coordinator", "start")
        assert told.returncode != 0 and "process 1 on elsewhere" in told.stderr
        assert whesl("coordinator", "start", "--take-over").returncode == 0
        assert takeover_lock.lost(str(places.coordinator_lock(home)), dead.epoch)
        os.close(kept)

    def test_one_that_was_taken_over_ends(self, home: Path) -> None:
        found = start.ensure_running(home)
        owner = takeover_lock.holder(str(places.coordinator_lock(home)))
        assert owner is not None
        taken = takeover_lock.break_lock(str(places.coordinator_lock(home)), owner, takeover_lock.owned())
        assert taken is not None
        until(lambda: start._surely_gone(found), "the old one's end", 30)
        takeover_lock.release(taken)

    def test_it_listens_where_it_may_or_says_why_not(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with free_port() as port:
            with socket.create_server(("127.0.0.1", port)):
                monkeypatch.setenv("WHESL_PORTS", f"{port}-{port}")
                told = whesl("coordinator", "start")
                assert told.returncode != 0
                assert f"cannot listen on 127.0.0.1 port {port} to {port}" in told.stderr
            assert start.ensure_running(home).port == port
        kill(home)
        monkeypatch.setenv("WHESL_PORTS", "ninety")
        told = whesl("coordinator", "start")
        assert told.returncode != 0 and "is no range of ports" in told.stderr

    def test_status_and_events_work_while_it_is_down(
        self, home: Path, isolator: Callable[..., Isolator]
    ) -> None:
        start.ensure_running(home)
        register(home)
        a = isolator("a", nodes=("n1",))
        a.wait(Welcome)
        a.send(report(task="w/a", kind="step-done", time=5.0, data={"ordinal": 1, "index": 0}))
        a.send(Finished(task="w/a", state=TaskState.FAILED, exit_code=3, attempts=2))
        a.flush()
        kill(home)
        status = whesl("status")
        assert status.returncode == 0
        assert status.stdout.splitlines()[0].split("\t")[:5] == ["w/a", "failed (3)", "2", "-", "n1"]
        body = json.loads(whesl("status", "w", "--json").stdout)
        assert body["workflows"][0]["root"] == "/nowhere" and not body["coordinator"]["running"]
        events = [
            json.loads(line) for line in whesl("events", "--workflow", "w", "--json").stdout.splitlines()
        ]
        own = [event for event in events if event["source"] == "isolator"]
        assert [(e["kind"], e["task"], e["data"]["task"], e["data"]["index"]) for e in own] == [
            ("step-done", "w/a", "w/a", 0)
        ]
        last = events[-1]["seq"]
        assert whesl("events", "--since", str(last)).stdout == ""
        assert "step-done" in whesl("events").stdout

    def test_events_follow(self, home: Path, isolator: Callable[..., Isolator]) -> None:
        start.ensure_running(home)
        follower = commands.begin("events", "-f", "--json", stdout=subprocess.PIPE, text=True)
        assert follower.stdout is not None
        try:
            assert json.loads(follower.stdout.readline())["kind"] == "coordinator-started"
            register(home)
            assert json.loads(follower.stdout.readline())["kind"] == "workflow"
        finally:
            follower.terminate()
            follower.wait()

    @pytest.mark.costly
    def test_nodes(self, home: Path) -> None:
        assert "no node" in whesl("nodes").stdout
        assert whesl("nodes", "add", "n7", "--reason", "flaky", "--hours", "2").returncode == 0
        (node,) = json.loads(whesl("nodes", "--json").stdout)["nodes"]
        assert (node["node"], node["reason"], node["source"]) == ("n7", "flaky", "user")
        assert "flaky" in whesl("nodes").stdout
        wrong = whesl("nodes", "clear", "n8")
        assert wrong.returncode == 1 and "n7" in wrong.stderr
        assert whesl("nodes", "clear", "n7").returncode == 0

    @pytest.mark.costly
    def test_nodes_are_cleared_as_people_type_it(self, home: Path) -> None:
        def avoided() -> list[str]:
            return [row["node"] for row in json.loads(whesl("nodes", "--json").stdout)["nodes"]]

        for node in ("n01", "n02", "n03", "n04", "n05", "n06"):
            assert whesl("nodes", "add", node).returncode == 0
        wrong = whesl("nodes", "clear", "n01", "n7")
        assert wrong.returncode == 1 and "nothing was cleared" in wrong.stderr
        assert len(avoided()) == 6
        assert whesl("nodes", "clear", "n01", "n[02-03]").returncode == 0
        assert avoided() == ["n04", "n05", "n06"]
        assert whesl("nodes", "--clear", "n04").returncode == 0
        assert whesl("nodes", "clear").returncode == 2
        assert whesl("nodes", "clear", "n[").returncode == 2
        assert whesl("nodes", "clear", "--all").returncode == 0
        assert avoided() == []
        assert whesl("nodes", "clear", "--all").returncode == 0

    def test_resume_waits_and_explains(self, home: Path, isolator: Callable[..., Isolator]) -> None:
        start.ensure_running(home)
        register(home)
        a = isolator("a")
        a.wait(Welcome)
        a.flush()
        refused = whesl("resume", "a")
        assert refused.returncode == 1 and "running, not paused" in refused.stderr
        a.send(report(task="w/a", kind="paused", time=time.time(), data={"reason": "enough"}))
        a.flush()
        waiting = commands.begin("resume", "a", "--wait", stdout=subprocess.PIPE, text=True)
        control = a.wait(Control)
        assert control.action == "resume"
        a.send(report(task="w/a", kind="resumed", time=time.time(), data={}))
        a.flush()
        output, _ = waiting.communicate(timeout=60)
        assert waiting.returncode == 0 and "recovering" in output
        typo = whesl("cancel", "w/q")
        assert typo.returncode == 1 and "w/a" in typo.stderr
        assert "Traceback" not in typo.stderr + refused.stderr

    def test_watch_prints_lines_where_there_is_no_terminal(
        self, home: Path, isolator: Callable[..., Isolator]
    ) -> None:
        start.ensure_running(home)
        register(home)
        a, b = isolator("a"), isolator("b")
        a.wait(Welcome)
        b.wait(Welcome)
        watching = commands.begin("status", "w", "--watch", stdout=subprocess.PIPE, text=True)
        for each in (a, b):
            each.send(Finished(task=f"w/{each.name}", state=TaskState.COMPLETED, exit_code=0, attempts=1))
            each.flush()
        output, _ = watching.communicate(timeout=60)
        assert watching.returncode == 0
        assert "completed" in output and "\x1b" not in output

    def test_a_full_home_is_told(self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with tmpfs(tmp_path / "small", 64 * 1024) as small:
            own = small.path / "home"
            own.mkdir(mode=0o700)
            with contextlib.suppress(OSError), (small.path / "fill").open("wb", buffering=0) as fill:
                while True:
                    fill.write(b"x" * 4096)
            monkeypatch.setenv("WHESL_HOME", str(own))
            started = whesl("coordinator", "start")
            kill(own)
        assert started.returncode == 1
        assert "the coordinator ended at once (status 1)" in started.stderr
        assert f"the file system of {own} is full: make room" in started.stderr

    def test_an_open_home_is_refused_without_a_traceback(self, home: Path) -> None:
        home.chmod(0o755)
        for arguments in (["status"], ["coordinator", "start"], ["events"]):
            result = whesl(*arguments)
            assert result.returncode == 1 and "chmod 700" in result.stderr
            assert "Traceback" not in result.stderr
        home.chmod(0o700)
