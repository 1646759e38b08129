"""The agent by itself, over a real link."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec
import psutil
import pytest

from tests.limits import late
from tests.processes import lives
from tests.waiting import until
from whesl.managers.resource import command_call
from whesl.managers.resource.port import Allocation, StepRequest
from whesl.runtime.isolator.nodes import heartbeat_responder
from whesl.runtime.isolator.nodes.agent_supervisor import Agents
from whesl.runtime.isolator.nodes.liveness import GRACE
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.node_agent import agent
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.node_agent.lease import KernelWitness
from whesl.runtime.node_agent.messages import (
    FROM_AGENT,
    Beat,
    BeatAnswer,
    FromAgent,
    Leave,
    LinkFile,
    ReadStacks,
    Stacks,
    ToAgent,
)
from whesl.runtime.wire.agent_link import LinkServer, Received
from whesl.runtime.wire.keys import LinkKeys
from whesl.testing.processes import running


def test_an_agent_that_reads_stacks_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A debugger may take seconds; that must not look like the loss of the node."""
    beats_meanwhile = threading.Event()

    def slow(_pids: list[int], timeout: float) -> str:
        assert beats_meanwhile.wait(timeout=120), "no heartbeat while stacks were read"
        return f"read, {timeout:g} s allowed"

    monkeypatch.setattr(agent, "collect", slow)
    keys = LinkKeys.generate()
    server: LinkServer[FromAgent | ToAgent] = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
    leases: LinkServer[FromAgent | ToAgent] = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
    file = LinkFile(
        hosts=("127.0.0.1",),
        port=server.port,
        lease_port=leases.port,
        keys=keys,
        claim="1.0",
        prefix="none",
        heartbeat=0.05,
        limit=5.0,
    )
    thread = threading.Thread(target=agent.Agent(file, "n02").run, daemon=True)
    thread.start()
    asked = 0
    texts: list[str] = []
    deadline = time.monotonic() + 120
    while not texts and time.monotonic() < deadline:
        leases.sockets[0].poll(50)
        for event in (*leases.receive(), *server.receive()):
            if not isinstance(event, Received):
                continue
            if isinstance(event.message, Beat) and event.message.number:
                leases.send(event.peer, BeatAnswer(number=event.message.number))
                if asked < 3:  # impatience asks again, and is answered once
                    asked += server.send(event.peer, ReadStacks(token="t"))
                elif event.message.number > 6:
                    beats_meanwhile.set()
            elif isinstance(event.message, Stacks):
                texts.append(event.message.text)
                server.send(event.peer, Leave())
    assert texts == [f"read, {agent.STACKS_TIMEOUT:g} s allowed"]
    thread.join(timeout=120)
    assert not thread.is_alive()
    server.close()
    leases.close()


