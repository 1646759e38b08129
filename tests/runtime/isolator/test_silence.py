"""When a node counts as lost, and when nothing has to be waited for any more: on a virtual clock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from whesl.files import decode_errors
from whesl.managers.resource.port import StepRequest
from whesl.model.errors import CouldNotObserveError
from whesl.runtime.isolator.nodes.agent_supervisor import Agents
from whesl.runtime.isolator.nodes.fence_confirmation import ANSWER_LIMIT, Fence
from whesl.runtime.isolator.nodes.liveness import (
    CONFIRM,
    GRACE,
    LEASE_MARGIN,
    LOOK_SELDOM,
    LOOKS,
    NodeLost,
    NodeUp,
    Silence,
)
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.node_agent.messages import TO_AGENT, Beat, BeatAnswer, Kill, LinkFile, ProgramFound
from whesl.runtime.wire.agent_link import LinkClient

LIMIT = 3.0


class Watched:
    """One node, its silence, and a fence around an attempt on it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.silence = Silence(["n2"], LIMIT)
        self.silence.heard("n2", self.now)
        self.fence = Fence(1, "t", ["n2"], self.now)
        self.fence.local(1, [], ())
        self.lost: list[NodeLost] = []

    def pass_time(self, seconds: float, gone: Callable[[], bool | None] | None = None) -> None:
        """Let time pass in milliseconds; ``gone`` answers looks at once, None never answers."""
        for _ in range(round(seconds * 1000)):
            self.now += 0.001
            self.lost += self.silence.lost(self.now, step_over=False)
            for node in self.silence.doubtful(self.now):
                if gone is not None:
                    self.silence.witnessed(node, gone(), self.silence.closed_since(node), self.now)
            self.fence.check(self.silence, self.now)


def test_with_both_witnesses_nothing_is_waited_for() -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    watched.pass_time(CONFIRM + 0.01, gone=lambda: True)
    assert "daemon has ended" in watched.lost[0].reason
    assert watched.fence.over and watched.fence.unreachable == ["n2"]


@pytest.mark.parametrize("gone", [lambda: None, None], ids=["unknown", "hangs"])
def test_with_one_witness_the_lease_is_waited_for(gone: Callable[[], bool | None] | None) -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    watched.pass_time(GRACE + 0.01, gone)
    assert [fact.node for fact in watched.lost] == ["n2"]
    watched.pass_time(LIMIT + LEASE_MARGIN - GRACE - 0.02, gone)
    assert not watched.fence.over
    watched.pass_time(0.02, gone)
    assert watched.fence.over
    assert len(watched.lost) == 1


def test_a_node_that_lived_on_without_its_agent_is_not_fenced_by_a_lease() -> None:
    """Both halves were killed, and the node was cut off only then: what runs there is ended by nobody."""
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    seen: Iterator[bool | None] = iter([False])
    watched.pass_time(ANSWER_LIMIT - 0.1, gone=lambda: next(seen, None))
    assert [fact.node for fact in watched.lost] == ["n2"] and not watched.fence.over
    watched.pass_time(0.2, gone=lambda: None)
    assert watched.fence.over and "n2 lived on without an agent" in watched.fence.failed[0]


def test_another_agent_holds_a_lease_again() -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    watched.pass_time(LIMIT, gone=lambda: False)
    watched.silence.heard("n2", watched.now)
    watched.pass_time(LIMIT + LEASE_MARGIN - 0.01)
    assert not watched.fence.over
    watched.pass_time(0.02)
    assert watched.fence.over and not watched.fence.failed


def test_a_node_without_an_agent_that_dies_is_seen_to() -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    watched.pass_time(2 * LOOKS[-1], gone=lambda: False)
    assert not watched.fence.over
    watched.pass_time(LOOK_SELDOM + CONFIRM, gone=lambda: True)
    assert watched.fence.over and watched.fence.unreachable == ["n2"]


def test_a_silent_node_is_not_even_asked_about() -> None:
    watched = Watched()
    asked = []

    def gone() -> bool:
        asked.append(1)
        return True

    watched.pass_time(LIMIT + 0.01, gone)
    assert "no heartbeat" in watched.lost[0].reason
    assert not asked and not watched.fence.over
    watched.pass_time(LEASE_MARGIN, gone=lambda: True)
    assert watched.fence.over


def test_a_daemon_that_is_only_restarted_is_no_witness() -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    answers = iter([True])
    watched.pass_time(GRACE + 0.1, gone=lambda: next(answers, False))
    assert [fact.reason for fact in watched.lost] == ["its agent's connection closed"]
    assert not watched.fence.over


