"""The coordinator's shell on the virtual clock: the real core and the real calls of its workers."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from tests.equipment.world import MemoryJournal
from tests.journals import rebuild
from tests.simulation.network import Delivery, Server
from tests.simulation.rulebook import OLD
from tests.simulation.scenario import struck
from tests.simulation.snapshots import Shelf, replayed
from tests.simulation.timing import Hearing
from tests.simulation.world import InvariantError
from whesl.language.spec import RecoveryStep
from whesl.managers.resource.port import Scheduler
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError, TransientError
from whesl.model.evidence import Raised
from whesl.model.workflow import Workflow
from whesl.runtime.coordinator.client import offline_welcome
from whesl.runtime.coordinator.core.events_and_commands import (
    Arrived,
    Command,
    Event,
    RunStep,
    Send,
    Started,
    Tell,
    Tick,
)
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import WaitingPeers
from whesl.runtime.coordinator.core.state import Settings, State
from whesl.runtime.coordinator.core.state_machine import events_of, recorded_step
from whesl.runtime.coordinator.effects.manager_calls import Call, answer
from whesl.runtime.journal.records.coordinator_records import AnyRecord
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.wire.messages import Escalate, Register, Welcome, decode

if TYPE_CHECKING:
    from tests.simulation.system import System

TICK = 2.5
# Seconds within which each of a few tasks has had its turn to be told its configuration.
TELLING = 15.0


class Manager:
    """The steps of a workflow manager: busy at times, and not always willing."""

    def __init__(self, system: System) -> None:
        self._busy = system.world.scenario.busy_manager
        self._chance = system.world.chance("steps of the manager")

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """See the coordinator's ports."""
        if self._chance.random() < self._busy:
            raise TransientError("busy")
        if self._chance.random() < self._busy / 10:
            raise RefusedError("the study's files are not what they were")
        root = str(step.arguments["filesystem"])
        if configuration.path_map.path(OLD) == root:
            return configuration
        return msgspec.structs.replace(configuration, path_map=configuration.path_map.with_rule(OLD, root))


class Ports:
    """The world as the coordinator sees it."""

    def __init__(self, system: System) -> None:
        self._cluster = system.cluster
        self._manager = Manager(system)

    def scheduler(self, name: str, environment: Mapping[str, str]) -> Scheduler:
        """See the coordinator's ports."""
        return self._cluster

    def manager(self, name: str) -> Manager:
        """See the coordinator's ports."""
        return self._manager


