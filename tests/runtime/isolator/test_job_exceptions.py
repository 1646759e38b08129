"""Exceptions of the resource manager: heard, recovered once, and ours raised on the job; without Flux."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.equipment.world import KilledError
from tests.runtime.isolator.conftest import (
    NOW,
    SPAN,
    World,
    exception,
    found,
    make_setup,
    node_exception,
    step,
)
from whesl.language.detections.job_exception import JobExceptionDetection
from whesl.language.spec import ExceptionSpec, JobExceptionRaise, Otherwise, ResourceKind
from whesl.managers.resource.port import JobException, NodeEvent
from whesl.model.allocation_nodes import NodeSet
from whesl.model.errors import CouldNotObserveError
from whesl.model.evidence import Detected, Evidence, Raised
from whesl.model.outcomes import JobRaiseOutcome, StepOutcome
from whesl.model.states import NodeState
from whesl.runtime.isolator.core import resource_manager_exceptions
from whesl.runtime.isolator.core.events_and_commands import (
    Event,
    JobExceptionSeen,
    KillAttempt,
    NodeSeen,
    RaiseJobException,
    Say,
)
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.observe import manager_events
from whesl.runtime.isolator.observe.manager_events import ManagerEvents
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.blocking_call_worker import Worker

Make = Callable[..., World]


def on_job(name: str = "JOBEXC", **changes: object) -> ExceptionSpec:
    detection = JobExceptionDetection(exception_type="exec", span=SPAN)
    return exception(name, detections=(detection,), steps=(step(ResourceKind.NODE),), **changes)


def seen(*names: str, nodes: tuple[str, ...] = (), **changes: object) -> JobExceptionSeen:
    """Return the event as the shell makes it: with what the detectors said."""
    evidence = tuple(
        Evidence(kind="job-exception", time=NOW, node=node, detail="exec, severity 0, on job f1")
        for node in nodes or ("",)
    )
    values: dict[str, object] = {
        "job_id": "f1",
        "exception_type": "exec",
        "severity": 0,
        "note": "node failure",
        "nodes": nodes,
        "found": tuple(Detected(exception=name, evidence=evidence) for name in names),
    }
    return JobExceptionSeen(**{**values, **changes})  # type: ignore[arg-type]  # the fields' own types


# Heard ----------------------------------------------------------------------------------------------


def test_a_job_exception_ends_the_attempt_and_is_recovered(world: Make) -> None:
    made = world(on_job()).feed(seen("JOBEXC"))
    assert made.state.attempt == 2
    assert made.last("raised")["raised"]["evidence"][0]["kind"] == "job-exception"
    assert made.last("job-exception")["note"] == "node failure"


def test_one_that_no_rule_names_is_only_written_down(world: Make) -> None:
    made = world(on_job()).feed(seen())
    assert made.state.attempt == 1
    assert "job-exception" in made.kinds()
    assert "raised" not in made.kinds()


def swap(made: World, node: str, spare: str) -> None:
    """Let the recovery's step put a spare in a node's place."""
    made.step_result = lambda run: records.StepDone(
        ordinal=run.ordinal,
        index=run.index,
        outcome=StepOutcome.CONTINUE,
        nodes=made.state.nodes.replace(node) if node in made.state.nodes.active else made.state.nodes,
    )
    assert made.state.nodes.spares[0] == spare


@pytest.mark.parametrize("first", ["news", "agent"])
@pytest.mark.parametrize("when", ["during", "after"])
def test_a_dead_node_and_its_job_exception_are_one_exception(world: Make, first: str, when: str) -> None:
    """The agent's word and the resource manager's come in any order, before or after the relaunch."""
    made = world(
        node_exception("NODEDOWN"), on_job(), nodes=("n1", "n2", "n3", "n4"), active=2, use_own_node=True
    )
    assert made.state.nodes == NodeSet(active=("n1", "n2"), spares=("n3", "n4"))
    swap(made, "n2", "n3")
    job = seen("JOBEXC", nodes=("n2",))
    down = found("NODEDOWN", kind="node", node="n2")
    node = NodeSeen(node="n2", state=NodeState.DOWN, reason="lost", source="agent", found=(down,))
    one, other = (job, node) if first == "news" else (node, job)
    if when == "during":
        made.hold = (KillAttempt,)
        made.feed(one).feed(other)
        made.hold = ()
        made._perform(made.asked(KillAttempt)[-1])
        made.feed(seen())
    else:
        made.feed(one).feed(other)
    assert made.kinds().count("raised") == 1
    assert made.state.attempt == 2
    assert made.state.nodes.active == ("n1", "n3")


def test_what_was_raised_before_the_attempt_began_is_not_its_own(world: Make) -> None:
    made = world(on_job())
    made.advance(10).feed(seen("JOBEXC", time=NOW + 5))
    assert made.state.attempt == 2
    made.advance(1).feed(seen("JOBEXC", time=NOW + 6))
    assert made.state.attempt == 2
    assert made.kinds()[-1] == "dropped"
    made.feed(seen("JOBEXC", time=NOW + 11.5))
    assert made.state.attempt == 3


def test_one_on_nodes_that_are_not_used_is_not_ours(world: Make) -> None:
    made = world(on_job(), nodes=("n1", "n2", "n3"), active=2)
    made.feed(seen("JOBEXC", nodes=("n3",)))
    assert made.state.attempt == 1
    made.feed(seen("JOBEXC", nodes=("n3", "n2")))
    assert made.state.attempt == 2


def test_one_on_a_step_is_of_its_attempt_alone(world: Make) -> None:
    """Tasks may share an instance, and a step may outlive its launcher."""
    made = world(on_job(), nodes=("n1", "n2", "n3"), active=2)
    first = made.state.token
    before = len(made.records)
    for stranger in ("", "another-task.1"):
        made.feed(seen("JOBEXC", nodes=("n1",), attempt=stranger))
    assert (made.state.attempt, len(made.records)) == (1, before)
    made.feed(seen("JOBEXC", nodes=("n3",), attempt=first))
    assert made.state.attempt == 2
    made.advance(5).feed(seen("JOBEXC", nodes=("n1",), attempt=first, time=made.now))
    assert made.state.attempt == 2
    assert made.kinds()[-1] == "dropped"
    made.feed(seen("JOBEXC", attempt=made.state.token, time=NOW - 5))
    assert made.state.attempt == 3


def test_it_wins_over_the_exit_that_it_caused(world: Make) -> None:
    made = world(on_job(), exception("CRASH"))
    made.hold = (KillAttempt,)
    made.feed(seen("JOBEXC")).exits(143, found("CRASH"))
    assert [data["raised"]["exception"] for kind, data, _ in made.records if kind == "raised"] == ["JOBEXC"]


def test_observe_mode_says_what_it_would_do(world: Make) -> None:
    made = world(on_job(raises=JobExceptionRaise(exception_type="lost")), observe=True).feed(seen("JOBEXC"))
    assert "observed" in made.kinds()
    assert made.state.attempt == 1
    assert made.asked(RaiseJobException) == []


# Raised ---------------------------------------------------------------------------------------------

RAISES = JobExceptionRaise(exception_type="whesl-crash", severity=3)


def test_an_exception_is_raised_on_the_job_as_well(world: Make) -> None:
    made = world(exception(raises=RAISES)).exits(3, found("CRASH"))
    (asked,) = made.asked(RaiseJobException)
    assert (asked.exception_type, asked.severity, asked.ordinal) == ("whesl-crash", 3, 1)
    run = token_prefix(made.state.setup)[:8]
    assert asked.note == f"whesl wf/app #1: CRASH in attempt 1: log: bad thing ({run})"
    assert made.last("job-raised")["outcome"] == "raised"
    assert made.state.attempt == 2


def test_without_the_clause_nothing_is_raised(world: Make) -> None:
    assert world(exception()).exits(3, found("CRASH")).asked(RaiseJobException) == []


def test_no_recovery_waits_for_it(world: Make) -> None:
    made = world(exception(raises=RAISES))
    made.hold = (RaiseJobException,)
    assert made.exits(3, found("CRASH")).state.attempt == 2


def test_our_own_does_not_come_back_as_a_detection(world: Make) -> None:
    made = world(on_job(raises=RAISES)).feed(seen("JOBEXC"))
    (asked,) = made.asked(RaiseJobException)
    before = len(made.records)
    own = seen("JOBEXC", exception_type=asked.exception_type, severity=3, note=asked.note)
    made.feed(own)
    assert (made.state.attempt, len(made.records)) == (2, before)
    made.restart().feed(own)
    assert made.state.attempt == 2
    made.feed(seen("JOBEXC", exception_type=asked.exception_type, note="somebody else's"))
    assert made.state.attempt == 3


def test_a_restarted_isolator_raises_what_was_not_confirmed(world: Make) -> None:
    made = world(exception(raises=RAISES))
    made.hold = (RaiseJobException,)
    made.exits(3, found("CRASH"))
    made.hold = ()
    made.restart()
    first, second = made.asked(RaiseJobException)
    assert second == msgspec.structs.replace(first, again=True)
    made.restart()
    assert len(made.asked(RaiseJobException)) == 2
    assert made.kinds().count("job-raised") == 1


def test_a_crash_at_any_record_raises_at_least_once_and_recovers_once() -> None:
    def run(crash_at: int | None, late: bool) -> World:
        made = World(make_setup(exception(raises=RAISES)))
        made.crash_at, made.crash_late = crash_at, late
        try:
            made.start().exits(3, found("CRASH"))
        except KilledError:
            made.crash_at = None
            made.restart()
        if "raised" not in made.kinds() and made.running is not None:
            made.exits(3, found("CRASH"))
        return made

    whole = len(run(None, False).records)
    for crash_at in range(1, whole + 1):
        for late in (False, True):
            made = run(crash_at, late)
            if "raised" not in made.kinds():
                continue  # it died with the exit unseen, and the exit's status was lost with it
            notes = {command.note for command in made.asked(RaiseJobException)}
            assert len(notes) == 1, (crash_at, late)
            assert made.state.attempt == 2, (crash_at, late)


def test_what_cannot_be_raised_is_said_once(world: Make) -> None:
    made = world(exception(raises=RAISES, limit=5))
    made.hold = (RaiseJobException,)
    for attempt in (1, 2):
        made.exits(3, found("CRASH"))
        made.feed(
            records.JobRaised(
                ordinal=attempt, outcome=JobRaiseOutcome.NONE, reason="there is nothing like it"
            )
        )
    said = [command.text for command in made.asked(Say) if "RAISE" in command.text]
    assert said == ["RAISE: not raised on the job: there is nothing like it"]


def test_an_escalated_exception_is_raised_under_both_names(world: Make) -> None:
    higher = exception("HIGHER", raises=JobExceptionRaise(exception_type="high"))
    lower = exception(raises=RAISES, limit=1, otherwise=Otherwise.ESCALATE, escalate_to="HIGHER")
    made = world(lower, higher).exits(3, found("CRASH")).exits(3, found("CRASH"))
    kinds = [command.exception_type for command in made.asked(RaiseJobException)]
    assert kinds == ["whesl-crash", "whesl-crash", "high"]


def test_notes_are_one_short_line() -> None:
    evidence = Evidence(kind="log", time=NOW, line="a\x1b[31m\tb\r\n" + "x" * 9000)
    raised = Raised(
        exception="E", task="wf/t", attempt=2, ordinal=4, time=NOW, evidence=(evidence,), transformed_from=()
    )
    note = resource_manager_exceptions.note_of(raised, "0a1b2c3d")
    assert note.startswith("whesl wf/t #4: E in attempt 2: log: a [31m b x")
    assert note.endswith("... (0a1b2c3d)")
    assert len(note) == resource_manager_exceptions.MOST_CHARACTERS
    assert note.isprintable()


# The shell ------------------------------------------------------------------------------------------


class Giver:
    """An allocation with news, of which only the news are there."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe2(os.O_NONBLOCK)
        self.told: list[NodeEvent | JobException] = []
        self.refuse_watch = 0
        self.broken = False
        self.raised: list[tuple[str, int, str]] = []
        self.looked: list[bool] = []
        self.answer = True
        self.gate: threading.Event | None = None
        self.watched = False

    def watch(self) -> int:
        self.watched = True
        if self.refuse_watch:
            self.refuse_watch -= 1
            raise CouldNotObserveError("no bridge")
        return self.read

    def events(self) -> list[NodeEvent | JobException]:
        if self.broken:
            raise CouldNotObserveError("it ended")
        os.read(self.read, 4096)
        told, self.told = self.told, []
        return told

    def tell(self, *items: NodeEvent | JobException) -> None:
        self.told += items
        os.write(self.write, b"x")

    def raise_exception(self, kind: str, severity: int, note: str, *, once: bool = False) -> bool:
        self.looked.append(once)
        if self.gate is not None:
            self.gate.wait(120)
        self.raised.append((kind, severity, note))
        return self.answer