def test_a_daemon_that_dies_after_the_agent_is_still_seen() -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    watched.pass_time(1.0, gone=lambda: False)
    assert watched.lost and not watched.fence.over
    watched.pass_time(LOOKS[-1], gone=lambda: True)
    assert watched.fence.over


def test_looks_are_few() -> None:
    watched = Watched()
    watched.silence.closed("n2", watched.now)
    asked = []

    def gone() -> None:
        asked.append(1)

    watched.pass_time(60.0, gone)
    assert len(asked) == len(LOOKS)


def test_an_agent_that_comes_back_takes_the_word_from_the_witness() -> None:
    watched = Watched()
    silence = watched.silence
    silence.closed("n2", watched.now)
    (node,) = silence.doubtful(watched.now)
    first = silence.closed_since("n2")
    assert not silence.heard("n2", watched.now + 0.01), "it was never lost"
    silence.closed("n2", watched.now + 0.02)
    for late in (0.03, 0.03 + CONFIRM):
        silence.witnessed(node, True, first, watched.now + late)
    assert not silence.is_dead("n2"), "an answer about an earlier closing counted"


def test_a_closed_connection_is_undecided_until_it_is_lost_or_back() -> None:
    silence = Silence(["n2"], LIMIT)
    silence.heard("n2", 100.0)
    assert not silence.undecided()
    silence.closed("n2", 100.1)
    assert silence.undecided()
    silence.heard("n2", 100.2)
    assert not silence.undecided()
    silence.closed("n2", 100.3)
    silence.lost(100.3 + GRACE, step_over=False)
    assert not silence.undecided()


def test_connections_that_close_with_the_agents_step_are_no_loss_later_either() -> None:
    silence = Silence(["n2", "n3"], LIMIT)
    silence.heard("n2", 100.0)
    silence.heard("n3", 100.0)
    silence.closed("n2", 100.1)
    assert silence.lost(100.1, step_over=True) == []
    silence.closed("n3", 100.2)
    assert silence.doubtful(101.0) == []
    assert silence.lost(101.0, step_over=False) == []
    silence.heard("n2", 101.5)
    assert [fact.node for fact in silence.lost(103.1, step_over=False)] == ["n3"]


@pytest.mark.parametrize(
    ("gone_from", "gone_until", "lost"), [(101.0, 200.0, True), (200.0, 200.0, False), (101.0, 103.0, False)]
)
def test_a_node_that_dies_before_its_agent_is_heard(gone_from: float, gone_until: float, lost: bool) -> None:
    """A step's srun ended with 0 before its only node was called down, and the script went on.

    A daemon that is started anew is gone for less than two looks.
    """
    silence, now, found = Silence(["n2"], LIMIT), 100.0, list[NodeLost]()
    while now < 110.0:
        now += 0.01
        found += silence.lost(now, step_over=False)
        for node in (*silence.doubtful(now), *silence.late(now)):
            silence.witnessed(node, gone_from < now < gone_until, silence.closed_since(node), now)
    reason = "no agent was heard, and the resource manager's daemon has ended"
    assert found == ([NodeLost("n2", reason)] if lost else [])
    deadline = silence.next_deadline()
    assert (deadline is None) is lost, "a look came too late, or for nothing"


def test_only_answers_to_the_last_request_end_a_fence() -> None:
    """A launcher that was let end may have started something after a node had answered."""
    silence = Silence(["n2"], LIMIT)
    silence.heard("n2", 100.0)
    fence = Fence(1, "t", ["n2"], 100.0)
    fence.answered("n2", 1, 0)
    assert fence.again(100.1) == ("n2",)
    fence.local(2, [], ())
    assert not fence.over
    fence.answered("n2", 1, 0, 0)
    assert not fence.over
    fence.answered("n2", 1, 0, 1)
    assert fence.over


# The same with real connections ---------------------------------------------------------------------


class Carrier:
    """An allocation that starts nothing: the test plays the agents."""

    name = "none"

    def __init__(self, gone: Callable[[str], bool]) -> None:
        self.gone = gone
        self.pid = os.getpid()
        self.launched: list[tuple[str, ...]] = []

    def launch(self, request: StepRequest) -> Any:
        self.launched.append(request.nodes)
        return self

    def poll(self) -> None:
        return None

    def signal(self, *_: Any) -> None:
        return None