class Place:
    """What outlives the coordinator: its journal. It starts one after the other."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.world = system.world
        self.records = MemoryJournal()
        self.turns = 0
        self.starts = 0
        self.crashes = [crash for crash in system.world.scenario.crashes if crash.who == "coordinator"]
        self.settings = Settings(heartbeat=system.world.scenario.heartbeat)
        self.present: Coordinator | None = None
        self.ports = Ports(system)
        self.shelf = Shelf(system.world)
        self.steps_run: dict[tuple[str, float, int], int] = {}
        self.hearing = Hearing(self.settings)

    def read(self) -> list[tuple[str, dict[str, Any], float]]:
        """Return the journal as it is read from disk."""
        return [*self.records]

    def would_answer(self, register: Register, now: float) -> Welcome:
        """Return what its files say to a task whose registration nobody answers; ``now`` by its host."""
        left = [
            (f"{envelope.sender}#{envelope.incarnation}", envelope.message)
            for frames in self.system.spool
            for frame in frames
            if (envelope := decode(frame)) is not None
        ]
        return offline_welcome.answer(rebuild(self.read(), self.settings), left, register, now)

    def start(self) -> None:
        """Start a coordinator on it."""
        if self.present is None:
            self.starts += 1
            self.present = Coordinator(self, self.starts)
            self.present.start()

    def died(self, back: float) -> None:
        """It was killed; somebody starts it again."""
        self.present = None
        self.system.network.server = None
        self.world.after(back, self.start)


class Coordinator:
    """One start of the coordinator.

    Args:
        place: its journal and what it can reach.
        number: how many were started, this one included.
    """

    def __init__(self, place: Place, number: int) -> None:
        self.place = place
        self.system = place.system
        self.world = place.world
        host = place.world.host(0)
        self.clock = Clock(host.wall, host.monotonic)
        self.dead = False
        self.server = Server(place.system.network, f"c{number}", self._hear)
        records = place.read()
        count, kept = place.shelf.begin(place.settings)
        self.server.inbox.restore(kept.inbox)
        for _, data, _ in records[count:]:
            if data.get("from"):
                self.server.recall(data["from"])
        self.state: State = replayed(kept, count, records, place.settings)
        self._waiting: deque[Event] = deque([Started()])
        self._heard: list[Delivery] = []
        self._waiting_peers = WaitingPeers()
        self._told: dict[str, int] = {}  # the newest configuration that was sent to a peer
        self._lacking: dict[tuple[str, str, int], float] = {}  # since when a peer has not been sent its own
        self._chance = self.world.chance(f"coordinator {number}")

    def start(self) -> None:
        """Take up what is there, and beat."""
        self.place.hearing.started(self.world.now)
        scenario = self.world.scenario
        if scenario.restless:
            self.world.after(scenario.restless * scenario.heartbeat, self._upset)
        self.world.note("coordinator", f"starts, {len(self.state.tasks)} tasks known")
        self._line()
        self._collect()
        self.world.after(TICK, self._beat)
        self.system.network.coordinator_is_back()

    def compare(self) -> None:
        """The journal alone has to rebuild what is durable."""
        again = rebuild(self.place.read(), self.place.settings)
        if again != self.state.durable():
            for name in State.__struct_fields__:
                mine, read = getattr(self.state.durable(), name), getattr(again, name)
                if mine != read:
                    raise InvariantError(
                        "the journal rebuilds the state", f"coordinator: {name}: {mine} != {read}"
                    )

    def _beat(self) -> None:
        if not self.dead:
            self._line()
            self._collect()
            self._take([(Tick(), ())])
            self._hold_to_fan_out()
            self.place.shelf.look(self)
            self.world.after(TICK, self._beat)

    def _hear(self, delivery: Delivery) -> None:
        # What comes within a hundredth of a second is one turn, as under load.
        if not self._heard:
            self.world.after(0.01, self._hear_all)
        self._heard.append(delivery)

    def _hear_all(self) -> None:
        heard, self._heard = self._heard, []
        if any(isinstance(delivery.message, Register) for delivery in heard):
            self._collect()
        taken: set[tuple[str, int]] = set()
        new: list[Delivery] = []
        for delivery in heard:
            number = delivery.envelope.number
            if self.server.inbox.seen(delivery.envelope) or (number and (delivery.peer, number) in taken):
                continue
            taken.add((delivery.peer, number))
            new.append(delivery)
        events = list(events_of(new))
        if events and not self.dead:
            self._take(events)

    def _collect(self) -> None:
        """Take in what isolators have left that ended while they could not be heard."""
        for frames in list(self.system.spool):
            left = [envelope for frame in frames if (envelope := decode(frame)) is not None]
            peer = f"{left[0].sender}#{left[0].incarnation}"
            new = [
                Delivery(peer, envelope.message, envelope)
                for envelope in left
                if not self.server.inbox.seen(envelope)
            ]
            events = list(events_of(new))
            if self.dead or (events and not self._take(events)) or self.dead:
                return
            self.server.forget(peer)
            self.system.spool.remove(frames)

    def found_out(self, event: Event) -> None:
        """A worker is done."""
        if not self.dead:
            self._waiting.append(event)
            self._line()

    def _line(self) -> None:
        waiting = list(self._waiting)
        if waiting and self._take([(event, ()) for event in waiting]) and not self.dead:
            for _ in waiting:
                self._waiting.popleft()

    def _take(self, events: Sequence[tuple[Event, tuple[Delivery, ...]]]) -> bool:
        """One turn as the daemon does it; or it is killed in it."""
        world, place = self.world, self.place
        place.turns += 1
        now = self.clock()
        state = self.state
        records: list[AnyRecord] = []
        commands: list[Command] = []
        for event, deliveries in events:
            if world.tracing and not isinstance(event, Tick):
                text = repr(event)
                if "Report(" not in text and "Heartbeat" not in text:
                    world.note("coordinator", f"[{place.turns}] {text[:260]}")
            if isinstance(event, Arrived) and isinstance(event.message, Escalate):
                told = [(record.kind, msgspec.to_builtins(record)) for record in records]
                self.system.watch.coordinator.escalation(state, told, event.message.raised, event.peer)
            state, own, more = recorded_step(state, event, [each.origin for each in deliveries], now)
            records += own
            commands += more
        crash = struck(place.crashes, place.turns, {record.kind for record in records})
        if crash is not None and crash.place == 0:
            self._crash(crash.back)
            return False
        if records and world.out("disk"):
            return False
        for _, deliveries in events:
            for peer in {delivery.peer for delivery in deliveries}:
                for entry in state.tasks.values():
                    if entry.peer == peer:
                        place.hearing.heard(entry.id, world.now)
        for record in records:
            kind, data = record.kind, msgspec.to_builtins(record)
            # Else its isolator has said its end, or its job was seen to run again.
            if kind == "unobserved" and not any(told in data["reason"] for told in ("asking", "requeued")):
                place.hearing.unobserved(data["task"], world.now)
            if world.tracing and kind != "report":
                world.note("coordinator", f"  {kind} {str(data)[:200]}")
            self.system.watch.coordinator.record(kind, data, now)
        place.records.write(records, now)
        self.state = state
        if crash is not None and crash.place == 1:
            self._crash(crash.back)
            return True
        for _, deliveries in events:
            for delivery in deliveries:
                self.server.settle(delivery)
        left = crash.place - 2 if crash is not None else -1
        for command in commands:
            if left == 0:
                break
            left -= 1
            self._perform(command)
        if crash is not None:
            self._crash(crash.back)
        return True

    def _upset(self) -> None:
        if not self.dead:
            self._crash(1.0)

    def _crash(self, back: float) -> None:
        self.world.note("coordinator", "is killed")
        self.dead = True
        self.compare()
        self.place.died(back)

    # What is done ------------------------------------------------------------------------------------------

    def _perform(self, command: Command) -> None:
        if isinstance(command, Send):
            earlier = self._waiting_peers.before(self.state, command.peer)
            if earlier is not None:
                self._say(earlier)
            self._say(command)
            return
        if isinstance(command, Tell):
            if not self._waiting_peers:
                self.world.after(0.0, self._tell_some)
            self._waiting_peers.add(self.state, command)
            return
        if isinstance(command, get_args(Call)):
            self.world.after(0.5 * self._chance.random(), self._work, self.state, command)

    def _say(self, send: Send) -> None:
        if self.world.tracing:
            self.world.note("coordinator", f"  to {send.peer}: {repr(send.message)[:200]}")
        new = getattr(send.message, "configuration", None)
        if new is not None:
            self._told[send.peer] = max(self._told.get(send.peer, 0), new.version)
        self.server.send(send.peer, send.message)

    def _hold_to_fan_out(self) -> None:
        """Every running task is told its newest configuration, however many others are."""
        lacking = {}
        for task in self.state.live:
            entry = self.state.tasks[task]
            version = entry.configuration.version
            if entry.peer and self._told.get(entry.peer, 0) < version:
                one = (task, entry.peer, version)
                since = lacking[one] = self._lacking.get(one, self.world.now)
                if self.world.now - since > TELLING:
                    raise InvariantError(
                        "every running task is told", f"{task}: {entry.peer} never hears of version {version}"
                    )
        self._lacking = lacking

    def _tell_some(self) -> None:
        """Tell the next of those whose configuration has changed, one after the other; or be killed there."""
        if self.dead:
            return
        self.place.turns += 1
        crash = struck(self.place.crashes, self.place.turns, {"told"})
        if crash is None or crash.place > 1:
            for send in self._waiting_peers.take(self.state, 1):
                self._say(send)
        if crash is not None:
            self._crash(crash.back)
        elif self._waiting_peers:
            # The pace is slow, that much may happen meanwhile: messages, an end, another run, a kill.
            self.world.after(2.0 * self._chance.random() ** 4, self._tell_some)

    def _work(self, state: State, command: Call) -> None:
        if self.dead and self._chance.random() < 0.5:
            return  # killed before it came to that; else the call was under way already
        if isinstance(command, RunStep):
            self.system.watch.coordinator_step(self, command)
        event = answer(command, state, self.place.ports, subprocess.DEVNULL)
        self.world.after(0.5 * self._chance.random(), self.found_out, event)
