"""What every adapter of the resource managers' port has to do, as tests.

An adapter's test module derives from the two classes and gives the fixtures that they ask for::

    class TestMyScheduler(SchedulerContract):
        @pytest.fixture
        def scheduler(self) -> Scheduler: ...

The tests wait with a deadline and never for a fixed time.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from whesl.model.errors import CouldNotObserveError, RefusedError, WheslError
from whesl.model.states import JobState, NodeState
from whesl.rjms import hostlist
from whesl.rjms.port import Allocation, JobRecord, JobRequest, Scheduler, Step, StepRequest

DEADLINE = 60.0
# Marks the processes of a test, wherever they run on this machine.
MARK = "WHESL_CONTRACT_MARK"


def wait_until(condition: Callable[[], object], what: str, seconds: float = DEADLINE) -> None:
    """Return when the condition holds; fail the test after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)


def marked(mark: str) -> list[psutil.Process]:
    """Return the living processes with this mark in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue  # ended meanwhile, or another user's
    return found


class SchedulerContract:
    """The outside face. Needs a cluster of at least three nodes that nothing else uses."""

    # False: the resource manager never runs a job again under its id, and says so.
    can_requeue = True
    # False: this adapter never takes a node out of service, and says so.
    can_mark = True

    @pytest.fixture
    def scheduler(self) -> Scheduler:
        """Return the adapter under test."""
        raise NotImplementedError

    @pytest.fixture
    def unreachable(self) -> Scheduler:
        """Return an adapter whose resource manager does not answer, and that gives up within seconds."""
        raise NotImplementedError

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """Return a directory that jobs can write to."""
        return tmp_path

    @pytest.fixture
    def job(self, scheduler: Scheduler, shared: Path) -> Iterator[Callable[..., JobRequest]]:
        """Return a maker of requests for a script; jobs that still run at the end are cancelled."""
        made: list[JobRequest] = []

        def make(script: str, **fields: object) -> JobRequest:
            token = secrets.token_hex(8)
            path = shared / f"{token}.sh"
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o700)
            values = {"token": token, "script": str(path), "output": str(shared / f"{token}.out"), **fields}
            made.append(JobRequest(**values))  # type: ignore[arg-type]  # a test's own keyword arguments
            return made[-1]

        yield make
        for request in made:
            record = scheduler.find(request.token)
            if record is not None and not record.state.ended:
                scheduler.cancel(record.id)
                self.wait(scheduler, record.id, *(state for state in JobState if state.ended))

    @staticmethod
    def wait(scheduler: Scheduler, job_id: str, *states: JobState) -> JobRecord:
        """Wait until a job is in one of the states and return its record."""
        wait_until(lambda: scheduler.jobs([job_id])[job_id].state in states, f"job {job_id} in {states}")
        return scheduler.jobs([job_id])[job_id]

    def test_a_job_gets_what_was_asked_for(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        before = time.time()
        request = job(
            'echo "$1|$2|$COLOUR|$PWD"; echo wrong >&2',
            arguments=("a b", "c;d"),
            name="contract",
            workdir=str(shared),
            nodes=2,
            environment={"COLOUR": "blue and green"},
            error=str(shared / "error"),
        )
        job_id = scheduler.submit(request)
        record = self.wait(scheduler, job_id, JobState.COMPLETED)
        assert record.id == job_id
        assert record.token == request.token
        assert record.name == "contract"
        assert record.exit_code == 0
        assert len(record.nodes) == 2
        assert record.restarts == 0
        assert not record.batch_host_lost
        assert before - 2 <= record.submitted <= record.started + 1 <= record.ended + 2 <= time.time() + 4
        assert Path(request.output).read_text() == f"a b|c;d|blue and green|{shared}\n"
        assert Path(request.error).read_text() == "wrong\n"

    def test_a_failure_keeps_its_status(self, scheduler: Scheduler, job: Callable[..., JobRequest]) -> None:
        record = self.wait(scheduler, scheduler.submit(job("exit 3")), JobState.FAILED)
        assert record.exit_code == 3

    def test_a_token_is_submitted_once(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        request = job(f"echo ran >> {shared}/runs")
        first = scheduler.submit(request)
        assert scheduler.submit(request) == first
        self.wait(scheduler, first, JobState.COMPLETED)
        assert scheduler.submit(request) == first
        found = scheduler.find(request.token)
        assert found is not None
        assert found.id == first
        assert (shared / "runs").read_text() == "ran\n"

    def test_what_is_not_known_is_left_out(
        self, scheduler: Scheduler, job: Callable[..., JobRequest]
    ) -> None:
        assert scheduler.find(secrets.token_hex(8)) is None
        known = scheduler.submit(job("sleep 300"))
        assert list(scheduler.jobs([known, "999999"])) == [known]
        assert scheduler.jobs(["999999"]) == {}
        assert scheduler.jobs([]) == {}

    def test_cancelling(self, scheduler: Scheduler, job: Callable[..., JobRequest]) -> None:
        job_id = scheduler.submit(job("sleep 300"))
        running = self.wait(scheduler, job_id, JobState.RUNNING)
        assert running.exit_code is None
        assert running.ended == 0
        assert running.batch_host == running.nodes[0]
        scheduler.cancel(job_id)
        self.wait(scheduler, job_id, JobState.CANCELLED)
        scheduler.cancel(job_id)
        scheduler.cancel("999999")

    def test_a_signal_reaches_the_script(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        script = f"trap 'touch {shared}/got' USR1; touch {shared}/ready; while :; do sleep 0.2; done"
        job_id = scheduler.submit(job(script))
        wait_until((shared / "ready").exists, "the script runs")
        scheduler.cancel(job_id, signal.SIGUSR1)
        wait_until((shared / "got").exists, "the script got the signal")
        assert scheduler.jobs([job_id])[job_id].state is JobState.RUNNING

    def test_a_requeued_job_keeps_its_id(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        request = job(f"echo run >> {shared}/runs; echo output; sleep 300", nodes=2)
        job_id = scheduler.submit(request)
        wait_until((shared / "runs").exists, "the job runs")
        if not self.can_requeue:
            with pytest.raises(RefusedError, match=job_id):
                scheduler.requeue(job_id)
            assert scheduler.jobs([job_id])[job_id].state is JobState.RUNNING
            return
        scheduler.requeue(job_id)
        wait_until(lambda: (shared / "runs").read_text() == "run\nrun\n", "the job runs again")
        record = self.wait(scheduler, job_id, JobState.RUNNING)
        assert record.restarts == 1
        assert record.token == request.token
        wait_until(lambda: Path(request.output).read_text().count("output\n") == 2, "both runs' output")

    def test_a_comment_leaves_the_token(self, scheduler: Scheduler, job: Callable[..., JobRequest]) -> None:
        request = job("sleep 300")
        job_id = scheduler.submit(request)
        for text in ("lost n02; went on with n04", "two\nlines | and 'quotes'", ""):
            scheduler.annotate(job_id, text)
            found = scheduler.find(request.token)
            assert found is not None
            assert (found.id, found.token) == (job_id, request.token)

    def test_a_dependent_runs_after_its_parent(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        parent = scheduler.submit(job(f"sleep 1; echo parent >> {shared}/order"))
        child = scheduler.submit(job(f"echo child >> {shared}/order", after_ok=(parent,)))
        self.wait(scheduler, child, JobState.COMPLETED)
        assert (shared / "order").read_text() == "parent\nchild\n"

    def test_a_dependent_of_a_failure_never_runs(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        parent = scheduler.submit(job("sleep 1; exit 1"))
        child = scheduler.submit(job(f"touch {shared}/child", after_ok=(parent,)))
        self.wait(scheduler, parent, JobState.FAILED)
        self.wait(scheduler, child, JobState.CANCELLED)
        assert not (shared / "child").exists()

    def test_excluded_nodes_are_not_used(self, scheduler: Scheduler, job: Callable[..., JobRequest]) -> None:
        first, *others = [node.name for node in scheduler.nodes()]
        job_id = scheduler.submit(job("sleep 300", nodes=len(others), exclude=(first,)))
        assert set(self.wait(scheduler, job_id, JobState.RUNNING).nodes) == set(others)

    def test_a_refusal_is_final(self, scheduler: Scheduler, job: Callable[..., JobRequest]) -> None:
        request = job("true", partition="no-such-partition")
        with pytest.raises(RefusedError, match="partition"):
            scheduler.submit(request)
        assert scheduler.find(request.token) is None

    def test_a_marked_node_takes_nothing_new(
        self, scheduler: Scheduler, job: Callable[..., JobRequest]
    ) -> None:
        names = [node.name for node in scheduler.nodes()]
        assert len(names) == len(set(names))
        if not self.can_mark:
            assert scheduler.mark_node(names[0], "corrected errors") is False
            assert {node.state for node in scheduler.nodes()} == {NodeState.UP}
            return
        assert scheduler.mark_node(names[0], "corrected errors")
        try:
            marked_node = next(node for node in scheduler.nodes() if node.name == names[0])
            assert marked_node.state is NodeState.DRAINED
            assert "corrected errors" in marked_node.reason
            job_id = scheduler.submit(job("sleep 300", nodes=len(names) - 1))
            assert names[0] not in self.wait(scheduler, job_id, JobState.RUNNING).nodes
        finally:
            assert scheduler.unmark_node(names[0])
        wait_until(lambda: all(n.state is NodeState.UP for n in scheduler.nodes()), "the node is back")

    def test_no_answer_is_not_gone(
        self, unreachable: Scheduler, scheduler: Scheduler, job: Callable[..., JobRequest]
    ) -> None:
        request = job("true")
        for call in (
            lambda: unreachable.submit(request),
            lambda: unreachable.find(request.token),
            lambda: unreachable.jobs(["1"]),
            unreachable.nodes,
            lambda: unreachable.cancel("1"),
            lambda: unreachable.requeue("1"),
            lambda: unreachable.annotate("1", "text"),
            lambda: unreachable.mark_node("n01", "reason"),
        ):
            with pytest.raises(CouldNotObserveError):
                call()
        assert scheduler.find(request.token) is None


class AllocationContract:
    """The inside face, in a running job (or on a machine of its own)."""

    # How a shell on a node tells the node's name.
    node_name = "$SLURMD_NODENAME"

    @pytest.fixture
    def allocation(self) -> Allocation:
        """Return the adapter under test, for a running job, of three nodes where there can be several."""
        raise NotImplementedError

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """Return a directory that the nodes share."""
        return tmp_path

    @pytest.fixture
    def mark(self) -> Iterator[str]:
        """Return a mark for the processes of this test; what has it at the end is killed."""
        mark = secrets.token_hex(8)
        yield mark
        for process in marked(mark):
            with contextlib.suppress(psutil.NoSuchProcess):  # ended meanwhile
                process.kill()

    @staticmethod
    def end(step: Step, seconds: float = DEADLINE) -> int:
        """Wait for a step's end and return its status."""
        wait_until(lambda: step.poll() is not None, "the step has ended", seconds)
        status = step.poll()
        assert status is not None
        return status

    def test_it_knows_its_nodes(self, allocation: Allocation) -> None:
        info = allocation.describe()
        assert info.rjms == allocation.name
        assert len(info.nodes) == len(set(info.nodes)) >= 1
        assert info.batch_host == info.nodes[0]
        assert info.restart_count == 0

    def test_a_step_runs_once_on_each_node(self, allocation: Allocation, shared: Path) -> None:
        nodes = allocation.describe().nodes[-2:]
        command = ("sh", "-c", f'echo "{self.node_name} $COLOUR $PWD"')
        request = StepRequest(
            command=command,
            nodes=nodes,
            environment={"COLOUR": "blue and green"},
            workdir=str(shared),
            output=str(shared / "out"),
        )
        assert self.end(allocation.launch(request)) == 0
        expected = sorted(f"{node} blue and green {shared}" for node in nodes)
        assert sorted((shared / "out").read_text().splitlines()) == expected
        assert self.end(allocation.launch(request)) == 0
        assert len((shared / "out").read_text().splitlines()) == 2 * len(nodes)

    def test_several_tasks_and_both_outputs(self, allocation: Allocation, shared: Path) -> None:
        request = StepRequest(
            command=("sh", "-c", "echo out; echo error >&2"),
            nodes=allocation.describe().nodes[:2],
            tasks=4,
            output=str(shared / "out"),
            error=str(shared / "error"),
        )
        assert self.end(allocation.launch(request)) == 0
        assert (shared / "out").read_text() == "out\n" * 4
        assert (shared / "error").read_text() == "error\n" * 4

    def test_arguments_arrive_as_they_are(self, allocation: Allocation, shared: Path) -> None:
        words = ("a b", "$HOME", "*", "'", '"', ";", "--nodes=9", "")
        command = ("sh", "-c", 'for word; do echo "<$word>"; done', "sh", *words)
        node = allocation.describe().nodes[:1]
        step = allocation.launch(StepRequest(command=command, nodes=node, output=str(shared / "out")))
        assert self.end(step) == 0
        assert (shared / "out").read_text() == "".join(f"<{word}>\n" for word in words)

    def test_a_failure_is_the_step_s(self, allocation: Allocation) -> None:
        nodes = allocation.describe().nodes[:2]
        assert self.end(allocation.launch(StepRequest(command=("sh", "-c", "exit 7"), nodes=nodes))) == 7

    def test_the_step_s_process_leads_a_session(self, allocation: Allocation, mark: str) -> None:
        request = StepRequest(
            command=("sleep", "300"), nodes=allocation.describe().nodes[:1], environment={MARK: mark}
        )
        step = allocation.launch(request)
        assert step.poll() is None
        assert os.getsid(step.pid) == step.pid
        allocation.signal(step, signal.SIGKILL)
        assert self.end(step) != 0

    def test_a_signal_reaches_every_task(self, allocation: Allocation, shared: Path, mark: str) -> None:
        nodes = allocation.describe().nodes[:2]
        script = (
            f"trap 'touch {shared}/got.{self.node_name}; exit 5' TERM; touch {shared}/at.{self.node_name}; "
        )
        request = StepRequest(
            command=("sh", "-c", script + "while :; do sleep 0.1; done"),
            nodes=nodes,
            environment={MARK: mark},
        )
        step = allocation.launch(request)
        wait_until(lambda: all((shared / f"at.{node}").exists() for node in nodes), "all tasks run")
        allocation.signal(step, signal.SIGTERM)
        wait_until(lambda: all((shared / f"got.{node}").exists() for node in nodes), "all tasks got it")
        assert self.end(step) != 0
        allocation.signal(step, signal.SIGTERM)  # of a step that has ended: no error

    def test_a_kill_ends_it_everywhere(self, allocation: Allocation, shared: Path, mark: str) -> None:
        nodes = allocation.describe().nodes
        script = f"trap '' TERM INT HUP; touch {shared}/at.{self.node_name}; while :; do sleep 0.1; done"
        request = StepRequest(command=("sh", "-c", script), nodes=nodes, environment={MARK: mark})
        step = allocation.launch(request)
        wait_until(lambda: all((shared / f"at.{node}").exists() for node in nodes), "all tasks run")
        allocation.signal(step, signal.SIGKILL)
        assert self.end(step) != 0
        wait_until(lambda: not marked(mark), "no process of the step is left")

    def test_a_kill_right_after_the_start(self, allocation: Allocation, mark: str) -> None:
        request = StepRequest(
            command=("sleep", "300"), nodes=allocation.describe().nodes, environment={MARK: mark}
        )
        step = allocation.launch(request)
        allocation.signal(step, signal.SIGKILL)
        assert self.end(step) != 0
        wait_until(lambda: not marked(mark), "no process of the step is left")

    def test_a_step_starts_beside_others(self, allocation: Allocation, shared: Path, mark: str) -> None:
        nodes = allocation.describe().nodes
        long = StepRequest(
            command=("sleep", "300"), nodes=nodes, tasks=2 * len(nodes), environment={MARK: mark}
        )
        running = [allocation.launch(long) for _ in range(2)]
        step = allocation.launch(StepRequest(command=("true",), nodes=nodes))
        assert self.end(step) == 0
        assert [other.poll() for other in running] == [None, None]
        for other in running:
            allocation.signal(other, signal.SIGKILL)
            assert self.end(other) != 0

    def test_a_step_stays_inside_the_allocation(self, allocation: Allocation) -> None:
        request = StepRequest(command=("true",), nodes=("node-of-somebody-else",))
        try:
            status = self.end(allocation.launch(request))
        except WheslError:
            return
        assert status != 0

    def test_all_nodes_are_up(self, allocation: Allocation) -> None:
        nodes = allocation.describe().nodes
        assert allocation.node_states() == dict.fromkeys(nodes, NodeState.UP)

    def test_spares_are_hidden(self, allocation: Allocation) -> None:
        nodes = allocation.describe().nodes
        if len(nodes) < 2:
            pytest.skip("one node has no spares")
        active = (nodes[-1], nodes[0])
        self.check_hidden(allocation.launch_environment(active, os.environ), allocation, active)

    def check_hidden(
        self, environment: dict[str, str], allocation: Allocation, active: tuple[str, ...]
    ) -> None:
        """Check the variables that make launchers see ``active`` alone."""
        assert hostlist.expand(environment["SLURM_JOB_NODELIST"]) == active
        assert environment["SLURM_JOB_NODELIST"] == environment["SLURM_NODELIST"]
        assert environment["SLURM_NNODES"] == environment["SLURM_JOB_NUM_NODES"] == "2"

    def test_a_stranger_is_not_released(self, allocation: Allocation) -> None:
        assert allocation.release(allocation.describe().batch_host) is False