class Shell:
    """ManagerEvents with a thread, and what came of them."""

    def __init__(self, giver: object) -> None:
        self.worker = Worker()
        self.events: list[Event] = []
        self.heard: list[NodeEvent] = []
        self.manager_events = ManagerEvents(giver, self.worker, self.events.append, self.heard.append)  # type: ignore[arg-type]  # a stand-in

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        waiting = select.poll()
        waiting.register(self.worker.fileno(), select.POLLIN)
        while not condition():
            assert time.monotonic() < deadline
            waiting.poll(20)
            for call in self.worker.results():
                call()
            self.manager_events.poll(time.monotonic())


@pytest.fixture
def giver() -> Iterator[Giver]:
    made = Giver()
    yield made
    for descriptor in (made.read, made.write):
        try:
            os.close(descriptor)
        except OSError:
            continue


def listening(giver: object) -> Shell:
    shell = Shell(giver)
    shell.until(lambda: shell.manager_events.fileno() is not None)
    return shell


def test_listening_is_for_those_to_whom_news_matter(giver: Giver) -> None:
    assert not manager_events.matter(make_setup())
    assert not manager_events.matter(make_setup(exception()))
    assert not manager_events.matter(make_setup(on_job(jobs=("another",))))
    assert manager_events.matter(make_setup(on_job()))
    assert manager_events.matter(make_setup(nodes=("n1", "n2")))
    worker = Worker()
    events: list[Event] = []
    quiet = ManagerEvents(giver, worker, events.append, print, listen=False)  # type: ignore[arg-type]  # a stand-in
    assert quiet.fileno() is None
    quiet.raise_on_job(command())
    quiet.finish()
    assert giver.raised == [("lost", 3, "n")]
    assert not giver.watched


