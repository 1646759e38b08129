"""What looks after nodes, by itself: when the resource manager is asked, and what it is told to have left."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from tests import waiting
from tests.runtime.isolator.conftest import make_setup
from tests.runtime.node_agent.started import Start, start, token
from whesl.managers.resource.port import NodeEvent, Step, StepPlace, StepRequest
from whesl.model.errors import CouldNotObserveError, RefusedError, WheslError
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.events_and_commands import (
    Event,
    JobExceptionSeen,
    KillAttempt,
    NodeSeen,
    StepsSeen,
)
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.nodes import (
    fence_confirmation,
    isolator_host_fencing,
    manager_node_states,
    node_claims,
    node_fencing,
)
from whesl.runtime.isolator.nodes.job_step_nodes import StepPlaces
from whesl.runtime.isolator.nodes.node_fencing import Nodes
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.wire.blocking_call_worker import Worker

__all__ = ["start", "token"]  # fixtures

PATIENCE = 30.0


class Asked:
    """An allocation that starts no agents, and counts how often it is asked for its nodes."""

    def __init__(self) -> None:
        self.times = 0

    def launch(self, request: StepRequest) -> Step:
        raise RefusedError("no steps here")

    def node_states(self) -> dict[str, NodeState]:
        self.times += 1
        return {"n1": NodeState.UP, "n2": NodeState.UP}


class Books(Asked):
    """One whose manager knows who started a step, or does not answer."""

    def __init__(self, *answers: frozenset[str] | WheslError) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[set[int]] = []

    def end_steps_of(self, launchers: Collection[int]) -> frozenset[str]:
        self.asked.append(set(launchers))
        answer = self.answers.pop(0)
        if isinstance(answer, WheslError):
            raise answer
        return answer


class Shell:
    """As much of an isolator as looks after nodes."""

    def __init__(
        self, place: Path, half_ended: int = 0, allocation: Asked | None = None, cut_off_after: float = 0.0
    ) -> None:
        self.allocation = allocation or Asked()
        self.events: list[Event] = []
        self.worker, self.asker = Worker(), Worker()
        setup = make_setup(nodes=("n1", "n2"), moves=cut_off_after > 0.0, kept=cut_off_after > 0.0)
        job = Job(setup=setup, command=("true",), heartbeat_limit=cut_off_after or 3.0)
        self.nodes = Nodes(
            TaskDir(place),
            job,
            self.allocation,  # type: ignore[arg-type]  # a stand-in
            self.worker,
            self.asker,
            self.events.append,
            half_ended,
        )

    def turn(self) -> None:
        for call in (*self.worker.results(), *self.asker.results()):
            call()
        self.nodes.poll(time.monotonic())

    def close(self) -> None:
        self.nodes.close()
        self.worker.close()
        self.asker.close()

    def fenced(self, token: str, *active: str) -> records.Fenced:
        """End the first attempt, and return what was said of it."""
        self.nodes.fence(KillAttempt(attempt=1, nodes=active), token, None)

        def confirmed() -> list[records.Fenced]:
            self.turn()
            return [event for event in self.events if isinstance(event, records.Fenced)]

        found: list[records.Fenced] = waiting.until(confirmed, "the end of the attempt", PATIENCE)
        return found[0]

    def unfenced(self, token: str) -> records.Unfenced:
        """Try to end the first attempt, and return why that is not known to have succeeded."""
        self.nodes.fence(KillAttempt(attempt=1, nodes=("n1",)), token, None)

        def refused() -> list[records.Unfenced]:
            self.turn()
            return [event for event in self.events if isinstance(event, records.Unfenced)]

        found: list[records.Unfenced] = waiting.until(refused, "that the end is not known", PATIENCE)
        return found[-1]

    def explained(self, attempt: int) -> bool:
        self.turn()
        return not self.nodes.may_tell_more(attempt, ("n1", "n2"), time.monotonic())


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.setattr(manager_node_states, "ASK_EVERY", 1000.0)
    monkeypatch.setattr(fence_confirmation, "START_PATIENCE", 0.1)  # nobody will speak for the other node
    made = Shell(tmp_path)
    yield made
    made.close()


def test_an_attempt_that_ends_by_itself_is_explained_by_the_resource_manager(shell: Shell) -> None:
    waiting.until(lambda: shell.explained(1), "an answer", PATIENCE)
    assert shell.allocation.times == 1


def test_a_node_that_hears_nobody_calls_no_other_node_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off with its files in reach, it failed the task, which another node was to take over."""

    def unanswered(_: object) -> dict[str, NodeState]:
        raise CouldNotObserveError("no route to slurmctld")

    shell = Shell(tmp_path, cut_off_after=0.5)
    with contextlib.closing(shell), monkeypatch.context() as patched:
        patched.setattr(Asked, "node_states", unanswered)
        # On a busy machine the responder itself does not run for longer than a silence may last.
        assert shell.nodes._late.present is not None
        monkeypatch.setattr(shell.nodes._late.present, "_read_leases", lambda _: [])
        monkeypatch.setattr(shell.nodes._silence, "listened", math.inf)
        shell.nodes._silence.heard("n2", time.monotonic())
        began = time.monotonic()
        while time.monotonic() < began + 1.0:
            shell.turn()
            time.sleep(0.02)
        assert not shell.events and shell.nodes.may_tell_more(1, ("n1", "n2"), time.monotonic() + 100.0)
        patched.undo()

        def lost() -> bool:
            shell.turn()
            return bool(shell.events)

        waiting.until(lost, "a loss", PATIENCE)
        (seen,) = (event for event in shell.events if isinstance(event, NodeSeen))
        assert (seen.node, seen.state, seen.source) == ("n2", NodeState.DOWN, "agent")


