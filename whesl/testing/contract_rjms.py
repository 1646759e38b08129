"""Contract tests of schedulers, which the tests of each resource manager's adapter inherit.

An adapter's test module derives from the class here, and from those of ``contract_allocation``, and defines
their fixtures::

    class TestMyScheduler(SchedulerContract):
        @pytest.fixture
        def scheduler(self) -> Scheduler: ...

The tests wait for conditions up to a deadline, never for a fixed time.
"""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from whesl.managers.resource.port import CountsFree, JobRecord, JobRequest, Scheduler, TriesRequests
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.model.states import JobState, NodeState
from whesl.testing.processes import running
from whesl.testing.waiting import until

DEADLINE = 60.0
# Environment variable that marks a test's processes anywhere on this machine.
MARK = "WHESL_CONTRACT_MARK"


def wait_until(condition: Callable[[], object], what: str, seconds: float = DEADLINE) -> None:
    """Wait until a condition holds, or fail the test.

    Args:
        condition: returns something true when the wait is over.
        what: a description of the condition, for the failure.
        seconds: the longest wait.
    """
    until(condition, what, seconds)


def marked(mark: str) -> list[psutil.Process]:
    """Return the living processes with this mark in their environment."""
    found = []
    for process in running():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue  # the process has ended meanwhile, or is another user's
    return found


class SchedulerContract:
    """Tests of a scheduler from outside of jobs, on a cluster of at least three nodes without other jobs."""

    # False: the resource manager never runs a job again under its id, and refuses to.
    can_requeue = True
    # False: this adapter never takes a node out of service, and refuses to.
    can_mark = True

    @pytest.fixture
    def scheduler(self) -> Scheduler:
        """Return the adapter under test."""
        raise NotImplementedError

    @pytest.fixture
    def unreachable(self) -> Scheduler:
        """Return an adapter that gives up within seconds, since its resource manager does not answer."""
        raise NotImplementedError

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """Return a directory that jobs can write to."""
        return tmp_path

    @pytest.fixture
    def job(self, scheduler: Scheduler, shared: Path) -> Iterator[Callable[..., JobRequest]]:
        """Return a function that makes a request for a script; jobs still running at the end are cancelled.

        Args:
            scheduler: the adapter under test.
            shared: a directory that jobs can write to.
        """
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
        """Wait until a job is in one of some states and return its record.

        Args:
            scheduler: the adapter under test.
            job_id: the job's id.
            states: the states to wait for.
        """
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
        request = job(f"echo run >> {shared}/runs; echo output; sleep 300", nodes=2, requeue=True)
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

    def test_a_request_is_tried_without_a_job(
        self, scheduler: Scheduler, job: Callable[..., JobRequest], shared: Path
    ) -> None:
        """A resource manager that checks requests without a job refuses a wrong one, and queues nothing."""
        if not isinstance(scheduler, TriesRequests):
            pytest.skip("it cannot be asked beforehand")
        good, bad = job(f"touch {shared}/tried"), job("true", partition="no-such-partition")
        with pytest.raises(RefusedError):
            scheduler.try_request(bad)
        scheduler.try_request(good)
        after = scheduler.submit(job("true"))
        self.wait(scheduler, after, JobState.COMPLETED)
        assert scheduler.find(bad.token) is None and not (shared / "tried").exists()

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

    def test_a_node_is_free_that_has_no_job_and_takes_one(
        self, scheduler: Scheduler, job: Callable[..., JobRequest]
    ) -> None:
        """A node without a job is free and takes a job, also where no node has the state idle (Flux)."""
        if not isinstance(scheduler, CountsFree):
            pytest.skip("it does not count free nodes")
        with pytest.raises(RefusedError, match="no-such-partition"):
            scheduler.free_nodes("no-such-partition")
        names = {node.name for node in scheduler.nodes()}
        wait_until(lambda: scheduler.free_nodes("") == len(names), "all nodes are free")
        running = self.wait(scheduler, scheduler.submit(job("sleep 300")), JobState.RUNNING)
        assert scheduler.free_nodes("") == len(names) - 1
        if self.can_mark:
            other = min(names - set(running.nodes))
            assert scheduler.mark_node(other, "corrected errors")
            try:
                wait_until(lambda: scheduler.free_nodes("") == len(names) - 2, "the marked node is not free")
            finally:
                assert scheduler.unmark_node(other)

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
            lambda: unreachable.mark_node("n01", "reason"),
        ):
            with pytest.raises(CouldNotObserveError):
                call()
        assert scheduler.find(request.token) is None