def test_what_is_told_becomes_events_in_order(giver: Giver) -> None:
    shell = listening(giver)
    node = NodeEvent(node="n2", state=NodeState.DOWN, reason="lost", time=1.0)
    giver.tell(JobException(job_id="f1", type="exec", severity=0, note="x", time=2.0, nodes=("n2",)), node)
    shell.until(lambda: bool(shell.heard))
    assert shell.heard == [node]
    (event,) = shell.events
    assert event == JobExceptionSeen(
        job_id="f1", exception_type="exec", severity=0, note="x", time=2.0, nodes=("n2",)
    )


def test_news_that_break_off_are_taken_up_again(giver: Giver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager_events, "LISTEN_AGAIN", 0.01)
    giver.refuse_watch = 2
    shell = listening(giver)
    giver.broken = True
    giver.tell()
    shell.until(lambda: shell.manager_events.fileno() is None)
    giver.broken = False
    shell.until(lambda: shell.manager_events.fileno() is not None)


def test_listening_is_given_up_in_the_end(giver: Giver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager_events, "LISTEN_AGAIN", 0.0)
    giver.refuse_watch = 1000
    shell = Shell(giver)
    shell.until(lambda: 1000 - giver.refuse_watch == manager_events.MOST_TRIES)
    shell.until(lambda: shell.manager_events.next_deadline(0.0) is None)
    for _ in range(5):
        shell.manager_events.poll(time.monotonic())
    assert 1000 - giver.refuse_watch == manager_events.MOST_TRIES