@pytest.mark.parametrize(
    ("neighbours", "command", "others", "told_of"),
    [
        ((True, True), "./app", True, True),
        ((True, True), "./app", False, False),  # its neighbour may be anywhere
        ((True, False), "./app", False, True),  # the last task of a pilot
        ((False, False), "/usr/bin/srun", False, True),
        ((False, False), "./app", False, False),  # the next line of a script may use all nodes
    ],
)
def test_an_exception_that_names_a_node_waits_until_the_steps_places_are_known(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    neighbours: tuple[bool, bool],
    command: str,
    others: bool,
    told_of: bool,
) -> None:
    """A task beside another one asked for a spare of all nodes of their instance, and failed without one."""
    setup = make_setup(nodes=("n1", "n2"), account=str(tmp_path))

    class Located(Asked):
        def step_places(self) -> list[StepPlace]:
            own = StepPlace(0, ("n1",), f"{token_prefix(setup)}.1")
            return [own, StepPlace(0, ("n2",), "another's")] if others else [own]

    monkeypatch.setattr(node_claims, "neighbours", lambda *_: neighbours)
    events: list[Event] = []
    job = Job(setup=setup, command=(command,))
    places = StepPlaces(Located(), job, str(tmp_path), events.append)  # type: ignore[arg-type]  # a stand-in
    with contextlib.closing(places):
        seen = JobExceptionSeen(
            job_id="f1", exception_type="exec", severity=0, note="", time=0.0, nodes=("n1",)
        )
        places.tell(seen)
        assert not events

        def told() -> bool:
            places.poll(time.monotonic(), unattended=False)
            return bool(events)

        waiting.until(told, "an answer", PATIENCE)
    steps = StepsSeen(own=("n1",), others=("n2",) if others else ())
    assert events == ([steps, seen] if told_of else [seen])


def test_a_node_s_state_comes_with_the_resource_manager_s_reason(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell.allocation, "node_states", lambda: {"n2": NodeState.DRAINED})
    monkeypatch.setattr(shell.allocation, "reasons", lambda: {"n2": "bad fan"}, raising=False)
    waiting.until(lambda: shell.explained(1), "an answer", PATIENCE)
    (seen,) = (event for event in shell.events if isinstance(event, NodeSeen))
    assert (seen.node, seen.reason) == ("n2", "resource manager: bad fan")