class Played:
    """The isolator's side, and one agent that speaks when it is told to."""

    def __init__(self, directory: TaskDir, gone: Callable[[str], bool]) -> None:
        directory.make()
        self.carrier = Carrier(gone)
        allocation: Any = self.carrier
        self.agents = Agents(
            directory.link, allocation, ("n2",), "n1", "c", "p.", heartbeat=0.5, limit=LIMIT, now=100.0
        )
        file = decode_errors.load(directory.link, LinkFile)
        assert file is not None
        self._file = file
        self.facts: list[Any] = []
        self.connect()

    def connect(self) -> None:
        self.agent: LinkClient[Any] = LinkClient(
            f"tcp://127.0.0.1:{self._file.port}", self._file.keys, "n2", TO_AGENT
        )

    def until(self, condition: Callable[[], Any], now: float) -> Any:
        """Poll at one moment of the virtual clock until something real has happened."""
        deadline = time.monotonic() + 120
        while not (value := condition()):
            assert time.monotonic() < deadline
            self.agents.sockets[0].poll(5)  # type: ignore[union-attr]  # it is there
            self.facts += self.agents.poll(now)
        return value

    def close_agent(self, now: float) -> None:
        self.agent.close()
        self.until(lambda: self.agents.silence.closed_since("n2"), now)

    def die(self, now: float) -> None:
        """The agent's connection closes, and both looks find the daemon ended."""
        silence = self.agents.silence
        self.close_agent(now)
        self.until(lambda: silence.next_deadline() == now + CONFIRM, now)
        assert not silence.is_dead("n2")
        self.until(lambda: silence.is_dead("n2"), now + CONFIRM)

    def hear(self, now: float) -> None:
        self.until(lambda: self.agent.changes() or self.agent.connected, now)
        self.agent.send(Beat(number=1, held=True))
        self.until(lambda: any(isinstance(fact, NodeUp) for fact in self.facts), now)


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[[Callable[[str], bool]], Played]]:
    made: list[Played] = []

    def make(gone: Callable[[str], bool]) -> Played:
        made.append(Played(TaskDir(tmp_path / "task"), gone))
        made[-1].hear(100.0)
        return made[-1]

    yield make
    for played in made:
        played.agent.close()
        played.agents.close()


class Step:
    """A step of agents that ends at once where a lost node is among its nodes."""

    pid = os.getpid()

    def __init__(self, nodes: tuple[str, ...]) -> None:
        self.ended = "lost" in nodes

    def poll(self) -> int | None:
        return 1 if self.ended else None


def test_agents_of_healthy_nodes_start_again_beside_a_lost_node(tmp_path: Path) -> None:
    """A node died while agents started: each new step had it among its nodes, and none began.

    After 60 s a healthy node was lost by silence.
    """
    steps: list[tuple[tuple[str, ...], Step]] = []

    class Ends(Carrier):
        def launch(self, request: StepRequest) -> Any:
            steps.append((request.nodes, Step(request.nodes)))
            return steps[-1][1]

    directory = TaskDir(tmp_path / "task")
    directory.make()
    allocation: Any = Ends(lambda _node: False)
    agents = Agents(
        directory.link, allocation, ("a", "b", "lost"), "n1", "c", "p.", heartbeat=0.5, limit=LIMIT, now=100.0
    )
    for tick in range(100):
        agents.poll(100.0 + tick / 2)
    assert [nodes for nodes, _ in steps[:5]] == [("a", "b", "lost")] * 2 + [("a",), ("b",), ("lost",)]
    assert [nodes for nodes, _ in steps[5:]] == [("lost",)] * 2
    agents.close()


def test_a_node_whose_agent_was_heard_starts_another_without_those_that_were_not(tmp_path: Path) -> None:
    """A spare counted as down for a moment when another node died while the agents started.

    The second step had the dead node among its nodes, too.
    """
    steps: list[tuple[tuple[str, ...], Step]] = []

    class Begins(Carrier):
        def launch(self, request: StepRequest) -> Any:
            steps.append((request.nodes, Step(())))
            return steps[-1][1]

    directory = TaskDir(tmp_path / "task")
    directory.make()
    nodes = ("spare", "lost")
    allocation: Any = Begins(lambda _node: False)
    agents = Agents(directory.link, allocation, nodes, "n1", "c", "p.", heartbeat=0.5, limit=LIMIT, now=100.0)
    agents.silence.heard("spare", 100.0)
    agents.silence.closed("spare", 100.1)
    steps[0][1].ended = True
    agents.poll(100.2)
    assert [begun for begun, _ in steps] == [nodes, ("spare",), ("lost",)]
    steps[2][1].ended = True
    agents.poll(100.3)
    assert [begun for begun, _ in steps[3:]] == [("lost",)], "the spare's agent is being started"
    agents.close()