def test_a_descriptor_that_stays_readable_for_nothing_is_left_alone(giver: Giver) -> None:
    shell = listening(giver)
    os.close(giver.write)  # its end is readable for ever
    shell.until(lambda: shell.manager_events.fileno() is None)
    assert shell.events == []


def test_a_failure_waits_shortly_for_its_explanation(giver: Giver) -> None:
    shell = listening(giver)
    assert shell.manager_events.may_tell_more(1, 100.0)
    assert shell.manager_events.next_deadline(100.0) == 100.0 + manager_events.EXPLANATION
    assert not shell.manager_events.may_tell_more(1, 100.0 + manager_events.EXPLANATION)
    assert shell.manager_events.next_deadline(101.0) is None
    assert shell.manager_events.may_tell_more(2, 101.0)


def command() -> RaiseJobException:
    return RaiseJobException(ordinal=1, exception_type="lost", severity=3, note="n")


def test_raising_does_not_block(giver: Giver) -> None:
    shell = listening(giver)
    giver.gate = threading.Event()
    shell.manager_events.raise_on_job(command())
    assert shell.events == []
    giver.gate.set()
    shell.until(lambda: bool(shell.events))
    assert shell.events == [records.JobRaised(ordinal=1, outcome=JobRaiseOutcome.RAISED)]
    assert giver.raised == [("lost", 3, "n")]


def test_without_a_job_there_is_nothing_to_raise_it_on(giver: Giver) -> None:
    shell = listening(giver)
    giver.answer = False
    shell.manager_events.raise_on_job(command())
    shell.until(lambda: bool(shell.events))
    (event,) = shell.events
    assert isinstance(event, records.JobRaised)
    assert event.outcome == "none"


def test_other_resource_managers_say_so() -> None:
    shell = Shell(object())
    shell.manager_events.raise_on_job(command())
    (event,) = shell.events
    assert isinstance(event, records.JobRaised)
    assert (event.outcome, event.reason) == ("none", "this resource manager has no exceptions on jobs")
    assert shell.manager_events.fileno() is None
    assert not shell.manager_events.may_tell_more(1, 0.0)


def test_the_end_waits_for_what_is_being_raised(giver: Giver) -> None:
    shell = listening(giver)
    giver.gate = threading.Event()
    shell.manager_events.raise_on_job(command())
    threading.Timer(0.05, giver.gate.set).start()
    shell.manager_events.finish()
    assert giver.raised == [("lost", 3, "n")]


def test_the_end_does_not_wait_for_ever(giver: Giver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager_events, "LAST_RAISES", 0.05)
    shell = listening(giver)
    giver.gate = threading.Event()
    shell.manager_events.raise_on_job(command())
    shell.manager_events.finish()
    assert giver.raised == []
    giver.gate.set()
