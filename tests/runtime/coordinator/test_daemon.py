"""The real daemon: found, killed in the middle of a recovery, restarted, asked by the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.journals import report
from tests.runtime.coordinator.daemons import PATIENCE, Isolator, journal, kill, register, until, whesl
from tests.runtime.coordinator.world import FakePorts, exception, raised, spec, step
from whesl.language.spec import (
    Entity,
    Operation,
    OperationDeclaration,
    ResourceDeclaration,
    ResourceKind,
    Spec,
)
from whesl.model import home as places
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import UsageError
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.pathmap import PathMap, PathRule
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client import start
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.daemon import Daemon
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.wire.client import CoordinatorClient, request
from whesl.runtime.wire.endpoint import read_endpoint, write_endpoint
from whesl.runtime.wire.keys import private_directory
from whesl.runtime.wire.messages import (
    AnyMessage,
    Command,
    Finished,
    Heartbeat,
    Reconfigure,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Register,
    Welcome,
)


def with_handler(path: Path, body: str) -> Spec:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    declared = ResourceDeclaration(
        resource=ResourceKind.NODE,
        operations=(OperationDeclaration(operation=Operation.REMOVE, handler=str(path)),),
    )
    return spec(
        exception(
            "E",
            step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="first"),
            step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="second"),
            step(Entity.DEPENDENT_JOB, ResourceKind.JOB, environment={"SEEN": "1"}),
        ),
        handlers=(declared,),
    )


def test_one_coordinator_for_a_home(home: Path) -> None:
    first = start.ensure_running(home)
    assert start.ensure_running(home) == first
    again = subprocess.run(
        [sys.executable, "-m", "whesl.runtime.coordinator"], capture_output=True, text=True, timeout=60
    )
    assert again.returncode == start.ALREADY_RUNNING
    assert str(first.pid) in again.stderr
    assert (home / "coordinator" / "endpoint.json").stat().st_mode & 0o777 == 0o600
    assert start.stop(home) and not start.stop(home)
    assert read_endpoint(home) is None


def test_only_time_without_advance_counts_while_it_starts() -> None:
    """Within 20 s a machine with a load of 20 had not started it, and the run failed."""
    patience = start.Patience(100.0)
    for second in range(101, 200):
        assert not patience.over(float(second), work=second // 15)
    assert not patience.over(194.9 + start.START_LIMIT, work=13)
    assert patience.over(195.0 + start.START_LIMIT, work=13), "a process that hangs"


@pytest.mark.variant
def test_a_start_that_is_slow_fails_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slow = "import time, runpy\nwhile time.process_time() < 5: pass\n"
    slow += "runpy.run_module('whesl.runtime.coordinator', run_name='__main__')"
    monkeypatch.setattr(start, "START_LIMIT", 2.0)
    child = subprocess.Popen([sys.executable, "-c", slow], stderr=subprocess.DEVNULL)
    assert start.ensure_running(home, child=child).pid == child.pid
    assert "its start advances" in caplog.text
    start.stop(home, 60.0)
    child.wait()


@pytest.mark.costly
def test_several_who_need_it_at_once_get_the_same(home: Path) -> None:
    program = (
        "from whesl.runtime.coordinator.client.start import ensure_running\n"
        "from whesl.runtime.wire.keys import home\n"
        "print(ensure_running(home()).pid)\n"
    )
    starters = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    pids = {starter.communicate(timeout=60)[0] for starter in starters}
    assert len(pids) == 1


def test_an_idle_coordinator_ends_when_asked_to(home: Path) -> None:
    # It has to be seen first, however busy the machine is.
    found = start.ensure_running(home, options=["--idle", "3"])
    until(lambda: read_endpoint(home) is None, "the end")
    os.waitpid(found.pid, 0)


def test_an_idle_coordinator_stays_while_a_task_is_still_to_come(home: Path, tmp_path: Path) -> None:
    start.ensure_running(home, options=["--idle", "2"])
    register(home, with_handler(tmp_path / "handler", "true"))
    time.sleep(4)  # twice as long as it would stay for nobody
    found = read_endpoint(home)
    assert found is not None and start.running(home) is not None
    for task in ("w/a", "w/b"):
        cancel = Command(id=f"cancel {task}", action="cancel", target=task)
        assert request(home, cancel, 10.0).ok
    until(lambda: read_endpoint(home) is None, "the end")
    os.waitpid(found.pid, 0)


def test_only_a_coordinator_that_was_started_on_demand_ends_by_itself(home: Path) -> None:
    found = start.ensure_running(home)
    assert psutil.Process(found.pid).cmdline()[-2:] == list(start.ON_DEMAND)
    assert start.stop(home)
    assert whesl("coordinator", "start").returncode == 0
    named = read_endpoint(home)
    assert named is not None and "--idle" not in psutil.Process(named.pid).cmdline()


def test_a_workflow_level_recovery_reaches_everybody(
    home: Path, isolator: Callable[..., Isolator], tmp_path: Path
) -> None:
    start.ensure_running(home)
    handler = with_handler(tmp_path / "handler", 'cat >/dev/null; echo \'{"outcome": "continue"}\'')
    register(home, handler)
    a, b = isolator("a"), isolator("b")
    assert a.wait(Welcome).admitted and b.wait(Welcome).admitted
    a.send(RecoveryRequest(raised=raised("E", "a")))
    assert not a.wait(RecoveryGrant).refused
    moved = Configuration(path_map=PathMap((PathRule("/old", "/new"),)))
    a.send(
        RecoveryDone(
            task="w/a", ordinal=1, exception="E", outcome=RecoveryOutcome.RELAUNCHED, dependents_map=moved
        )
    )
    # What the isolator decided, and what the coordinator's own step did, are told together.
    a.flush()
    told = b.wait(Reconfigure).configuration
    assert told.path_map == moved.path_map and told.environment == {"SEEN": "1"}


def test_what_an_ended_isolator_has_left_is_known_before_its_dependent_starts(
    home: Path, isolator: Callable[..., Isolator]
) -> None:
    """It never reached a coordinator; its dependent is the first whom this one hears."""
    start.ensure_running(home)
    register(home)
    kill(home)
    a = CoordinatorClient(home, "w/a")
    moved = Configuration(path_map=PathMap((PathRule("/old", "/new"),)))
    a.send(Register(task="w/a", workflow="w", step="a", claim="a.0"))
    a.send(
        RecoveryDone(
            task="w/a", ordinal=1, exception="E", outcome=RecoveryOutcome.RELAUNCHED, dependents_map=moved
        )
    )
    a.send(Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=2, claim="a.0"))
    assert a.leave() == 3
    a.close()
    b = isolator("b")
    start.ensure_running(home)
    assert b.wait(Welcome).configuration.path_map == moved.path_map
    assert known_state(home).state.tasks["w/a"].state is TaskState.COMPLETED
    until(lambda: not list((home / "coordinator" / "spool").iterdir()), "the end of the file")


def test_what_is_left_while_a_coordinator_runs_is_found(
    home: Path, isolator: Callable[..., Isolator]
) -> None:
    """The one who left it could not reach this coordinator, for whatever reason."""
    start.ensure_running(home)
    register(home)
    b = isolator("b")
    b.wait(Welcome)
    away = home.parent / "away"
    (away / "coordinator").mkdir(mode=0o700, parents=True)
    away.chmod(0o700)
    a = CoordinatorClient(away, "w/a")
    moved = Configuration(path_map=PathMap((PathRule("/old", "/new"),)))
    a.send(
        RecoveryDone(
            task="w/a", ordinal=1, exception="E", outcome=RecoveryOutcome.RELAUNCHED, dependents_map=moved
        )
    )
    a.leave()
    a.close()
    (away / "coordinator" / "spool").rename(home / "coordinator" / "spool")
    assert b.wait(Reconfigure).configuration.path_map == moved.path_map


@pytest.mark.costly
@pytest.mark.parametrize("when", ["first", "second"])
def test_killed_in_the_middle_of_a_recovery_each_step_is_done_once(
    home: Path, isolator: Callable[..., Isolator], tmp_path: Path, when: str
) -> None:
    """kill -9 while a handler runs; the next coordinator continues at the step that was not done."""
    body = (
        f'request=$(cat); case "$request" in *\'"{when}"\'*) '
        f"touch {tmp_path}/inside; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done;; esac; "
        'echo \'{"outcome": "continue"}\''
    )
    first = start.ensure_running(home)
    register(home, with_handler(tmp_path / "handler", body))
    a, b = isolator("a"), isolator("b")
    a.wait(Welcome)
    b.wait(Welcome)
    a.send(RecoveryRequest(raised=raised("E", "a")))
    until((tmp_path / "inside").exists, "the handler", meanwhile=a.turn)
    assert kill(home) == first.pid
    (tmp_path / "go").touch()
    second = start.ensure_running(home)
    assert second.pid != first.pid
    assert not a.wait(RecoveryGrant).refused
    a.send(RecoveryDone(task="w/a", ordinal=1, exception="E", outcome=RecoveryOutcome.RELAUNCHED))
    a.flush()
    assert b.wait(Reconfigure).configuration.environment == {"SEEN": "1"}
    records = journal(home)
    done = Counter((data["index"], data["step"]) for kind, data in records if kind == "step-done")
    assert sorted(done.values()) == [1, 1, 1]
    assert [data["index"] for kind, data in records if kind == "step-begun"] == [0, 1, 2]
    assert sum(kind == "granted" for kind, _ in records) == 1
    assert sum(kind == "requested" for kind, _ in records) == 1


@pytest.mark.costly
def test_killed_again_and_again_nothing_is_lost_and_nothing_twice(
    home: Path, isolator: Callable[..., Isolator]
) -> None:
    start.ensure_running(home)
    register(home)
    a = isolator("a")
    a.wait(Welcome)
    for number in range(60):
        a.send(report(task="w/a", kind="agent", time=float(number), data={"node": str(number)}))
        a.turn()
        if number % 20 == 10:
            kill(home)
            start.ensure_running(home)
    a.send(Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1))
    a.flush()
    notes = [
        int(data["record"]["node"])
        for kind, data in journal(home)
        if kind == "report" and data["record"]["kind"] == "agent"
    ]
    assert sorted(notes) == list(range(60))
    assert (
        json.loads(request(home, query(), PATIENCE).body)["workflows"][0]["tasks"][0]["state"] == "completed"
    )


def query() -> AnyMessage:
    from whesl.runtime.wire.messages import Query

    return Query(what="status")


def test_heartbeats_are_answered_while_a_step_hangs(
    home: Path, isolator: Callable[..., Isolator], tmp_path: Path
) -> None:
    start.ensure_running(home)
    body = f"cat >/dev/null; touch {tmp_path}/inside; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    register(home, with_handler(tmp_path / "handler", body))
    a = isolator("a")
    a.wait(Welcome)
    a.send(RecoveryRequest(raised=raised("E", "a")))
    until((tmp_path / "inside").exists, "the handler", meanwhile=a.turn)
    time.sleep(0.05)
    a.send(Heartbeat(task="w/a", state=TaskState.RECOVERING, attempt=1))
    a.flush()
    assert a.client.connected()
    assert start.running(home) is not None
    assert start.stop(home), "a hanging step keeps the coordinator from ending"
    (tmp_path / "go").touch()


def test_silence_is_noticed_and_is_no_end(
    home: Path, isolator: Callable[..., Isolator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler that would know cannot be asked: the task is unobserved until it speaks again."""
    monkeypatch.setenv("WHESL_HEARTBEAT", "0.1")
    monkeypatch.setenv("WHESL_LOCAL", str(home / "no-cluster"))
    start.ensure_running(home)
    register(home)
    a = isolator("a", rjms="local", job_id="1", claim="1.0")
    assert a.wait(Welcome).heartbeat == 0.1

    def state() -> str:
        view = json.loads(request(home, query(), PATIENCE).body)
        return str(view["workflows"][0]["tasks"][0]["state"])

    until(lambda: state() == "unobserved", "silence noticed")
    log = home / "coordinator" / "log"
    until(lambda: "could not be observed" in log.read_text(), "a look at the job")
    assert state() == "unobserved"
    a.send(Heartbeat(task="w/a", state=TaskState.RUNNING, attempt=1))
    until(
        lambda: any(d["state"] == "running" for k, d in journal(home) if k == "state"),
        "its word",
        meanwhile=a.turn,
    )