def test_two_looks_make_a_closed_connection_a_dead_node(play: Callable[..., Played]) -> None:
    played = play(lambda node: node == "n2")
    played.die(101.0)
    played.until(lambda: isinstance(played.facts[-1], NodeLost), 101.0 + CONFIRM)


def test_a_witness_that_fails_or_hangs_says_nothing(play: Callable[..., Played]) -> None:
    asked = threading.Event()
    release = threading.Event()

    def fails_then_hangs(_node: str) -> bool:
        if not asked.is_set():
            asked.set()
            raise CouldNotObserveError("no answer")
        release.wait(120)
        return True

    played = play(fails_then_hangs)
    played.close_agent(101.0)
    silence = played.agents.silence
    played.until(asked.is_set, 101.0)
    played.until(lambda: silence.is_lost("n2"), 101.0 + GRACE)
    assert played.agents.poll(101.0 + LOOKS[-1]) == [], "the event loop was held up"
    assert not silence.is_dead("n2")
    release.set()


def test_a_heartbeat_that_is_answered_late_brings_no_dead_node_back(play: Callable[..., Played]) -> None:
    """The responder may be slow: what it answers was sent before the node died."""
    played = play(lambda _node: False)
    played.close_agent(101.0)
    played.agents.leases.table.answer("n2", 101.1)
    played.agents.poll(101.1)
    assert played.agents.silence.closed_since("n2") == 101.1
    assert [fact.node for fact in played.agents.poll(101.1 + GRACE) if isinstance(fact, NodeLost)] == ["n2"]


def test_a_node_that_comes_back_can_be_told_to_kill(play: Callable[..., Played]) -> None:
    played = play(lambda _node: True)
    played.die(101.0)
    played.facts.clear()
    played.connect()
    played.hear(102.0)
    assert not played.agents.silence.is_dead("n2")
    assert played.agents.kill("n2", "p.1", 2)
    told = played.until(lambda: [m for m in played.agent.receive() if isinstance(m, Kill)], 102.0)
    assert told == [Kill(token="p.1", number=2)]


def test_a_node_that_was_lost_by_silence_gets_an_agent_when_it_is_back(play: Callable[..., Played]) -> None:
    """A node was down for 12 s and booted: its old connection closed only then, and it had been lost before.

    Nobody started an agent there, so the fence waited for one until the task failed.
    """
    played = play(lambda _node: False)
    lost = time.monotonic() + LIMIT + 1  # the responder's silence counts by the real clock
    assert "no heartbeat" in played.agents.silence.lost(lost, step_over=False)[0].reason
    played.close_agent(lost + 10)
    played.until(lambda: played.agents.silence.unheld("n2"), lost + 10)
    assert len(played.carrier.launched) == 1
    assert not played.agents.kill("n2", "p.1")
    played.until(lambda: played.carrier.launched[1:] == [("n2",)], lost + 10)
    assert not played.agents.kill("n2", "p.1", 1)
    played.agents.poll(lost + 30)
    assert len(played.carrier.launched) == 2, "one runs already"


@pytest.mark.parametrize("held", [False, True])
def test_an_agent_is_counted_on_once_it_says_that_it_was_answered(tmp_path: Path, held: bool) -> None:
    """A node was cut off just when its agent's first answer was under way, and its silence fenced it.

    The agent had never been answered, so it held no lease and ended nothing.
    """
    played = Played(TaskDir(tmp_path / "task"), lambda _node: False)
    file, table = played._file, played.agents.leases.table
    leases: LinkClient[Any] = LinkClient(f"tcp://127.0.0.1:{file.lease_port}", file.keys, "n2", TO_AGENT)
    last = ProgramFound(token="read after the heartbeat")
    try:
        played.until(lambda: leases.changes() or leases.connected, 100.0)
        leases.send(Beat(number=1, held=held))
        played.until(lambda: played.agent.changes() or played.agent.connected, 100.0)
        played.agent.send(Beat(number=0, held=held))
        played.agent.send(last)
        played.until(lambda: any(getattr(fact, "message", None) == last for fact in played.facts), 100.0)
        assert played.until(lambda: list(leases.receive()), 100.0) == [BeatAnswer(number=1)]
        assert bool(table.answered("n2")) is held
        assert played.agents.silence.present("n2") is held
        assert played.agents.silence.never_heard() == (() if held else ("n2",))
    finally:
        leases.close()
        played.agent.close()
        played.agents.close()
