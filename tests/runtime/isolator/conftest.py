"""A world for the isolator's core: a virtual clock, a journal, processes that do as they are told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from tests.equipment.world import START, KilledError, MemoryJournal
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.detections.kinds import Detection
from whesl.language.detections.log import LogDetection
from whesl.language.detections.node import NodeCondition, NodeDetection
from whesl.language.detections.timers import HangDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Span, Stream
from whesl.language.spec import (
    Entity,
    ExceptionSpec,
    Level,
    Operation,
    OperationDeclaration,
    RecoveryStep,
    ResourceDeclaration,
    ResourceKind,
    Spec,
)
from whesl.model.evidence import Detected, Evidence
from whesl.model.outcomes import JobRaiseOutcome, StepOutcome
from whesl.model.workflow import Task
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.events_and_commands import (
    AdoptAttempt,
    AskCheckpoint,
    AttemptExited,
    ClaimNodes,
    CollectEvidence,
    Command,
    ConfigurationRead,
    CoordinatorMessage,
    Detections,
    Event,
    Finish,
    ForbidRequeue,
    Journal,
    KillAttempt,
    ProbeProgram,
    ProgramSeen,
    RaiseJobException,
    ReadConfiguration,
    RunStep,
    Schedule,
    Send,
    SignalAttempt,
    StartAttempt,
    Started,
    TellLost,
    TellPrediction,
    Tick,
    WriteReconfigure,
)
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import AnyMessage, Report, Welcome

SPAN = Span(line=1, column=1, end_line=1, end_column=2)
NOW = START


def log_detection(text: str = "bad") -> Detection:
    return LogDetection(patterns=(Pattern(text=text),), source=Source(stream=Stream.STDOUT), span=SPAN)


def hang_detection() -> Detection:
    return HangDetection(
        pattern=Pattern(text="cycle"), source=Source(stream=Stream.STDOUT), timeout=10.0, span=SPAN
    )


def step(
    resource: ResourceKind = ResourceKind.JOB,
    operation: Operation = Operation.REPLACE,
    entity: Entity = Entity.JOB,
    **arguments: Any,
) -> RecoveryStep:
    # Plain words, as an isolator reads them in job.json: a look with ``is`` once found no rule about nodes.
    return RecoveryStep(
        entity=entity, resource=resource.value, operation=operation.value, arguments=arguments, span=SPAN
    )


def exception(name: str = "CRASH", **changes: Any) -> ExceptionSpec:
    values: dict[str, Any] = {
        "name": name,
        "level": Level.JOB_LEVEL,
        "jobs": ("app",),
        "detections": (log_detection(),),
        "steps": (step(),),
        "span": SPAN,
    }
    return ExceptionSpec(**{**values, **changes})


def node_exception(name: str = "NODEDOWN", **changes: Any) -> ExceptionSpec:
    return exception(
        name,
        detections=(NodeDetection(condition=NodeCondition.DOWN, span=SPAN),),
        steps=(step(ResourceKind.NODE),),
        **changes,
    )


def count_detection(name: str, times: int) -> Detection:
    return CountDetection(exception=name, times=times, span=SPAN)


def exit_detection() -> Detection:
    return ExitDetection(span=SPAN)


def make_spec(*exceptions: ExceptionSpec) -> Spec:
    declared = tuple(OperationDeclaration(operation=operation) for operation in Operation)
    return Spec(
        file="rules.esl",
        entities=tuple(Entity),
        levels=tuple(Level),
        resources=tuple(ResourceDeclaration(resource=kind, operations=declared) for kind in ResourceKind),
        exceptions=exceptions,
    )


def make_setup(*exceptions: ExceptionSpec, **changes: Any) -> Setup:
    values: dict[str, Any] = {
        "task": Task(id="wf/app", step="app"),
        "workflow": "wf",
        "spec": make_spec(*exceptions) if exceptions else None,
        "coordinator": False,
        "claim": "c1",
        "salt": "s",
        "nodes": ("n1",),
        "own_node": "n1",
    }
    return Setup(**{**values, **changes})


def found(name: str = "CRASH", kind: str = "log", node: str = "") -> Detected:
    evidence = Evidence(kind=kind, time=NOW, line="bad thing", node=node, detail="seen")
    return Detected(exception=name, evidence=(evidence,))


class World:
    """Performs commands at once, and answers with the events that the shell would send.

    ``crash_at`` is the number of records after which the isolator dies: before it does anything that follows
    from them, or (``crash_late``) after that and before it hears what came of it. ``hold`` are kinds of
    commands that are noted but not performed.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.now = NOW
        self.records = MemoryJournal()
        self.state: State = self.records.state_of_task(setup)
        self.commands: list[Command] = []
        self.messages: list[AnyMessage] = []
        self.alarm: float | None = None
        self.finished: Finish | None = None
        self.running: int | None = None  # the attempt whose processes exist
        self.ever: set[int] = set()
        self.hold: tuple[type[Command], ...] = ()
        self.crash_at: int | None = None
        self.crash_late = False
        self.step_result: Callable[[RunStep], records.StepDone] = lambda run: records.StepDone(
            ordinal=run.ordinal, index=run.index, outcome=StepOutcome.CONTINUE
        )
        self.checkpoint_result: Callable[[AskCheckpoint], records.CheckpointEnded] = lambda ask: (
            records.CheckpointEnded(ordinal=ask.ordinal, seconds=1.0, checkpoint="checkpoint 1")
        )
        self.read_result = ConfigurationRead(reason="the coordinator has no journal")
        self.unreachable: tuple[str, ...] = ()
        self.unasked: tuple[str, ...] = ()
        self.lingering: tuple[str, ...] = ()
        self._queue: deque[Event] = deque()

    def start(self) -> World:
        alive: bool | None = None
        if self.state.attempt in self.ever:
            alive = self.running == self.state.attempt
        self.feed(Started(alive=alive))
        return self

    def restart(self, setup: Setup | None = None) -> World:
        """Forget everything but the journal, and start another isolator on it."""
        self.setup = setup or self.setup
        self.state = self.records.state_of_task(self.setup)
        self.alarm = None
        self.finished = None
        self._queue.clear()
        return self.start()

    def feed(self, event: Event) -> World:
        self._queue.append(event)
        while self._queue:
            self.state, commands = state_machine.step(self.state, self._queue.popleft(), self.now)
            self.records.write([each.record for each in commands if isinstance(each, Journal)], self.now)
            # The shell writes the records of one turn in one transaction, and then does the rest.
            dies = self.crash_at is not None and len(self.records) >= self.crash_at
            if dies and not self.crash_late:
                raise KilledError
            for command in commands:
                self.commands.append(command)
                if not isinstance(command, Journal) and not isinstance(command, self.hold):
                    self._perform(command)
            if dies:
                raise KilledError
        return self

    def _perform(self, command: Command) -> None:
        if isinstance(command, StartAttempt):
            assert self.running is None, "a new attempt beside a living one"
            assert command.attempt not in self.ever, "an attempt was started twice"
            self.running = command.attempt
            self.ever.add(command.attempt)
            self._queue.append(records.Launched(attempt=command.attempt, pid=1, started=1))
        elif isinstance(command, AdoptAttempt):
            if self.state.phase.value == "launching" and command.attempt in self.ever:
                self._queue.append(records.Launched(attempt=command.attempt, pid=1, started=1))
        elif isinstance(command, ProbeProgram):
            self._queue.append(ProgramSeen(attempt=command.attempt))
        elif isinstance(command, KillAttempt):
            self.running = None
            self._queue.append(
                records.Fenced(
                    attempt=command.attempt,
                    seconds=0.0,
                    unreachable=self.unreachable,
                    unasked=self.unasked,
                    lingering=self.lingering,
                )
            )
        elif isinstance(command, CollectEvidence):
            assert self.running == command.attempt, "evidence is taken before the kill"
            self._queue.append(records.EvidenceTaken(attempt=command.attempt, detail="stack"))
        elif isinstance(command, RaiseJobException):
            self._queue.append(records.JobRaised(ordinal=command.ordinal, outcome=JobRaiseOutcome.RAISED))
        elif isinstance(command, RunStep):
            self._queue.append(self.step_result(command))
        elif isinstance(command, Send):
            if not isinstance(command.message, Report):
                self.messages.append(command.message)
        elif isinstance(command, Schedule):
            self.alarm = command.time if self.alarm is None else min(self.alarm, command.time)
        elif isinstance(command, ReadConfiguration):
            self._queue.append(self.read_result)
        elif isinstance(command, Finish):
            self.finished = command
        elif isinstance(command, AskCheckpoint):
            self._queue.append(self.checkpoint_result(command))
        elif isinstance(command, (TellLost, TellPrediction)):
            pass
        else:
            assert (
                isinstance(command, (ClaimNodes, ForbidRequeue, SignalAttempt, WriteReconfigure))
                or type(command).__name__ == "Say"
            )

    def advance(self, seconds: float) -> World:
        """Let time pass, with the ticks that were asked for."""
        end = self.now + seconds
        while self.alarm is not None and self.alarm <= end and self.finished is None:
            self.now = max(self.alarm, self.now)
            self.alarm = None
            self.feed(Tick())
        self.now = end
        return self

    def exits(self, code: int = 0, *words: Detected) -> World:
        attempt = self.running
        assert attempt is not None
        self.running = None
        return self.feed(AttemptExited(attempt=attempt, code=code, found=words))

    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.records]

    def last(self, kind: str) -> dict[str, Any]:
        return next(data for other, data, _ in reversed(self.records) if other == kind)

    def sent(self, kind: type[AnyMessage]) -> list[Any]:
        return [message for message in self.messages if isinstance(message, kind)]

    def asked(self, kind: type[Command]) -> list[Any]:
        return [command for command in self.commands if isinstance(command, kind)]


def detect(world: World, *names: str, attempt: int | None = None) -> World:
    number = world.state.attempt if attempt is None else attempt
    return world.feed(Detections(attempt=number, found=tuple(found(name) for name in names)))


def hear(world: World, message: Any) -> World:
    return world.feed(CoordinatorMessage(message=message))


def welcome(world: World, **changes: Any) -> World:
    return hear(world, Welcome(task="wf/app", admitted=True, **changes))


@pytest.fixture
def world() -> Callable[..., World]:
    """Make a world whose first attempt runs."""

    def make(*exceptions: ExceptionSpec, **changes: Any) -> World:
        return World(make_setup(*exceptions, **changes)).start()

    return make