class NodeLossContract:
    """The inside face while a node dies. Each test gets an allocation of its own of three nodes."""

    # False: ``kill_node`` only cuts the node off, and what runs on it lives on, which the agents have to end.
    dies = True
    # How a shell on a node tells the node's name.
    node_name = "$SLURMD_NODENAME"
    # The adapter can tell that the resource manager's own daemon on a node has ended.
    tells_gone = False

    def prepare(self, allocation: Allocation) -> None:
        """Wait for what the adapter finds out in the background before it can tell that."""

    @pytest.fixture
    def allocation(self) -> Allocation:
        """Return the adapter under test."""
        raise NotImplementedError

    @pytest.fixture
    def kill_node(self) -> Callable[[str], None]:
        """Return what takes a node's power."""
        raise NotImplementedError

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """Return a directory that the nodes share."""
        return tmp_path

    def test_a_spare_takes_over_at_once(
        self, allocation: Allocation, kill_node: Callable[[str], None], shared: Path
    ) -> None:
        """The old step's end is not waited for, and its tasks on the living node can be killed."""
        first, second, spare = allocation.describe().nodes
        mark = secrets.token_hex(8)
        old = allocation.launch(
            StepRequest(
                command=("sh", "-c", f"touch {shared}/{self.node_name}; while :; do sleep 0.1; done"),
                nodes=(first, second),
                tasks=4,
                environment={MARK: mark},
            )
        )
        wait_until(lambda: all((shared / node).exists() for node in (first, second)), "the step runs")
        kill_node(second)
        new = allocation.launch(
            StepRequest(
                command=("sh", "-c", f"echo {self.node_name}"),
                nodes=(first, spare),
                output=str(shared / "out"),
            )
        )
        wait_until(lambda: new.poll() is not None, "the new step has ended", 15)
        assert new.poll() == 0
        assert sorted((shared / "out").read_text().split()) == sorted((first, spare))
        allocation.signal(old, signal.SIGKILL)
        wait_until(lambda: old.poll() is not None, "the old step has ended for us", 5)
        if self.dies:
            wait_until(lambda: not marked(mark), "nothing of the old step is left", 20)

    def test_a_daemon_that_has_ended_is_gone_and_no_other(
        self, allocation: Allocation, kill_node: Callable[[str], None]
    ) -> None:
        first, second, spare = allocation.describe().nodes
        self.prepare(allocation)
        assert not any(allocation.gone(node) for node in (first, second, spare, "no-such-node"))
        kill_node(second)
        if self.tells_gone and self.dies:
            wait_until(lambda: allocation.gone(second), "the node's daemon is gone", 10)
        else:
            assert not any(allocation.gone(second) for _ in range(5)), "what cannot be seen is not gone"
        assert not allocation.gone(first)
        assert not allocation.gone(spare)

    @pytest.mark.slow
    def test_the_loss_is_told(self, allocation: Allocation, kill_node: Callable[[str], None]) -> None:
        first, second, spare = allocation.describe().nodes
        kill_node(second)
        wait_until(lambda: allocation.node_states()[second] is NodeState.DOWN, "the node is down")
        assert allocation.node_states()[first] is NodeState.UP
        assert allocation.node_states()[spare] is NodeState.UP
        assert allocation.describe().nodes == (first, second, spare)