class _Node:
    """An agent of two halves with a rank beside it, and what it is answered."""

    def __init__(self, place: Path, limit: float) -> None:
        keys = LinkKeys.generate()
        self.server: LinkServer[FromAgent | ToAgent] = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
        self.leases: LinkServer[FromAgent | ToAgent] = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
        link = place / "link"
        file = LinkFile(
            hosts=("127.0.0.1",), port=self.server.port, lease_port=self.leases.port, keys=keys, claim="1.0",
            prefix=f"{place.name}.", heartbeat=0.1, limit=limit,
        )  # fmt: skip
        link.write_bytes(msgspec.json.encode(file))
        environment = {**os.environ, attempt_processes.TOKEN_VARIABLE: f"{file.prefix}1"}
        self.rank = psutil.Popen(["sleep", "600"], env=environment)
        # As many seconds as a lost agent waits for somebody; real ones wait for a minute or two.
        lost = f"agent.ABANDONED = agent.ORPHANED = 1.0; agent.main() # {link}"
        program = f"import sys; from whesl.runtime.node_agent import agent; {lost}"
        self.agent = psutil.Popen([sys.executable, "-c", program, str(link)])
        self._link = link
        self.begun()

    def halves(self) -> list[psutil.Process]:
        """Return what lives of the agent, the half that was started first before the other."""
        found = []
        for process in running():
            try:
                if str(self._link) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return sorted(found, key=lambda process: (process.create_time(), process.pid))

    def replaced(self, half: psutil.Process) -> bool:
        """Whether there are two halves without one that was killed: it lives on for a moment."""
        found = self.halves()
        return half not in found and len(found) == 2

    def answered(self) -> bool:
        return any(
            isinstance(event, Received)
            and isinstance(event.message, Beat)
            and self.leases.send(event.peer, BeatAnswer(number=event.message.number))
            for event in self.leases.receive()
        )

    def begun(self) -> None:
        for _ in range(3):
            until(self.answered, "heartbeats", 30)
        assert len(self.halves()) == 2

    def lives(self) -> bool:
        return self.rank.poll() is None

    def close(self) -> None:
        self.server.close()
        self.leases.close()

    def end(self) -> None:
        for process in (self.rank, *self.halves()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.agent.wait()
        self.rank.wait()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[_Node]:
    made = _Node(tmp_path, 4.0)
    yield made
    made.end()
    made.close()


@pytest.mark.costly
def test_a_lease_outlives_the_half_that_holds_it(node: _Node) -> None:
    """Each restart once began a new lease: on a node cut off the ranks went on beside the next attempt."""
    killed_at = time.monotonic()

    def kill() -> None:
        """End the working half again and again, each time before a new lease would be over."""
        nonlocal killed_at
        if time.monotonic() > killed_at + 1.5:
            killed_at = time.monotonic()
            for half in node.halves()[-1:]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    half.kill()

    until(lambda: not node.lives(), "the end of the rank", 60, kill)


def test_a_lease_outlives_both_halves_that_began_it(node: _Node) -> None:
    """The resident half was missed by nobody once, and the working one was the last."""
    resident, working = node.halves()
    resident.kill()
    until(lambda: node.replaced(resident), "another resident half", 60, node.answered)
    working.kill()
    until(lambda: not node.lives(), "the end of the rank", 60)


def test_a_working_half_that_is_stopped_ends_no_lease_late(node: _Node) -> None:
    """Stopped, it once held the lease until it went on, minutes into the next attempt."""
    working = node.halves()[-1]
    working.suspend()
    until(lambda: not node.lives(), "the end of the rank", 60)
    assert not lives(working)


def test_a_stopped_working_half_is_replaced_before_its_node_is_missed(node: _Node) -> None:
    """A node that is not cut off is not blamed for it."""
    working = node.halves()[-1]
    working.suspend()
    until(lambda: not working.is_running(), "the end of what does not run", 60, node.answered)
    for _ in range(3):
        until(node.answered, "heartbeats", 30)
    assert node.lives()


def test_what_runs_is_stopped_until_it_is_known_whether_its_lease_is_over(node: _Node) -> None:
    """Woken after its limit, an agent waits a second for an answer: the next attempt may have begun."""
    by_others = psutil.Popen(["sleep", "600"], env=node.rank.environ())
    try:
        by_others.suspend()
        for half in node.halves():
            half.suspend()
        time.sleep(4.5)
        node.leases.receive()  # of before
        for half in node.halves():
            half.resume()
        until(lambda: node.rank.status() == psutil.STATUS_STOPPED, "its stop", 60)
        until(lambda: node.rank.status() != psutil.STATUS_STOPPED, "that it goes on", 60, node.answered)
        assert node.lives() and by_others.status() == psutil.STATUS_STOPPED
    finally:
        by_others.kill()
        by_others.wait()


def test_an_agent_stays_however_long_its_job_was_suspended(tmp_path: Path) -> None:
    """Woken after two minutes it left at once, as if nobody had answered it for that long."""
    limit = min(late(0.5), 3.0)
    node = _Node(tmp_path, limit)
    try:
        halves = node.halves()
        for half in halves:
            half.suspend()
        time.sleep(12 * limit)  # it leaves after ten limits
        node.leases.receive()  # of before
        for half in halves:
            half.resume()
        for _ in range(10):
            until(node.answered, "heartbeats", 30)
        assert node.halves() == halves
    finally:
        node.end()
        node.close()


class _Ranks:
    """Processes that fork once while the first of them is stopped, and look stopped only later."""

    def __init__(self) -> None:
        self.states = {11: "R", 12: "T"}
        self.sent: list[tuple[int, int]] = []

    def of_attempt(self, *_: object, **__: object) -> list[attempt_processes.Process]:
        return [
            attempt_processes.Process(
                pid=pid, parent=1, group=pid, session=pid, state=state, started=1, name="rank"
            )
            for pid, state in self.states.items()
        ]

    def send(self, pid: int, signum: int) -> None:
        self.sent.append((pid, signum))
        if signum == signal.SIGSTOP:
            self.states.setdefault(13, "R")  # the first one's child


def test_every_process_that_was_stopped_in_doubt_goes_on_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that did not look stopped yet when the answer came was left stopped for good.

    A child begun meanwhile was not stopped, and ran beside what may have been the next attempt.
    """
    ranks = _Ranks()
    monkeypatch.setattr(attempt_processes, "of_attempt", ranks.of_attempt)
    monkeypatch.setattr(command_call, "send", ranks.send)
    keys = LinkKeys.generate()
    file = LinkFile(
        hosts=("127.0.0.1",), port=1, lease_port=1, keys=keys, claim="1.0", prefix="none.", heartbeat=1.0,
        limit=30.0,
    )  # fmt: skip
    alone = agent.Agent(file, "n02", agent.Endpoint("127.0.0.1", KernelWitness("127.0.0.1", 1, 5.0)))
    alone._lease.paused = True  # what waking late does
    alone._pause(file.prefix)
    alone._continue()
    stop, go = signal.SIGSTOP, signal.SIGCONT
    assert ranks.sent == [(11, stop), (13, stop), (11, go), (13, go)]


def test_an_agent_that_its_resource_manager_has_lost_leaves_by_itself(tmp_path: Path) -> None:
    """Its first half was killed, its isolator's node came back without an isolator: that node answers on."""
    node = _Node(tmp_path, 1.0)
    try:
        resident = node.halves()[0]
        resident.kill()
        until(lambda: node.replaced(resident), "another resident half", 60, node.answered)
        node.close()
        until(lambda: not node.halves(), "the agent's end", 60)
    finally:
        node.end()


def test_what_nobody_can_end_is_gone_after_two_minutes() -> None:
    """It was four: the responder waited for an isolator as long as the agent then did for the responder."""
    assert heartbeat_responder.ORPHANED + agent.ABANDONED <= 120.0


class _Step:
    """A step of agents in threads of this process; another process stands for it."""

    def __init__(self, threads: list[threading.Thread], pid: int = 0) -> None:
        self.threads = threads
        self.pid = pid or os.getpid()

    def poll(self) -> int | None:
        return None if any(thread.is_alive() for thread in self.threads) else 0


class _Allocation:
    """Starts agents in threads, unless a step of them is given, and notes who is killed."""

    def __init__(self, step: _Step | None = None) -> None:
        self._step = step
        self.killed: list[_Step] = []

    def launch(self, request: StepRequest) -> _Step:
        if self._step is not None:
            return self._step
        file = msgspec.json.decode(Path(request.command[-1]).read_bytes(), type=LinkFile)
        local = msgspec.structs.replace(file, hosts=("127.0.0.1",))
        runs = [agent.Agent(local, node).run for node in request.nodes]
        threads = [threading.Thread(target=run, daemon=True) for run in runs]
        for thread in threads:
            thread.start()
        return _Step(threads)

    def signal(self, step: _Step, _signum: int) -> None:
        self.killed.append(step)


def test_agents_leave_by_themselves_at_the_end(tmp_path: Path) -> None:
    """A killed srun would keep the job COMPLETING for seconds, and all that waits for the job."""
    allocation = _Allocation()
    directory = TaskDir(tmp_path)
    begun = time.monotonic()
    agents = Agents(
        directory.link, cast(Allocation, allocation), ("n02", "n03"), "n01", "1.0", "none",
        heartbeat=0.05, limit=5.0, now=begun,
    )  # fmt: skip
    try:
        while not all(agents.silence.present(node) for node in ("n02", "n03")):
            agents.poll(time.monotonic())
            assert time.monotonic() < begun + 120, "the agents did not answer"
            time.sleep(0.01)
    finally:
        agents.close()
    assert allocation.killed == []


def test_agents_that_were_never_heard_are_killed_at_the_end(tmp_path: Path) -> None:
    """They cannot be told to leave."""
    allocation = _Allocation(_Step([threading.main_thread()]))
    agents = Agents(
        TaskDir(tmp_path).link, cast(Allocation, allocation), ("n02",), "n01", "1.0", "none",
        heartbeat=0.05, limit=5.0, now=time.monotonic(),
    )  # fmt: skip
    agents.close()
    assert len(allocation.killed) == 1


def test_a_restarted_isolator_knows_the_step_that_carries_its_agents(tmp_path: Path) -> None:
    """Slurm ends a step of several nodes when one of them came back without it: the others are not lost."""
    with subprocess.Popen(["sleep", "600"]) as carrier:
        step = _Step([threading.main_thread()], carrier.pid)
        allocation = _Allocation(step)
        directory = TaskDir(tmp_path)

        def isolator() -> Agents:
            return Agents(
                directory.link, cast(Allocation, allocation), ("n02", "n03"), "n01", "1.0", "none",
                heartbeat=0.05, limit=5.0, now=100.0,
            )  # fmt: skip

        isolator()._server.close()  # as the kernel does for one that is killed
        agents = isolator()
        try:
            now = time.monotonic()
            for node in ("n02", "n03"):
                agents.silence.heard(node, now)
                agents.silence.closed(node, now)
            carrier.kill()
            carrier.wait()
            assert agents.poll(now + 2 * GRACE) == []
            assert not agents.silence.undecided(), "their connections closed with the step"
        finally:
            agents.close()


def test_a_responder_that_is_back_is_asked_within_the_lease() -> None:
    """Pauses grew to two seconds while its port refused, and a short lease was over before the next try."""
    file = LinkFile(
        hosts=("127.0.0.1",),
        port=1,
        lease_port=1,
        keys=LinkKeys.generate(),
        claim="1.0",
        prefix="none",
        heartbeat=0.3,
        limit=0.9,
    )
    made = agent.Agent(file, "n02")
    assert made._leases._socket.socket.reconnect_ivl_max == 150


def test_an_agent_says_at_once_that_it_was_answered() -> None:
    """The isolator counts on it from then on, and not from its first heartbeat."""
    keys = LinkKeys.generate()
    server: LinkServer[FromAgent | ToAgent] = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
    leases: LinkServer[FromAgent | ToAgent] = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
    file = LinkFile(
        hosts=("127.0.0.1",), port=server.port, lease_port=leases.port, keys=keys, claim="1.0", prefix="none",
        heartbeat=100.0, limit=400.0,
    )  # fmt: skip
    thread = threading.Thread(target=agent.Agent(file, "n02").run, daemon=True)
    thread.start()
    said: list[Beat] = []
    told: list[Beat] = []
    deadline = time.monotonic() + 120
    while (len(said) < 2 or len(told) < 2) and time.monotonic() < deadline:
        leases.sockets[0].poll(20)
        for link, beats in ((leases, said), (server, told)):
            for event in link.receive():
                if isinstance(event, Received) and isinstance(event.message, Beat):
                    beats.append(event.message)
        if len(said) == 1 and len(told) == 1:
            leases.send("n02", BeatAnswer(number=said[0].number))
    assert [beat.held for beat in said] == [beat.held for beat in told] == [False, True]
    server.send("n02", Leave())
    thread.join(timeout=120)
    server.close()
    leases.close()
