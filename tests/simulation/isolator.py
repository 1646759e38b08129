"""The isolator's shell on the virtual clock: the real core, its commands carried out late or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tests.journals import of_tasks
from tests.simulation.agents import Agents
from tests.simulation.network import Client
from tests.simulation.programs import KILLED, Run
from tests.simulation.scenario import struck
from tests.simulation.stepping import carry_out
from tests.simulation.world import Host, InvariantError
from whesl.model.evidence import Evidence, LastLines
from whesl.model.states import NodeState, TaskState
from whesl.runtime.isolator.core import state_machine
from whesl.runtime.isolator.core.events_and_commands import (
    AdoptAttempt,
    AskCheckpoint,
    AttemptExited,
    AttemptNotStarted,
    ClaimNodes,
    CollectEvidence,
    Command,
    ConfigurationRead,
    CoordinatorFound,
    CoordinatorLost,
    CoordinatorMessage,
    Detections,
    Event,
    Finish,
    Journal,
    KillAttempt,
    ProbeProgram,
    ProgramSeen,
    ReadConfiguration,
    RunStep,
    Schedule,
    Send,
    Signalled,
    StartAttempt,
    Started,
    Tick,
)
from whesl.runtime.isolator.core.state import Phase, State
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.isolator_records import RESOURCE_MANAGER, AnyRecord, Node
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.wire.messages import (
    AnyMessage,
    Control,
    Escalate,
    RecoveryRequest,
    Report,
    Welcome,
    encode,
)
from whesl.runtime.wire.spool import worth_leaving

if TYPE_CHECKING:
    from tests.simulation.scenario import Crash
    from tests.simulation.site import Site

FLUSH_LIMIT = 5.0
UNCOVERED = "no exception of the specification covers this exit"
VOLATILE = State.__struct_fields__[State.__struct_fields__.index("connected") :]


class Isolator:
    """One start of one task's isolator.

    Args:
        site: the task's.
        number: how many were started for the task, this one included.
    """

    def __init__(self, site: Site, number: int) -> None:
        self.site = site
        self.world = site.world
        self.number = number
        self.files = site.files
        assert site.files.setup is not None
        self.setup: Setup = site.files.setup
        self.dead = False
        self.watching = False  # the present attempt's output is read, and its end waited for
        self.informed = False  # by the coordinator or by its files
        self.finish: Finish | None = None
        self.host: Host = site.cluster.nodes_by_name[self.setup.own_node].host
        self.clock = Clock(self.host.wall, self.host.monotonic)
        records = self.files.read()
        for _, _, time in records:
            self.clock.follow(time)
        self.state: State = state_machine.rebuild(self.setup, of_tasks(records))
        self.client = Client(
            site.network, site.name, site.id, f"{self.setup.claim}-{number}", self._hear, self._contact
        )
        self.agents = Agents(self)
        self.unwritten: list[tuple[AnyRecord, float, float]] = []  # with its own time, and the true one
        self.trouble = ""
        self._alarm: float | None = None
        self._collecting = False
        self._looking = False
        self._deferred: KillAttempt | None = None
        self._chance = self.world.chance(f"isolator {site.name} {number}")

    def start(self) -> None:
        """Tell the core in what state the world was found."""
        state = self.state
        alive: bool | None = None
        if state.attempt and state.claim == self.setup.claim and state.ended is None:
            run = self.site.run_of(state.token)
            if run is not None:
                alive = run.runner
        self.world.note(self.site.name, f"isolator {self.setup.claim}-{self.number} starts; alive: {alive}")
        self.feed(Started(alive=alive))

    def kill(self, why: str) -> None:
        """The process is gone."""
        if not self.dead:
            self.world.note(self.site.name, f"isolator {self.setup.claim}-{self.number} is killed: {why}")
            self.dead = True
            self.site.forgetful |= bool(self.unwritten)
            self.site.unheard += (m for m in self.client.vital.values() if isinstance(m, Escalate))
            self.client.close()
            self.compare()

    def compare(self) -> None:
        """The journal alone has to rebuild what is durable."""
        if self.unwritten:
            return
        again = state_machine.rebuild(self.setup, of_tasks(self.files.read()))
        for name in State.__struct_fields__:
            mine, read = getattr(self.state, name), getattr(again, name)
            # Lists and tuples inside a step are the same to JSON.
            if (
                name not in VOLATILE
                and mine != read
                and msgspec.json.encode(mine) != msgspec.json.encode(read)
            ):
                raise InvariantError(
                    "the journal rebuilds the state", f"{self.site.id}: {name}: {mine} != {read}"
                )

    # What happens ------------------------------------------------------------------------------------------

    def signalled(self, signum: int, *, alone: bool = False) -> None:
        """The keeper tells of a signal, and passes it on."""
        run = self.site.run_of(self.state.token)
        self.feed(Signalled(signum=signum, alone=alone))
        if run is not None:
            run.told_to_end()

    def _hear(self, message: AnyMessage) -> None:
        if self.world.tracing:
            self.world.note(self.site.name, f"hears {_short(message)}")
        if isinstance(message, Control):
            self.site.patient = ""
        if isinstance(message, Welcome):
            self.informed |= message.admitted
            if not message.admitted and not message.again:
                self.site.system.watch.refused(self, message.reason)
        self.feed(CoordinatorMessage(message=message))

    def _contact(self, there: bool) -> None:
        if not there:
            self.feed(CoordinatorLost())
        elif self.state.attempt:
            self.feed(CoordinatorFound())

    def _tick(self, time: float) -> None:
        if self._alarm == time and not self.dead:
            self._alarm = None
            self.feed(Tick())

    def look(self) -> None:
        """Read what the program has written, on a busy machine late."""
        slow = self.world.scenario.slow
        if not slow:
            self._look()
        elif not self._looking:
            self._looking = True
            self.world.after(slow * self._chance.random(), self._looked)

    def _looked(self) -> None:
        self._looking = False
        self._look()

    def _look(self) -> None:
        """Judge the program's end only after its last line."""
        if self.dead or not self.watching or self.finish is not None:
            return
        if back := self.world.until_back("home"):
            self.world.at(back, self._look)
            return
        run = self.site.run_of(self.state.token)
        if run is None:
            return
        found = tuple(run.said[run.read :])
        run.read = len(run.said)
        if run.runner:
            if found:
                self.feed(Detections(attempt=run.attempt, found=found))
            return
        self.watching = False
        code = run.status if run.status is not None else KILLED
        signum = code - 128 if 128 < code <= 192 else 0
        last = LastLines(stderr=("srun: error: Unable to contact slurm controller",) * run.refused)
        exited = AttemptExited(attempt=run.attempt, code=code, signal=signum, last=last, found=found)
        self.feed(exited)
        if found and self.finish is not None and self.finish.reason.startswith(UNCOVERED):
            word = found[0].exception
            raise InvariantError("what was printed is judged", f"{self.site.id}: {word} came to nothing")

    def feed(self, event: Event) -> None:
        """One turn: the core decides, its records are written, its commands carried out; or it is killed."""
        if self.dead or self.finish is not None:
            return
        world, site = self.world, self.site
        if back := world.until_back("home"):
            world.at(back, self.feed, event)  # each call on it waits; agents and programs run on
            return
        site.turns += 1
        if world.tracing:
            world.note(site.name, f"[{site.turns}] {_short(event)} in {self.state.phase.value}")
        state, commands = state_machine.step(self.state, event, self.clock())
        records = [command for command in commands if isinstance(command, Journal)]
        crash = struck(site.crashes, site.turns, {command.record.kind for command in records})
        if crash is not None and crash.place == 0 and records and not self.unwritten:
            self._crash(crash)
            return
        self.state = state
        self._write(records)
        left = crash.place - 1 if crash is not None else -1
        for command in commands:
            if isinstance(command, Journal):
                continue
            if left == 0 and not self.unwritten:
                break
            left -= 1
            self._perform(command)
        if crash is not None and not self.unwritten and not self.dead:
            self._crash(crash)

    def _crash(self, crash: Crash) -> None:
        self.finish = None  # killed while it says goodbye, it has to say it all again
        run = self.site.run_of(self.state.token)
        if run is not None and run.read and self._chance.random() < 0.5:
            run.read -= 1  # how far was read was not yet written down
        self.kill(f"at turn {crash.turn}, place {crash.place}")
        self.site.died(crash.back)

    def _write(self, records: list[Journal]) -> None:
        """As the daemon does: what cannot be written waits, and is written with the next ones."""
        for command in records:
            if self.world.tracing:
                content = msgspec.to_builtins(command.record)
                self.world.note(self.site.name, f"  {command.record.kind} {_brief(content)}")
            self.unwritten.append((command.record, self.clock(), self.world.now))
        if not self.unwritten:
            return
        if self.world.out(f"disk {self.site.name}"):
            self._schedule(self.clock() + 1.0)
            self._tell_trouble("the disk is full")
            return
        for record, time, true in self.unwritten:
            self.files.records.write([record], time)
            if (
                isinstance(record, Node)
                and record.source == RESOURCE_MANAGER
                and record.state is NodeState.DOWN
            ):
                self.site.lost_under.add((self.state.token, record.node))
            kind, data, _ = self.files.records[-1]
            self.site.system.watch.written(self, kind, data, time, true)
        self.unwritten = []
        self._tell_trouble("")

    def _tell_trouble(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self.world.after(0.0, self.feed, records.JournalTroubled(trouble=trouble))

    # What is done ------------------------------------------------------------------------------------------

    def _perform(self, command: Command) -> None:
        if isinstance(command, Send):
            if self.world.tracing and not isinstance(command.message, Report):
                self.world.note(self.site.name, f"  says {_short(command.message)}")
            self.client.send(command.message)
        elif isinstance(command, Schedule):
            self._schedule(command.time)
        elif isinstance(command, StartAttempt):
            self._start_attempt(command)
        elif isinstance(command, AdoptAttempt):
            self._adopt(command)
        elif isinstance(command, ProbeProgram):
            self.world.after(0.3 * self._chance.random(), self._probe, command.attempt)
        elif isinstance(command, KillAttempt):
            run = self.site.run_of(self.state.token)
            # A line that the program has printed may be read after the signal, and its rule ends the attempt.
            recovery = self.state.recovery
            by_rule = recovery is not None and any(seen.kind == "log" for seen in recovery.raised.evidence)
            if run is not None and run.runner and run.token == self.site.patient and not by_rule:
                raise InvariantError("signals are the program's", f"{self.site.id}: killed before it ended")
            if self._collecting:
                self._deferred = command
            else:
                self.agents.fence(command, self.state.token)
        elif isinstance(command, CollectEvidence):
            self._collecting = True
            self.world.after(0.5 * self._chance.random(), self._collected, command.attempt)
        elif isinstance(command, RunStep):
            self._run_step(command)
        elif isinstance(command, ClaimNodes):
            self.world.after(0.3 * self._chance.random(), self._claim, command)
        elif isinstance(command, AskCheckpoint):
            seconds = self._chance.choice((0.5, 4.0, 20.0))
            self.world.after(seconds, self._checkpointed, command, seconds)
        elif isinstance(command, ReadConfiguration):
            self.world.after(0.5 * self._chance.random(), self._read_configuration, command)
        elif isinstance(command, Finish):
            self._end(command)

    def _claim(self, command: ClaimNodes) -> None:
        account = self.site.account
        if account is not None and not self.dead:
            self.world.after(0.2 * self._chance.random(), self.feed, account.claim(command))

    def _checkpointed(self, command: AskCheckpoint, seconds: float) -> None:
        """What comes of a checkpoint: it is whole, or not, or nothing is ever heard of it."""
        run = self.site.run_of(self.state.token)
        lives = run is not None and run.lives and run.attempt == command.attempt
        chance = self._chance.random()
        if chance < 0.9:
            whole = lives and chance < 0.7
            checkpoint, why = ("checkpoint 1", "") if whole else ("", "it was given up")
            done = records.CheckpointEnded(
                ordinal=command.ordinal, checkpoint=checkpoint, seconds=seconds, why=why
            )
            self.feed(done)

    def _read_configuration(self, command: ReadConfiguration) -> None:
        if not self.dead:
            welcome = self.site.system.place.would_answer(command.register, self.host.wall())
            self.informed = True
            self.feed(ConfigurationRead(welcome=welcome))

    def _schedule(self, time: float) -> None:
        if self._alarm is None or time < self._alarm:
            self._alarm = time
            # As a poll does: a little late, never early.
            wait = self.host.lasts(max(time - self.clock(), 0.0)) + 1e-6
            self.world.after(wait, self._tick, time)

    def _start_attempt(self, command: StartAttempt) -> None:
        self.site.system.watch.attempt(self, command)
        if self.site.next_act() == "unstartable":
            self.site.unstartable()
            self.world.after(
                0.0, self.feed, AttemptNotStarted(attempt=command.attempt, reason="no such directory")
            )
            return
        run = self.site.start_run(command.attempt, command.token, command.nodes.active)
        self.watching = True
        self.world.after(0.0, self._started, run)

    def _started(self, run: Run) -> None:
        self.feed(records.Launched(attempt=run.attempt, pid=1, started=1))

    def _probe(self, attempt: int) -> None:
        run = self.site.run_of(self.state.token)
        if self.dead or run is None or run.attempt != attempt or not run.lives:
            return
        if run.refused:
            self.world.after(0.3, self._probe, attempt)
        else:
            self.feed(ProgramSeen(attempt=attempt, node=run.host))

    def _adopt(self, command: AdoptAttempt) -> None:
        run = self.site.run_of(self.state.token)
        if run is None:
            self.world.after(0.0, self.feed, AttemptExited(attempt=command.attempt, code=KILLED, signal=9))
            return
        self.watching = True
        if self.state.phase is Phase.LAUNCHING:
            self.world.after(0.0, self._started, run)
        self.world.after(0.01, self.look)

    def _collected(self, attempt: int) -> None:
        self._collecting = False
        stuck = tuple(
            Evidence(kind="stuck", time=self.world.now, node=node, detail="stopped (state T): app (17)")
            for node in self.setup.nodes
            if self._chance.random() < 0.3
        )
        self.feed(records.EvidenceTaken(attempt=attempt, detail="stacks", stuck=stuck))
        if self._deferred is not None and not self.dead:
            deferred, self._deferred = self._deferred, None
            self.agents.fence(deferred, self.state.token)

    def _run_step(self, command: RunStep) -> None:
        recovery = self.state.recovery
        if recovery is not None and recovery.ordinal == command.ordinal:
            self.world.after(0.01 + self._chance.random(), self._step, self.state, command)

    def _step(self, state: State, command: RunStep) -> None:
        if not self.dead:
            self.site.system.watch.isolator_step(self, state, command)
            failing, account = self.world.scenario.failing_steps, self.site.account

            def run(busy: frozenset[str]) -> records.StepDone:
                return carry_out(state, command.index, self._chance, failing, busy)

            event = account.step(state.nodes.active, run) if account else run(frozenset())
            self.world.after(0.01 + self._chance.random(), self.feed, event)

    def _end(self, command: Finish) -> None:
        self.finish = command
        under = {node for token, node in self.site.lost_under if token == self.state.token}
        lost = sorted(under & set(self.state.nodes.active))
        if lost and command.state is TaskState.COMPLETED:
            raise InvariantError(
                "a lost node is told", f"{self.site.id} completed, and {', '.join(lost)} was lost under it"
            )
        self.files.unwritten = bool(self.unwritten)
        self.world.note(
            self.site.name, f"isolator ends: {command.state.value}, {command.code}, {command.reason}"
        )
        self.compare()
        self._flush(self.world.now + (FLUSH_LIMIT if self.client.connected else 0.0))

    def _flush(self, deadline: float) -> None:
        """Say goodbye: what was not acknowledged is repeated for a short while."""
        if self.dead:
            return
        if len(self.client.outbox) and self.world.now < deadline:
            self.world.after(0.25, self._flush, deadline)
            return
        assert self.finish is not None
        self._leave()
        self.files.result = (self.setup.claim, self.finish.code)
        self.dead = True
        self.client.close()
        self.site.over(self, self.finish.code)

    def _leave(self) -> None:
        """Put what was not acknowledged where the coordinator looks when it is back."""
        waiting = worth_leaving(self.client.outbox.waiting())
        full = self.world.out("disk") or self.world.out(f"disk {self.site.name}")
        if waiting and not full:
            self.world.note(self.site.name, f"leaves {len(waiting)} messages")
            self.site.system.spool.append([encode(envelope) for envelope in waiting])
        questions = (Escalate, RecoveryRequest)
        self.site.unheard += (m for m in self.client.vital.values() if full or isinstance(m, questions))


def _short(message: object) -> str:
    text = repr(message)
    return text if len(text) < 260 else text[:257] + "..."


def _brief(data: object) -> str:
    text = str(data)
    return text if len(text) < 200 else text[:197] + "..."
