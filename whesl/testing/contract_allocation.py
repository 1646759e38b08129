"""Contract tests of allocations, which the tests of each resource manager's adapter inherit."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from whesl.managers.resource.port import Allocation, Step, StepRequest
from whesl.model import hostlist
from whesl.model.errors import WheslError
from whesl.model.states import NodeState
from whesl.testing.contract_rjms import DEADLINE, MARK, marked, wait_until


class AllocationContract:
    """Tests of an allocation inside a running job (or on a single machine)."""

    # A shell expression for the name of the node that the shell runs on.
    node_name = "$SLURMD_NODENAME"

    @pytest.fixture
    def allocation(self) -> Allocation:
        """Return the adapter under test for a running job, with three nodes where several are possible."""
        raise NotImplementedError

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """Return a directory that the nodes share."""
        return tmp_path

    @pytest.fixture
    def mark(self) -> Iterator[str]:
        """Return a mark for this test's processes; processes with the mark are killed at the end."""
        mark = secrets.token_hex(8)
        yield mark
        for process in marked(mark):
            with contextlib.suppress(psutil.NoSuchProcess):  # the process has ended meanwhile
                process.kill()

    @staticmethod
    def end(step: Step, seconds: float = DEADLINE) -> int:
        """Wait for a step's end and return its exit status.

        Args:
            step: the step.
            seconds: the longest time to wait.
        """
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
        allocation.signal(step, signal.SIGTERM)  # a signal to a step that has ended is no error

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
        """Check the variables that make launchers use only the nodes ``active``.

        Args:
            environment: the variables of a step.
            allocation: the adapter under test.
            active: names of the nodes that the launchers may use.
        """
        assert hostlist.expand(environment["SLURM_JOB_NODELIST"]) == active
        assert environment["SLURM_JOB_NODELIST"] == environment["SLURM_NODELIST"]
        assert environment["SLURM_NNODES"] == environment["SLURM_JOB_NUM_NODES"] == "2"

    def test_a_stranger_is_not_released(self, allocation: Allocation) -> None:
        assert allocation.release(allocation.describe().batch_host) is False


class NodeLossContract:
    """Tests of an allocation whose node dies. Each test gets a new allocation of three nodes."""

    # False: ``kill_node`` only disconnects the node; its processes live on, and the agents have to end them.
    dies = True
    # How a shell on a node tells the node's name.
    node_name = "$SLURMD_NODENAME"
    # Whether the adapter detects that the resource manager's own daemon on a node has ended.
    tells_gone = False

    def prepare(self, allocation: Allocation) -> None:
        """Wait until the adapter has collected, in the background, what it needs to detect a dead node."""

    @pytest.fixture
    def allocation(self) -> Allocation:
        """Return the adapter under test."""
        raise NotImplementedError

    @pytest.fixture
    def kill_node(self) -> Callable[[str], None]:
        """Return a function that kills the node with a name, as a power failure does."""
        raise NotImplementedError

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """Return a directory that the nodes share."""
        return tmp_path

    def test_a_spare_takes_over_at_once(
        self, allocation: Allocation, kill_node: Callable[[str], None], shared: Path
    ) -> None:
        """The next step does not wait for the old one, whose tasks on the living node can be killed."""
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
