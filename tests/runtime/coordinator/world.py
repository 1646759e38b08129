"""The coordinator's core in a world of records: a scheduler, a manager, isolators, a clock, and crashes."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec

from tests.equipment.world import START, KilledError, MemoryJournal, StandInScheduler
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.pattern_and_stream_records import Span
from whesl.language.spec import (
    Entity,
    ExceptionSpec,
    Level,
    Operation,
    Otherwise,
    RecoveryStep,
    ResourceDeclaration,
    ResourceKind,
    Spec,
)
from whesl.managers.resource.port import Scheduler
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError, TransientError
from whesl.model.evidence import Evidence, Raised
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.states import TaskState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.core.events_and_commands import Arrived, Event, Send, Started, Tell, Tick
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import WaitingPeers
from whesl.runtime.coordinator.core.state import Settings, State, TaskEntry
from whesl.runtime.coordinator.core.state_machine import recorded_step
from whesl.runtime.coordinator.effects.manager_calls import Call, answer
from whesl.runtime.wire.messages import AnyMessage, Heartbeat, RecoveryDone, Register, RegisterWorkflow, Reply

SPAN = Span(line=1, column=1, end_line=1, end_column=2)
FULL = "DISK"
ANY = ExitDetection(span=SPAN)


def step(
    entity: Entity, resource: ResourceKind, operation: Operation = Operation.REPLACE, **arguments: Any
) -> RecoveryStep:
    return RecoveryStep(entity=entity, resource=resource, operation=operation, arguments=arguments, span=SPAN)


def exception(
    name: str, *steps: RecoveryStep, level: Level = Level.WORKFLOW_LEVEL, **more: Any
) -> ExceptionSpec:
    more.setdefault("detections", (ANY,))
    return ExceptionSpec(name=name, level=level, jobs=("*",), steps=steps, span=SPAN, **more)


def spec(*exceptions: ExceptionSpec, handlers: tuple[ResourceDeclaration, ...] = ()) -> Spec:
    return Spec(
        file="rules.esl",
        entities=tuple(Entity),
        levels=tuple(Level),
        resources=handlers,
        exceptions=exceptions,
    )


MOVE: dict[str, Any] = {"filesystem": "/new", "defaultpath": "/old"}
RULES = spec(
    exception(
        FULL,
        step(Entity.WMS, ResourceKind.FILESYSTEM, **MOVE),
        step(Entity.JOB, ResourceKind.FILESYSTEM, **MOVE),
        step(Entity.DEPENDENT_JOB, ResourceKind.JOB, environment={"SEEN": "1"}),
    ),
    exception(
        "DEAD", step(Entity.JOB, ResourceKind.NODE), level=Level.JOB_LEVEL, otherwise=Otherwise.ESCALATE
    ),
    exception("AGAIN", step(Entity.SCHEDULER, ResourceKind.JOB, environment={"A": "1"})),
    exception("GLITCH", step(Entity.JOB, ResourceKind.JOB), level=Level.JOB_LEVEL),
    exception(
        "STORM",
        step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="n9"),
        detections=(CountDetection(exception="GLITCH", times=3, span=SPAN),),
    ),
)
DIAMOND = Workflow(
    id="w",
    name="w",
    wms="maestro",
    root="/old/w",
    tasks=(
        Task(id="w/a", step="a", workspace="/old/w/a"),
        Task(id="w/b", step="b", workspace="/old/w/b", parents=("w/a",)),
        Task(id="w/c", step="c", workspace="/old/w/c", parents=("w/a",)),
        Task(id="w/d", step="d", workspace="/old/w/d", parents=("w/b", "w/c")),
        Task(id="w/x", step="x", workspace="/old/w/x"),
    ),
)


@dataclass
class FakeManager:
    """A workflow manager whose step is idempotent; ``transient`` failures come first."""

    calls: int = 0
    transient: int = 0
    refuse: str = ""

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        if self.transient:
            self.transient -= 1
            raise TransientError("busy")
        if self.refuse:
            raise RefusedError(self.refuse)
        self.calls += 1
        path_map = configuration.path_map.with_rule(str(step.arguments["defaultpath"]), "/new")
        return msgspec.structs.replace(configuration, path_map=path_map)


@dataclass
class FakePorts:
    fake: StandInScheduler = field(default_factory=StandInScheduler)
    wms: FakeManager = field(default_factory=FakeManager)

    def scheduler(self, name: str, environment: Mapping[str, str]) -> Scheduler:
        return self.fake

    def manager(self, name: str) -> FakeManager:
        return self.wms


class World:
    """Feeds the core as the daemon does.

    Args:
        settings: of the core.
        crash_at: numbers of journal writes at which the coordinator is killed.
        torn: those of them that do not reach the disk; after the others nothing is performed any more.
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        crash_at: frozenset[int] = frozenset(),
        torn: frozenset[int] = frozenset(),
    ):
        self.settings = settings or Settings()
        self.ports = FakePorts()
        self.now = START
        self.journal = MemoryJournal()
        self.writes = 0
        self.crash_at = crash_at
        self.torn = torn
        self.full = False  # the disk of the journal
        self.unwritten: deque[Event] = deque()  # what workers found out meanwhile
        self.work: deque[Any] = deque()
        self.sent: list[tuple[str, AnyMessage]] = []
        self.waiting_peers = WaitingPeers()
        self.state = State(settings=self.settings)
        self.numbers: dict[str, int] = {}
        self.crashes = 0
        self.told_before: list[tuple[str, AnyMessage]] = []
        self.again: Callable[[], int | None] = lambda: None
        try:
            self.feed(Started())
        except KilledError:
            self.restart()

    # As the daemon does ---------------------------------------------------------------------------------

    def feed(self, event: Event, origin: list[Any] | None = None) -> None:
        state, records, commands = recorded_step(self.state, event, [origin], self.now)
        if records and self.full:
            if not isinstance(event, (Arrived, Tick)):
                self.unwritten.append(event)
            return
        if records:
            self.writes += 1
            number = self.writes
            if number in self.crash_at and number in self.torn:
                raise KilledError
            self.journal.write(records, self.now)
            if number in self.crash_at:
                raise KilledError
        self.state = state
        for command in commands:
            if isinstance(command, Send):
                earlier = self.waiting_peers.before(state, command.peer)
                self.sent += [(send.peer, send.message) for send in (earlier, command) if send is not None]
            elif isinstance(command, Tell):
                self.waiting_peers.add(state, command)
            else:
                self.work.append(command)

    def settle(self) -> None:
        """Do the work that the core asked for, until there is none."""
        while self.unwritten and not self.full:
            self.feed(self.unwritten.popleft())
        while self.work or self.waiting_peers:
            if self.work:
                event = self.perform(self.work.popleft())
                if event is not None:
                    self.feed(event)
            self.sent += [(send.peer, send.message) for send in self.waiting_peers.take(self.state, 1)]

    def perform(self, command: Any) -> Event | None:
        if isinstance(command, get_args(Call)):
            return answer(command, self.state, self.ports, subprocess.DEVNULL)
        return None

    def restart(self) -> None:
        """A new coordinator reads the journal of the killed one."""
        while True:
            self.crashes += 1
            self.work.clear()
            self.waiting_peers = WaitingPeers()
            self.state = self.journal.state_of_coordinator(self.settings)
            try:
                self.feed(Started())
                self.settle()
            except KilledError:
                continue
            return

    def tell(self, peer: str, message: AnyMessage) -> None:
        """A peer's message, sent again until a coordinator has written it down.

        ``again`` may choose an earlier message to be told once more after it, under a new number.
        """
        self._tell(peer, message)
        self.told_before.append((peer, message))
        while (index := self.again()) is not None:
            self._tell(*self.told_before[index % len(self.told_before)])

    def _tell(self, peer: str, message: AnyMessage) -> None:
        number = self.numbers[peer] = self.numbers.get(peer, 0) + 1
        origin = [peer, "i", number, number]
        while True:
            try:
                if not any(data.get("from") == origin for _, data, _ in self.journal):
                    self.feed(Arrived(peer=peer, message=message), origin)
                self.settle()
            except KilledError:
                self.restart()
            else:
                return

    def wait(self, seconds: float, *alive: str) -> None:
        """Let time pass in steps of a second; the peers named keep on sending heartbeats."""
        for _ in range(int(seconds)):
            self.now += 1.0
            for peer in alive:
                entry = next((t for t in self.state.tasks.values() if t.peer == peer), None)
                if entry is not None:
                    beat = Heartbeat(task=entry.id, state=TaskState.RUNNING, attempt=entry.attempt)
                    self.tell(peer, beat)
            try:
                self.feed(Tick())
                self.settle()
            except KilledError:
                self.restart()

    # What tests ask -------------------------------------------------------------------------------------

    def task(self, name: str) -> TaskEntry:
        return self.state.tasks[f"w/{name}"]

    def told(self, peer: str, kind: type) -> list[Any]:
        """The different messages of a kind that a peer was sent, repeats once."""
        found: list[Any] = []
        for to, message in self.sent:
            if to == peer and isinstance(message, kind) and message not in found:
                found.append(message)
        return found

    def kinds(self, word: str) -> list[dict[str, Any]]:
        return [data for kind, data, _ in self.journal if kind == word]

    def reply(self, peer: str) -> Reply:
        found = [message for to, message in self.sent if to == peer and isinstance(message, Reply)]
        return found[-1]

    def workflow(self, rules: Spec = RULES, workflow: Workflow = DIAMOND, **more: Any) -> None:
        message = RegisterWorkflow(workflow=workflow, spec=msgspec.json.encode(rules), rjms="fake", **more)
        self.tell("cli-1", message)

    def register(self, name: str, *, job: str = "", restarts: int = 0, peer: str = "", **more: Any) -> str:
        """An isolator registers; returns the peer's name."""
        job = job or f"job-{name}"
        peer = peer or f"w/{name}#{job}.{restarts}"
        if job not in self.ports.fake.records:
            self.ports.fake.put(job)
        fields: dict[str, Any] = {
            "task": f"w/{name}",
            "workflow": "w",
            "step": name,
            "rjms": "fake",
            "job_id": job,
            "claim": f"{job}.{restarts}",
            "nodes": ("n1", "n2"),
            **more,
        }
        self.tell(peer, Register(**fields))
        return peer


def raised(name: str, task: str, ordinal: int = 1, **more: Any) -> Raised:
    more.setdefault("evidence", (Evidence(kind="log", time=START, line="it broke", node="n1"),))
    return Raised(exception=name, task=f"w/{task}", attempt=1, ordinal=ordinal, time=START, **more)


def done(task: str, ordinal: int = 1, outcome: str = "relaunched", **more: Any) -> RecoveryDone:
    return RecoveryDone(
        task=f"w/{task}", ordinal=ordinal, exception=FULL, outcome=RecoveryOutcome(outcome), **more
    )
