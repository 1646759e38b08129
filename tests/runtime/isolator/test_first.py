"""The first attempt, which ``whesl exec`` starts before its isolator has loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.journals import rebuild_task
from tests.waiting import until
from whesl.managers.resource import command_call
from whesl.managers.resource.single_host import HostAllocation
from whesl.model.workflow import Task
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.events_and_commands import StartAttempt, Started
from whesl.runtime.isolator.core.task_setup import Setup, split, token
from whesl.runtime.isolator.launch import first_attempt, program_runner
from whesl.runtime.isolator.launch.attempt_starter import Starter
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.node_agent.fencing import attempt_processes

TASK = Task(id="exec/app", step="app", workspace="/")
NODES = ("n01", "n02", "n03", "n04")


@given(
    setup=st.builds(
        Setup,
        task=st.just(TASK),
        workflow=st.just("exec"),
        coordinator=st.just(False),
        claim=st.just("c"),
        nodes=st.integers(1, 4).map(lambda count: NODES[:count]),
        active=st.none() | st.integers(1, 5),
        own_node=st.just("n01"),
        use_own_node=st.booleans(),
        salt=st.text("ab", max_size=3),
    )
)
def test_it_is_the_one_that_the_core_wants(setup: Setup) -> None:
    _, commands = state_machine.step(rebuild_task(setup, []), Started(alive=None), 1.0)
    (start,) = (command for command in commands if isinstance(command, StartAttempt))
    assert (start.attempt, start.token, start.nodes) == (first_attempt.NUMBER, token(setup, 1), split(setup))
    assert start.configuration == type(start.configuration)()


@pytest.fixture
def directory(tmp_path: Path) -> TaskDir:
    made = TaskDir(tmp_path / "task")
    made.make()
    return made


def job(tmp_path: Path, script: str, **changes: object) -> Job:
    # Tests that run beside this one would be found by the same token.
    salt = str(tmp_path)
    setup = Setup(task=TASK, workflow="exec", coordinator=False, claim="c", nodes=("here",), salt=salt)
    return Job(
        setup=msgspec.structs.replace(setup, **changes),
        command=("/bin/bash", "-c", script),
        workdir=str(tmp_path),
        stdin=os.devnull,
        stdout=taskdir.Stream(str(tmp_path / "out")),
        stderr=taskdir.Stream(str(tmp_path / "err")),
    )


@pytest.mark.parametrize("changes", [{"coordinator": True}, {"rjms": "flux"}, {"rjms": "theirs"}])
def test_what_others_have_a_say_in_is_left_to_the_isolator(
    directory: TaskDir, tmp_path: Path, changes: dict[str, object]
) -> None:
    info = HostAllocation({}).describe()
    assert first_attempt.possible(job(tmp_path, "exit 0"), directory, info)
    assert not first_attempt.possible(job(tmp_path, "exit 0", **changes), directory, info)


@pytest.mark.parametrize("trace", ["journal.db", "attempt-1"])
def test_what_has_ever_begun_is_left_to_the_isolator(directory: TaskDir, tmp_path: Path, trace: str) -> None:
    (directory.path / trace).mkdir()
    assert not first_attempt.possible(job(tmp_path, "exit 0"), directory, HostAllocation({}).describe())
    # Somebody else's directory for the attempt, made since: the same.
    if trace == "attempt-1":
        assert first_attempt.begin(job(tmp_path, "echo twice"), directory, HostAllocation({})) == 0
        assert not (tmp_path / "out").exists()


@pytest.fixture
def runners() -> Iterator[list[int]]:
    started: list[int] = []
    yield started
    for pid in started:
        command_call.send(pid, signal.SIGKILL)
        gone(pid)


def gone(pid: int) -> None:
    """Wait for a process's end; it is subprocess's to take note of."""
    until(
        lambda: (found := attempt_processes.read(pid)) is None or found.state in "ZX",
        f"the end of {pid}",
        30.0,
    )


@pytest.mark.parametrize("ended", [False, True])
def test_the_isolator_finds_it_and_starts_nothing(
    directory: TaskDir, tmp_path: Path, runners: list[int], ended: bool
) -> None:
    (tmp_path / "out").write_text("before\n")
    (tmp_path / "go").write_text("") if ended else None
    wait = "for i in $(seq 6000); do [ -e go ] && break; sleep 0.01; done"
    wanted = job(tmp_path, f"echo once >> out; {wait}; exit 3\n")
    wanted = msgspec.structs.replace(wanted, first=first_attempt.beginning(wanted, directory))
    assert wanted.first is not None and wanted.first.sizes[str(tmp_path / "out")] == len("before\n")
    pid = first_attempt.begin(wanted, directory, HostAllocation({}))
    runners.append(pid)
    if ended:
        gone(pid)
    _, commands = state_machine.step(rebuild_task(wanted.setup, []), Started(alive=None), 1.0)
    (start,) = (command for command in commands if isinstance(command, StartAttempt))
    starter = Starter(directory, wanted, HostAllocation({}))
    found = starter.start(start)
    assert not isinstance(found, str)
    assert 0 < starter.seen(found).began == wanted.first.began <= (tmp_path / "out").stat().st_mtime + 1.0
    assert (found.pid, found.running) == ((0, False) if ended else (pid, True))
    (tmp_path / "go").touch()
    gone(pid)
    assert found.exit_code() == 3
    assert (tmp_path / "out").read_text() == "before\nonce\n"


_EARLY = """\
import os, signal, sys
from whesl.runtime.isolator.launch import program_runner
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
os._exit(program_runner.main("1", sys.argv[1], ["sleep", "60"]))
"""


def test_a_signal_that_came_before_the_program_was_there_is_the_program_s(tmp_path: Path) -> None:
    """A signal to all of a job stayed with the runner, which starts with all signals blocked."""
    status = tmp_path / "status"
    status.write_bytes(program_runner.STATUS_PENDING)
    done = subprocess.run([sys.executable, "-c", _EARLY, str(status)], check=False)
    died = 128 + signal.SIGTERM
    assert (done.returncode, program_runner.read(status.read_bytes())) == (died, (died, True))
