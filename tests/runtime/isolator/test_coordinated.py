"""``whesl exec`` with a coordinator at the other end of a real socket; what it decides is the test's."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests import commands
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import ControlAction, Verdict
from whesl.model.pathmap import PathMap
from whesl.model.states import TaskState
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.wire.endpoint import Endpoint, write_endpoint
from whesl.runtime.wire.keys import user_keys
from whesl.runtime.wire.messages import (
    AnyMessage,
    Control,
    Escalate,
    EscalationDecision,
    Finished,
    Reconfigure,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Register,
    Report,
    Welcome,
)
from whesl.runtime.wire.server import CoordinatorServer
from whesl.runtime.wire.spool import collect

M = TypeVar("M")
PATIENCE = 30.0
TASK = "wf/app"
RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH {level} JOB [app] {more}
EXCEPTION DETECTION CRASH LOG "An error occurred in MPI_" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
CRASHES_ONCE = """\
echo "start $WHESL_RESTART_COUNT"
[ "$WHESL_RESTART_COUNT" = 0 ] && { echo "An error occurred in MPI_Send"; sleep 60; }
exit 0
"""


class Other:
    """The other end: a coordinator's socket and the task that talks to it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = place / "home"
        self.home.mkdir(mode=0o700)
        (self.home / "coordinator").mkdir(mode=0o700)
        keys = user_keys(self.home)
        self.server = CoordinatorServer("127.0.0.1", 0, keys, "test")
        endpoint = Endpoint(
            host=socket.gethostname(),
            addresses=("127.0.0.1",),
            port=self.server.port,
            public_key=keys.coordinator.public,
            pid=os.getpid(),
            incarnation="test",
        )
        write_endpoint(self.home, endpoint)
        self.directory = TaskDir(place / "task")
        self.peer = ""
        self.heard: list[AnyMessage] = []
        self.process: subprocess.Popen[bytes] | None = None

    def exec(self, script: str, *options: str, level: str = "JOB_LEVEL", more: str = "") -> None:
        rules = self.place / "rules.esl"
        rules.write_text(RULES.format(level=level, more=more))
        with (self.place / "out").open("ab") as out:
            self.process = commands.begin(
                *("exec", "--workflow", "wf", "--step", "app"),
                *("--task-dir", str(self.directory.path), "-e", str(rules), *options),
                *("--", "bash", "-c", script),
                env={**os.environ, "WHESL_HOME": str(self.home)},
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=out,
            )

    def pump(self) -> None:
        self.server.sockets[0].poll(20)
        for delivery in self.server.receive():
            self.peer = delivery.peer
            self.heard.append(delivery.message)
            self.server.settle(delivery)
        self.server.tick()

    def until(self, condition: Callable[[], M | None], what: str) -> M:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.pump()
            if (value := condition()) is not None and value is not False:
                return value
        raise AssertionError(f"did not happen: {what}; heard {[type(m).__name__ for m in self.heard]}")

    def hears(self, kind: type[M]) -> M:
        return self.until(
            lambda: next((message for message in self.heard if isinstance(message, kind)), None),
            kind.__name__,
        )

    def says(self, message: AnyMessage) -> None:
        self.server.send(self.peer, message)
        self.pump()

    def welcome(self, **changes: Any) -> Register:
        register = self.hears(Register)
        self.says(Welcome(task=TASK, admitted=True, **changes))
        return register

    def text(self) -> str:
        return (self.place / "out").read_text()

    def prints(self, text: str) -> None:
        self.until(lambda: text in self.text(), f"output {text!r}")

    def ends(self) -> int:
        process = self.process
        assert process is not None
        return self.until(process.poll, "the end")

    def state(self) -> TaskState:
        return self.hears(Finished).state


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Other]:
    made = Other(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.terminate()
        made.process.wait(PATIENCE)
    made.server.close()


def test_the_task_registers_and_waits_for_its_configuration(other: Other) -> None:
    other.exec('echo "flag=$FLAG"')
    register = other.hears(Register)
    assert (register.task, register.workflow, register.step) == (TASK, "wf", "app")
    assert other.text() == ""
    other.welcome(configuration=Configuration(version=1, environment={"FLAG": "set"}))
    assert other.ends() == 0
    assert other.text() == "flag=set\n"
    assert other.state() is TaskState.COMPLETED


def test_a_dependent_finds_its_input_in_the_new_root(other: Other) -> None:
    old, new = other.place / "old", other.place / "new"
    (old / "stage").mkdir(parents=True)
    new.mkdir()
    (old / "stage" / "in.txt").write_text("data\n")
    other.exec(f"cat {old}/stage/in.txt && echo result > {old}/stage/out.txt && pwd")
    paths = PathMap().with_rule(str(old), str(new))
    other.welcome(configuration=Configuration(version=1, path_map=paths))
    assert other.ends() == 0
    assert other.text().startswith("data\n")
    assert (new / "stage" / "out.txt").read_text() == "result\n"
    assert (old / "stage" / "out.txt").readlink() == new / "stage" / "out.txt"


def test_who_is_not_admitted_runs_nothing(other: Other) -> None:
    other.exec("echo ran")
    other.hears(Register)
    other.says(Welcome(task=TASK, admitted=False, reason="job 7 owns it"))
    assert other.ends() == 75
    assert other.text() == ""


def test_a_workflow_level_recovery_waits_for_the_coordinator_s_part(other: Other) -> None:
    other.exec(CRASHES_ONCE, level="WORKFLOW_LEVEL")
    other.welcome()
    request = other.hears(RecoveryRequest)
    assert request.raised.exception == "CRASH"
    for _ in range(20):
        other.pump()
    assert "start 1" not in other.text()
    other.says(RecoveryGrant(task=TASK, ordinal=request.raised.ordinal))
    assert other.hears(RecoveryDone).outcome == "relaunched"
    assert other.ends() == 0
    words = [message.record.kind for message in other.heard if isinstance(message, Report)]
    order = ["raised", "decided", "granted", "step-begun", "step-done", "relaunched", "confirmed"]
    assert [word for word in words if word in order] == order


def test_a_silent_coordinator_is_waited_for_only_so_long(other: Other) -> None:
    other.exec(CRASHES_ONCE, "--wait", "0.5", level="WORKFLOW_LEVEL")
    other.welcome()
    assert other.ends() == 1
    assert "did not answer" in other.directory.result_file.read_text()


def test_last_words_are_left_for_a_coordinator_that_is_away(other: Other) -> None:
    other.exec(CRASHES_ONCE + "sleep 0.2")
    other.welcome()
    other.server.close()
    process = other.process
    assert process is not None and process.wait(PATIENCE) == 0
    ((left,), unreadable) = collect(other.home)
    assert not unreadable and left.peer == other.peer
    messages = [envelope.message for envelope in left.envelopes]
    assert [message.outcome for message in messages if isinstance(message, RecoveryDone)] == ["relaunched"]
    assert isinstance(messages[-1], Finished)
    assert "are left for it" in other.directory.log.read_text()


def test_a_paused_task_goes_on_when_a_person_says_so(other: Other) -> None:
    script = 'echo start; [ -e good ] && exit 0; echo "An error occurred in MPI_Send"; exit 1'
    other.exec(script, more="LIMIT 1 ELSE PAUSE")
    other.welcome()
    other.until(
        lambda: next((m for m in other.heard if isinstance(m, RecoveryDone) and m.outcome == "paused"), None),
        "the pause",
    )
    (other.place / "good").touch()
    for _ in range(2):
        other.says(Control(task=TASK, id="r1", action=ControlAction.RESUME))
    assert other.ends() == 0
    assert other.text().count("start") == 3


def test_pause_and_resume_and_cancel_by_a_person(other: Other) -> None:
    other.exec('echo "start $WHESL_RESTART_COUNT"; sleep 60')
    other.welcome()
    other.prints("start 0")
    other.says(Control(task=TASK, id="p1", action=ControlAction.PAUSE))
    other.says(Control(task=TASK, id="r1", action=ControlAction.RESUME))
    other.prints("start 1")
    other.says(Control(task=TASK, id="c1", action=ControlAction.CANCEL))
    assert other.ends() == 143
    assert other.state() is TaskState.CANCELLED


def test_a_running_task_is_told_of_its_new_configuration(other: Other) -> None:
    other.exec('trap "cat $WHESL_RECONFIGURE; echo; exit 0" USR2; echo ready; while :; do sleep 0.05; done')
    other.welcome()
    other.prints("ready")
    paths = PathMap().with_rule("/old", "/new")
    configuration = Configuration(version=4, path_map=paths)
    other.says(Reconfigure(task=TASK, configuration=configuration, signal=12))
    assert other.ends() == 0
    told = json.loads(other.text().splitlines()[1])
    assert told["path_map"]["rules"] == [{"old": "/old", "new": "/new"}]


def test_an_escalation_ends_as_the_coordinator_decides(other: Other) -> None:
    script = 'echo "An error occurred in MPI_Send"; exit 1'
    other.exec(script, more="LIMIT 1 ELSE ESCALATE")
    other.welcome()
    escalate = other.hears(Escalate)
    assert escalate.reason == "budget-spent"
    other.says(EscalationDecision(task=TASK, ordinal=escalate.raised.ordinal, action=Verdict.REQUEUE))
    assert other.ends() == 75


def test_a_restarted_isolator_registers_again_and_asks_again(other: Other) -> None:
    other.exec(CRASHES_ONCE, level="WORKFLOW_LEVEL")
    other.welcome()
    request = other.hears(RecoveryRequest)
    owner = other.directory.owner()
    assert owner is not None
    first = other.peer
    os.kill(owner.pid, 9)
    other.until(
        lambda: other.peer != first and sum(isinstance(each, RecoveryRequest) for each in other.heard) > 1,
        "the request again",
    )
    other.says(Welcome(task=TASK, admitted=True))
    other.says(RecoveryGrant(task=TASK, ordinal=request.raised.ordinal))
    assert other.ends() == 0
    assert other.text().count("start") == 2