def test_nothing_is_decided_while_the_journal_cannot_be_written(
    home: Path, isolator: Callable[..., Isolator], monkeypatch: pytest.MonkeyPatch
) -> None:
    private_directory(home / "coordinator")
    daemon = Daemon(home, FakePorts(), bind="127.0.0.1", log=subprocess.DEVNULL)
    write_endpoint(home, daemon._endpoint)
    attempts = []

    def turn() -> None:
        a.turn()
        daemon._iterate(set())

    def full(records: list[Any], time: float) -> list[int]:
        attempts.append(records)
        raise JournalError("full", reason="full")

    try:
        with monkeypatch.context() as patch:
            patch.setattr(daemon._journal, "append_many", full)
            a = isolator("a")
            until(lambda: len(attempts) >= 2, "two attempts to write", meanwhile=turn)
            assert not [message for message in a.heard if isinstance(message, Welcome)]
            assert a.client.waiting == 1 and not daemon._state.tasks
        until(lambda: a.heard, "the answer", meanwhile=turn)
        assert [type(message) for message in a.heard] == [Welcome]
        assert sum(kind == "registered" for kind, _ in journal(home)) == 1
    finally:
        # No process of its own: nobody must be told to end it.
        places.endpoint(home).unlink()
        daemon._journal.close()
        daemon._server.close()


def test_terminated_it_ends_in_order(home: Path) -> None:
    found = start.ensure_running(home)
    os.kill(found.pid, signal.SIGTERM)
    os.waitpid(found.pid, 0)
    assert read_endpoint(home) is None
    assert journal(home)[-1][0] == "coordinator-stopped"


def test_a_command_told_twice_is_done_once(home: Path) -> None:
    start.ensure_running(home)
    command = Command(id="same", action="add-node", target="n1", arguments={})
    assert request(home, command, PATIENCE).ok and request(home, command, PATIENCE).ok
    assert sum(kind == "bad-node" for kind, _ in journal(home)) == 1


def test_ports_are_found_by_name() -> None:
    from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import InstalledPorts

    with pytest.raises(UsageError):
        InstalledPorts().scheduler("nonsense", {})
    assert InstalledPorts().manager("maestro")