def test_an_answer_that_is_older_than_the_end_of_an_attempt_does_not_explain_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node died while its manager was asked, as every few seconds: what it said was true before."""
    asked, answers = threading.Event(), threading.Event()

    def states() -> dict[str, NodeState]:
        shell.allocation.times += 1
        if shell.allocation.times > 1:
            return {"n2": NodeState.DOWN}
        asked.set()
        answers.wait(PATIENCE)
        return {"n2": NodeState.UP}

    monkeypatch.setattr(shell.allocation, "node_states", states)
    monkeypatch.setattr(node_fencing, "HEARING", 0.0)
    shell.nodes._states.poll(math.inf, hurry=False)
    asked.wait(PATIENCE)
    assert not shell.explained(1)
    answers.set()
    waiting.until(lambda: shell.explained(1), "an answer", PATIENCE)
    assert [event.node for event in shell.events if isinstance(event, NodeSeen)] == ["n2"]


def test_nobody_is_asked_why_an_attempt_has_ended_that_is_fenced(shell: Shell) -> None:
    """The question is a process that competes with the restart, and its answer is known."""
    shell.nodes.fence(KillAttempt(attempt=1, nodes=("n1", "n2")), f"{time.time()}.1", None)
    waiting.until(lambda: shell.explained(1), "nothing more to hear", PATIENCE)
    assert shell.allocation.times == 0
    waiting.until(lambda: shell.explained(2), "an answer about the next one", PATIENCE)
    assert shell.allocation.times == 1


@pytest.mark.parametrize("used", [("n1", "n2"), ("n2",)])
def test_a_success_beside_a_node_without_an_agent_waits_for_the_manager_s_word(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, used: tuple[str, ...]
) -> None:
    """A node that is lost while the agents start was taken for one that had done its part."""
    monkeypatch.setattr(shell.allocation, "node_states", lambda: {"n2": NodeState.DOWN})

    def judged() -> bool:
        shell.turn()
        return not shell.nodes.may_be_lost(1, used, time.monotonic())

    assert not judged()
    waiting.until(judged, "an answer", PATIENCE)
    assert [event.node for event in shell.events if isinstance(event, NodeSeen)] == ["n2"]


@pytest.mark.parametrize("seen", [None, False])
def test_a_failure_beside_a_node_without_an_agent_waits_until_the_node_is_seen(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, seen: bool | None
) -> None:
    """srun could not start on a node that had just died, and its failure was judged before Slurm said so."""
    monkeypatch.setattr(manager_node_states, "ANSWER_LIMIT", 0.0)
    monkeypatch.setattr(shell.allocation, "gone", lambda _: seen, raising=False)
    shell.nodes._missed_by = math.inf  # rules act on lost nodes
    shell.nodes._late.begin()
    assert not shell.explained(1)
    if seen is None:
        answered = shell.nodes._states.answered
        waiting.until(lambda: shell.nodes._states.answered > answered, "an answer", PATIENCE, shell.turn)
        assert not shell.explained(1)
        monkeypatch.setattr(shell.allocation, "node_states", lambda: {"n2": NodeState.DOWN})
        shell.nodes._states.due = 0.0
    waiting.until(lambda: shell.explained(1), "what became of the node", PATIENCE)
    lost = [event.node for event in shell.events if isinstance(event, NodeSeen)]
    assert lost == (["n2"] if seen is None else [])


def test_a_success_on_the_isolator_s_own_node_alone_waits_for_nobody(shell: Shell) -> None:
    assert not shell.nodes.may_be_lost(1, ("n1",), time.monotonic())
    assert shell.allocation.times == 0


def test_a_launcher_that_had_to_be_killed_may_leave_its_step_on_the_nodes(
    shell: Shell, start: Start, token: str
) -> None:
    process = start("while :; do sleep 0.1; done", token, "srun")
    assert shell.fenced(token, "n1").lingering == ("n1",)
    assert process.wait(PATIENCE) == -9


def test_a_lost_spare_leaves_a_launcher_the_time_to_end_by_itself(
    shell: Shell, start: Start, token: str
) -> None:
    shell.nodes.hear(NodeEvent(node="n2", state=NodeState.DOWN, reason="", time=0.0))
    assert shell.nodes.lost == ("n2",)
    process = start("sleep 0.05; exit 7", token, "srun")
    assert shell.fenced(token, "n1").lingering == ()
    assert process.wait(PATIENCE) == 7


def test_a_fence_that_an_earlier_isolator_had_begun_may_have_killed_launchers(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell.fenced("none.1", "n1").lingering == ()
    other = Shell(tmp_path / "other", half_ended=1)
    try:
        assert other.fenced("none.1", "n1").lingering == ("n1",)
    finally:
        other.close()


class Killer:
    """What is left on this node at each kill: steps that nothing tells the owner of, until they are named."""

    def __init__(self, *strange: str, launchers: tuple[int, ...] = (5,)) -> None:
        self.steps: list[tuple[str, ...]] = []
        self._strange = strange
        self._launchers = launchers

    def __call__(self, *_: object, steps: tuple[str, ...] = (), **__: object) -> attempt_processes.Killing:
        self.steps.append(steps)
        return attempt_processes.Killing(
            count=1,
            left=[],
            open_files=(),
            spared=False,
            forced=True,
            launchers=self._launchers if len(self.steps) == 1 else (),
            strange=tuple(step for step in self._strange if step not in steps),
        )


Make = Callable[..., Shell]


@pytest.fixture
def make(tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[Shell] = []

    def begin(killer: Killer, allocation: Asked) -> Shell:
        monkeypatch.setattr(isolator_host_fencing, "kill", killer)
        made.append(Shell(tmp_path / f"shell-{len(made)}", allocation=allocation))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def test_a_step_that_the_attempt_s_launcher_has_started_is_ended(make: Make) -> None:
    killer, books = Killer("1.0", "1.7"), Books(frozenset({"1.0", "1.3"}))
    assert make(killer, books).fenced("t.1", "n1").killed == 2
    assert killer.steps == [(), ("1.0",)]
    assert books.asked == [{5}], "once: what is left then is another's"


def test_somebody_else_s_step_is_asked_about_and_left_alone(make: Make) -> None:
    killer, books = Killer("1.7"), Books(frozenset({"1.0"}))
    make(killer, books).fenced("t.1", "n1")
    assert killer.steps == [()]


def test_without_an_answer_the_attempt_is_not_fenced(make: Make) -> None:
    """The launcher is dead by the second try, and still known."""
    killer = Killer("1.0")
    books = Books(CouldNotObserveError("slurmctld did not answer"), frozenset({"1.0"}))
    shell = make(killer, books)
    reason = shell.unfenced("t.1").reason
    assert "1.0" in reason and "did not answer" in reason
    shell.fenced("t.1", "n1")
    assert books.asked == [{5}, {5}]
    assert killer.steps[-1] == ("1.0",)


def test_nobody_is_asked_where_nothing_is_strange_or_no_launcher_was(make: Make) -> None:
    for killer in (Killer(), Killer("1.0", launchers=())):
        books = Books()
        make(killer, books).fenced("t.1", "n1")
        assert books.asked == []
