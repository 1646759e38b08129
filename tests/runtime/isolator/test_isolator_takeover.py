"""A task whose isolator's node is lost goes on from another node of its job."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.runtime.isolator.conftest import World, exception, found, make_setup, node_exception
from whesl.managers.resource.single_host import HostAllocation
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator import isolator_takeover, resume
from whesl.runtime.isolator.core.events_and_commands import AttemptExited, StartAttempt
from whesl.runtime.isolator.isolator_takeover import Course, Look, course
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import Owner
from whesl.runtime.node_agent.isolator_takeover_start import Succession
from whesl.runtime.node_agent.messages import LinkFile
from whesl.runtime.wire.keys import LinkKeys

STEP = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]", "SLURMD_NODENAME": "n2"}


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        (Look(keeps="n1", state=NodeState.DOWN), Course.TAKE),
        (Look(keeps="n1", state=NodeState.RELEASED), Course.TAKE),
        (Look(keeps="n1", state=NodeState.UNKNOWN), Course.WAIT),
        (Look(keeps="n1", state=NodeState.UP), Course.WAIT),
        (Look(keeps="n1", state=NodeState.DRAINED), Course.WAIT),
        (Look(keeps="n1", state=NodeState.DOWN, heard=True), Course.LEAVE),
        (Look(keeps="n1", state=NodeState.DOWN, ended=True), Course.LEAVE),
        (Look(keeps="n3", state=NodeState.DOWN), Course.LEAVE),
        (Look(keeps="n2", heard=True), Course.TAKE),
    ],
)
def test_only_a_node_that_is_called_down_loses_its_task(look: Look, expected: Course) -> None:
    assert course(look, own="n2", lost="n1") is expected


def job(**changes: Any) -> Job:
    setup = make_setup(node_exception(), nodes=("n1", "n2", "n3"), kept=True, **changes)
    return Job(setup=setup, command=("bash", "/spool/script"), script=1, batch=9)


@pytest.mark.parametrize(
    ("made", "keeper", "expected"),
    [
        (job(), 9, True),
        (job(), 8, False),  # ``whesl exec`` in a script, whose rest would be lost
        (job(components=(("n01",), ("n02", "n03"))), 9, False),
        (job(observe=True), 9, False),
        (msgspec.structs.replace(job(), script=0), 9, False),
        (
            msgspec.structs.replace(job(), setup=make_setup(exception(), nodes=("n1", "n2"), kept=True)),
            9,
            False,
        ),
        (msgspec.structs.replace(job(), setup=make_setup(node_exception(), nodes=("n1", "n2"))), 9, False),
    ],
)
def test_only_a_whole_script_with_rules_on_lost_nodes_moves(made: Job, keeper: int, expected: bool) -> None:
    assert isolator_takeover.moves(made, SlurmAllocation(STEP), keeper) is expected
    assert not isolator_takeover.moves(made, HostAllocation({}), keeper)


def test_a_step_gets_the_variables_of_the_jobs_script() -> None:
    script = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n[1-3]",
        "SLURM_NTASKS": "6",
        "SLURMD_NODENAME": "n1",
    }
    kept = SlurmAllocation({**script, "HOME": "/h"}).script_variables()
    assert kept == script
    step = SlurmAllocation({**STEP, "SLURM_STEP_ID": "4", "SRUN_DEBUG": "3", "HOME": "/h"})
    assert step.script_environment(kept) == {**script, "SLURMD_NODENAME": "n2", "HOME": "/h"}


@pytest.mark.parametrize("node", ["n1", "n3"])
def test_only_the_lost_node_s_lock_is_broken(tmp_path: Path, node: str) -> None:
    """Another successor had the lock, not yet in job.json: it lost it, ended, and nobody had the task."""
    directory = TaskDir(tmp_path / "task")
    directory.make()
    directory.job_file.write_bytes(msgspec.json.encode(job(own_node="n1")))
    earlier = takeover_lock.take(str(directory.lock_file), Owner(host=f"{node}.site", pid=7))
    taken = isolator_takeover._locked(directory, job(own_node="n1"), "n2")
    assert (taken is not None) is (node == "n1")
    assert takeover_lock.lost(str(directory.lock_file), 1) is (node == "n1")
    for descriptor in (earlier, *(taken or ())[1:]):
        os.close(descriptor)


class Scriptless(SlurmAllocation):
    """A job of n1 to n3, of which n1 and n3 are lost."""

    ended: list[int]

    def node_states(self) -> dict[str, NodeState]:
        return {"n1": NodeState.DOWN, "n3": NodeState.DOWN}

    def end_job(self, status: int) -> None:
        self.ended.append(status)


@pytest.mark.parametrize(("lost", "ended"), [("n1", [75]), ("n3", [])])
def test_a_job_whose_script_is_lost_and_cannot_go_on_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str, ended: list[int]
) -> None:
    """A script that calls ``whesl exec`` was lost with its node, and its job was RUNNING until its limit."""
    directory = TaskDir(tmp_path / "task")
    directory.make()
    directory.job_file.write_bytes(msgspec.json.encode(job(own_node=lost)))
    found = Scriptless(STEP)
    found.ended = []
    monkeypatch.setattr(isolator_takeover, "current_allocation", lambda _: found)
    monkeypatch.setattr(isolator_takeover, "REQUEUE_PATIENCE", 0.0)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    unheard, silent = os.pipe()
    assert isolator_takeover.take_over(directory, unheard) is None
    os.close(unheard)
    os.close(silent)
    assert found.ended == ended


def test_the_attempt_goes_on_with_a_spare_in_the_lost_nodes_place(world: Callable[..., World]) -> None:
    made = world(node_exception(), nodes=("n1", "n2", "n3"), active=2, kept=True)
    assert made.state.nodes.active == ("n1", "n2")
    moved = msgspec.structs.replace(made.setup, own_node="n2", nodes=("n2", "n3"))
    made.ever.clear()  # no process of the attempt is on this node
    made.restart(moved)
    (gone,) = resume.lost_script_node(Job(setup=moved, moved_from="n1"), made.state)
    made.feed(msgspec.structs.replace(gone, found=(found("NODEDOWN", kind="node", node="n1"),)))
    made.feed(AttemptExited(attempt=1, code=137, signal=9))
    assert set(made.asked(StartAttempt)[-1].nodes.active) == {"n2", "n3"}
    assert not resume.lost_script_node(Job(setup=moved, moved_from="n1"), made.state), "it is known"
    made.exits()
    assert made.finished is not None and made.finished.state is TaskState.COMPLETED


def test_an_attempt_is_lost_with_the_script_s_node_even_if_no_rank_ran_there(
    world: Callable[..., World],
) -> None:
    made = world(node_exception(), nodes=("n1", "n2", "n3"), active=2, kept=True, use_own_node=False)
    assert made.state.nodes.active == ("n2", "n3")
    made.ever.clear()
    moved = msgspec.structs.replace(made.setup, own_node="n2", nodes=("n2", "n3"))
    made.restart(moved)
    (gone,) = resume.lost_script_node(Job(setup=moved, moved_from="n1"), made.state)
    made.feed(msgspec.structs.replace(gone, found=(found("NODEDOWN", kind="node", node="n1"),)))
    assert made.asked(StartAttempt)[-1].attempt == 2
    made.exits()
    assert made.finished is not None and made.finished.state is TaskState.COMPLETED


class TestAgent:
    """The agent's part, on a virtual clock."""

    @pytest.fixture
    def file(self) -> LinkFile:
        return LinkFile(
            hosts=(),
            port=1,
            lease_port=2,
            keys=LinkKeys.generate(),
            claim="c",
            prefix="p",
            heartbeat=0.5,
            limit=3.0,
            successors=("n2",),
        )

    def test_looks_while_nobody_answers(self, file: LinkFile, tmp_path: Path) -> None:
        succession = Succession(tmp_path / "link.json", file, "n2")
        assert not succession.due(100.9, attended=100.0)
        assert succession.due(101.0, attended=100.0)
        assert not succession.due(101.9, attended=100.0)
        assert succession.due(102.0, attended=100.0), "before the lease is over"
        succession.look()
        assert not succession.waits
        assert not succession.due(103.0, attended=102.5)

    def test_a_successor_is_started_once_and_dismissed_by_an_answer(
        self, file: LinkFile, tmp_path: Path
    ) -> None:
        link = tmp_path / "link.json"
        link.write_bytes(msgspec.json.encode(file))
        succession = Succession(link, file, "n2")
        assert succession.due(106.0, attended=100.0)
        succession.look()
        first = succession._child
        succession.look()
        assert first is not None and succession._child is first and not succession.begun
        succession.due(107.0, attended=106.9)
        assert first.wait(60) == 70, "there is no job.json"
        assert not succession.waits

    def test_other_nodes_start_none_and_leave_once_another_isolator_has_begun(
        self, file: LinkFile, tmp_path: Path
    ) -> None:
        link = tmp_path / "link.json"
        isolator_takeover = Succession(link, file, "n3")
        assert isolator_takeover.due(106.0, attended=100.0)
        isolator_takeover.look()
        assert not isolator_takeover.begun and not isolator_takeover.waits
        link.write_bytes(msgspec.json.encode(msgspec.structs.replace(file, keys=LinkKeys.generate())))
        isolator_takeover.look()
        assert isolator_takeover.begun
        isolator_takeover.attend()
