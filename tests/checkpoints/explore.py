"""Every order of events of a small job: the coordinator's core beside agents that are modelled here.

An agent answers, writes, fails to write, dies, or restarts, at any moment; messages of one agent keep their
order, those of different agents do not. The coordinator may be killed and started anew, and then learns from
the agents what was under way. What is counted is (budgets): each kind of trouble happens at most so often.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whesl.checkpoints.core import protocol
from whesl.checkpoints.core.states_and_events import (
    Answered,
    Ask,
    CommitFailed,
    Committed,
    EpochPhase,
    Event,
    Grant,
    Joined,
    Lost,
    Migrate,
    Migrated,
    Node,
    NodePhase,
    Predicted,
    Release,
    Requested,
    Seal,
    Sealed,
    Settings,
    State,
    Tick,
    Withdrawn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whesl.checkpoints.core.states_and_events import Command

    Step = Callable[[State, Event, float], tuple[State, list[Command]]]

LATE = 1e6  # after every time-out, before every predicted failure
FAR = 1e7
FAR_AND_LATER = (FAR - 20, FAR - 10)  # lead times: what is predicted second is further away
FAR_THEN_NEARER = (FAR, FAR / 2)


@dataclass(frozen=True)
class Agent:
    """One node: what its ranks do, and what is on its way to and from it."""

    alive: bool = True
    epoch: int = 0
    target: int = 0
    granted: bool = False
    committed: bool = False
    mute: bool = False  # a rank polls on and never commits
    ranks: int = 2
    ended: int = 0
    inbox: tuple[Command, ...] = ()
    outbox: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Budget:
    """How often each kind of trouble may still happen."""

    leads: tuple[float, ...] = FAR_AND_LATER  # of the predictions, in their order
    withdrawals: int = 0
    requests: int = 0
    losses: int = 1
    passes: int = 1
    failures: int = 1
    timeouts: int = 1
    restarts: int = 0
    ends: int = 0
    mutes: int = 0


@dataclass(frozen=True)
class World:
    state: State
    agents: tuple[Agent, ...]
    budget: Budget
    sealing: int = 0
    migrating: tuple[str, ...] = ()
    durable: tuple[tuple[int, int, str], ...] = ()  # epoch, target, node
    complete: tuple[int, ...] = ()
    foretold: tuple[tuple[str, float, int], ...] = ()  # node, when it fails, first checkpoint that covers it
    asked: int = 0  # the first checkpoint that an acknowledged request leads to, until one has ended

    def key(self) -> object:
        state = self.state
        epoch = state.epoch
        nodes = tuple(
            (
                name,
                node.phase,
                node.fails_at,
                node.covered,
                node.answered,
                node.until < math.inf,
                node.ranks,
                node.ended,
            )
            for name, node in sorted(state.nodes.items())
        )
        numbers = (state.last, state.resumable, self.complete, state.asked, state.again)
        known = (tuple(sorted(state.foretold.items())), self.foretold, self.asked)
        world = (self.agents, self.budget, self.sealing, self.migrating, self.durable)
        return nodes, epoch, numbers, known, world


class ViolationError(AssertionError):
    """An invariant does not hold."""


def name_of(index: int) -> str:
    return f"n{index}"


def fresh(count: int, settings: Settings) -> State:
    state = protocol.start(settings)
    for index in range(count):
        state, commands = protocol.step(state, Joined(node=name_of(index), ranks=2, of=2 * count), 0.0)
        assert not commands
    return state


def apply(world: World, event: Event, now: float = 0.0, step: Step = protocol.step) -> World:
    """Give an event to the coordinator and send what it commands; check what must hold in every state."""
    before = world.state
    state, commands = step(before, event, now)
    agents = list(world.agents)
    sealing, migrating, durable, complete = world.sealing, world.migrating, world.durable, world.complete
    asked = world.asked
    for command in commands:
        match command:
            case Ask(nodes=nodes) | Grant(nodes=nodes) | Release(nodes=nodes):
                for name in nodes:
                    index = int(name[1:])
                    if agents[index].alive:
                        agents[index] = replace(agents[index], inbox=(*agents[index].inbox, command))
                if isinstance(command, Grant):
                    _granted(state, command)
                if isinstance(command, Release) and command.epoch >= asked:
                    asked = 0
                if isinstance(command, Release) and command.complete:
                    complete = (*complete, command.epoch)
            case Seal():
                _sealed(world, command)
                sealing = command.epoch
            case Migrate(node=node):
                migrating = (*migrating, node)
            case _:
                pass
    if state.epoch is None and any(
        node.phase in (NodePhase.REQUESTED, NodePhase.WAITING, NodePhase.COMMITTING, NodePhase.COMMITTED)
        for node in state.nodes.values()
    ):
        raise ViolationError("a node waits for a checkpoint that is over")
    for name, fails_at, _ in world.foretold:
        known = state.nodes.get(name) or state.foretold.get(name)
        lost = name in state.nodes and state.nodes[name].phase is NodePhase.LOST
        if not lost and (known is None or known.fails_at != fails_at):
            raise ViolationError(f"{name} was predicted to fail at {fails_at}, and that is not known")
    return replace(
        world,
        state=state,
        agents=tuple(agents),
        sealing=sealing,
        migrating=migrating,
        durable=durable,
        complete=complete,
        asked=asked,
    )


def _granted(state: State, grant: Grant) -> None:
    waiting = [
        n for n, node in state.nodes.items() if node.phase is NodePhase.WAITING and node.fails_at < math.inf
    ]
    writing = [n for n, node in state.nodes.items() if node.phase is NodePhase.COMMITTING]
    if state.epoch is not None and state.epoch.phase is EpochPhase.FIRST and len(writing) > 1:
        raise ViolationError(f"{writing} write at once in the first phase")
    for name in grant.nodes:
        if waiting and state.nodes[name].fails_at == math.inf:
            raise ViolationError(f"{name} is healthy and writes while {waiting} wait")
        first = min((state.nodes[n].fails_at for n in waiting), default=math.inf)
        if state.nodes[name].fails_at > first:
            raise ViolationError(f"{name} writes before {waiting}, which have less time left")


def _sealed(world: World, seal: Seal) -> None:
    if len(seal.nodes) != len(world.agents):
        raise ViolationError(f"checkpoint {seal.epoch} is sealed with the parts of {seal.nodes} alone")
    targets = {target for epoch, target, _ in world.durable if epoch == seal.epoch}
    for index in range(len(world.agents)):
        parts = {
            target for epoch, target, node in world.durable if (epoch, node) == (seal.epoch, name_of(index))
        }
        if len(parts) != 1 or parts != targets:
            raise ViolationError(
                f"checkpoint {seal.epoch} is sealed without all of {name_of(index)}'s parts: {targets}"
            )


def moves(world: World, step: Step = protocol.step) -> Iterator[tuple[str, World]]:
    """Yield all that may happen next."""
    budget = world.budget
    for index, agent in enumerate(world.agents):
        name = name_of(index)
        if agent.outbox:
            told = agent.outbox[0]
            left = _with(world, index, replace(agent, outbox=agent.outbox[1:]))
            known = _forget(left, name) if isinstance(told, Lost) else left
            yield f"{name} tells {told}", apply(known, told, step=step)
        if not agent.alive:
            continue
        if agent.inbox:
            yield from _received(world, index, agent)
        if agent.granted and not (agent.committed or agent.ended or agent.mute):
            part = (agent.epoch, agent.target, name)
            done = replace(
                agent, committed=True, outbox=(*agent.outbox, Committed(node=name, epoch=agent.epoch))
            )
            yield f"{name} commits", replace(_with(world, index, done), durable=(*world.durable, part))
            if budget.failures:
                failed = CommitFailed(node=name, epoch=agent.epoch, why="disk full")
                broken = replace(agent, granted=False, outbox=(*agent.outbox, failed))
                spent = replace(world, budget=replace(budget, failures=budget.failures - 1))
                yield f"{name} cannot write", _with(spent, index, broken)
            if budget.mutes:
                spent = replace(world, budget=replace(budget, mutes=budget.mutes - 1))
                yield f"{name} never commits", _with(spent, index, replace(agent, mute=True))
        if budget.ends and agent.ranks and not agent.committed:
            # It has come to its end before it came to the target.
            less = replace(agent, ranks=agent.ranks - 1, ended=agent.ended + 1)
            less = replace(less, outbox=(*agent.outbox, _hello(name, less, len(world.agents))))
            spent = replace(world, budget=replace(budget, ends=budget.ends - 1))
            yield f"a rank of {name} ends", _with(spent, index, less)
        if budget.losses:
            dead = replace(agent, alive=False, inbox=(), outbox=(Lost(node=name),))
            spent = replace(world, budget=replace(budget, losses=budget.losses - 1))
            yield f"{name} dies", _with(spent, index, dead)
        if budget.leads:
            lead = budget.leads[0]
            if name in world.state.nodes:  # else it would be refused
                spent = replace(_foretell(world, name, lead), budget=replace(budget, leads=budget.leads[1:]))
                yield f"{name} predicted", apply(spent, Predicted(node=name, lead=lead), step=step)
        if budget.withdrawals and any(node == name for node, _, _ in world.foretold):
            spent = replace(_forget(world, name), budget=replace(budget, withdrawals=budget.withdrawals - 1))
            yield f"{name} is well", apply(spent, Withdrawn(node=name), step=step)
    if world.sealing:
        yield "sealed", apply(replace(world, sealing=0), Sealed(epoch=world.sealing), step=step)
    for node in world.migrating:
        rest = tuple(other for other in world.migrating if other != node)
        moves_now = world.state.nodes.get(node, Node(ranks=0)).phase is NodePhase.MIGRATING
        moved = replace(_forget(world, node) if moves_now else world, migrating=rest)
        yield f"{node} moved", apply(moved, Migrated(node=node), step=step)
    if budget.requests:
        spent = replace(world, budget=replace(budget, requests=budget.requests - 1))
        asked = apply(spent, Requested(), step=step)
        begun = asked.state.epoch is not None and world.state.epoch is None
        yield "requested", replace(asked, asked=asked.state.last) if begun else asked
    if budget.timeouts and protocol.due(world.state) <= LATE:
        spent = replace(world, budget=replace(budget, timeouts=budget.timeouts - 1))
        yield "time-out", apply(spent, Tick(), LATE, step=step)
    if world.state.again < LATE:
        yield "it is tried again", apply(world, Tick(), world.state.again, step=step)
    if budget.restarts:
        yield "coordinator restarts", _restarted(world)


def _received(world: World, index: int, agent: Agent) -> Iterator[tuple[str, World]]:
    name, message = name_of(index), agent.inbox[0]
    agent = replace(agent, inbox=agent.inbox[1:])
    if isinstance(message, Ask):
        held = replace(agent, epoch=message.epoch, target=message.target, granted=False, committed=False)
        answer = Answered(node=name, epoch=message.epoch, round=message.round, top=5)
        yield f"{name} answers", _with(world, index, replace(held, outbox=(*agent.outbox, answer)))
        if world.budget.passes and message.target and agent.target != message.target:
            late = Answered(
                node=name, epoch=message.epoch, round=message.round, top=message.target + 1, passed=True
            )
            spent = replace(world, budget=replace(world.budget, passes=world.budget.passes - 1))
            gone = replace(held, target=-message.target, outbox=(*agent.outbox, late))
            yield f"{name} has passed", _with(spent, index, gone)
    elif isinstance(message, Grant):
        if agent.epoch == message.epoch and agent.target == -message.target:
            raise ViolationError(f"{name} may write at step {message.target}, which its ranks have passed")
        granted = agent.epoch == message.epoch and agent.target == message.target
        yield f"{name} may write", _with(world, index, replace(agent, granted=granted or agent.granted))
    elif isinstance(message, Release):
        free = replace(agent, epoch=0, target=0, granted=False, committed=False, mute=False)
        yield f"{name} goes on", _with(world, index, free if agent.epoch == message.epoch else agent)


def _restarted(world: World) -> World:
    """Kill the coordinator; what was on its way is lost, and the agents register with the new one."""
    agents = []
    for index, agent in enumerate(world.agents):
        name = name_of(index)
        if not agent.alive:
            agents.append(replace(agent, outbox=(Lost(node=name),)))
            continue
        agents.append(replace(agent, inbox=(), outbox=(_hello(name, agent, len(world.agents)),)))
    last = world.state.last  # a checkpoint has a directory as soon as it is asked for
    whole = last == 0 or last in world.complete
    return replace(
        world,
        state=protocol.start(world.state.settings, last, whole=whole, known=protocol.known(world.state)),
        agents=tuple(agents),
        budget=replace(world.budget, restarts=world.budget.restarts - 1),
        sealing=0,
        migrating=(),
    )


def _hello(name: str, agent: Agent, nodes: int) -> Joined:
    """Return what an agent registers with."""
    return Joined(
        node=name,
        ranks=agent.ranks,
        of=2 * nodes if agent.ranks else 0,
        ended=agent.ended,
        epoch=agent.epoch,
        target=agent.target,
        committed=agent.committed,
    )


def _foretell(world: World, name: str, fails_at: float) -> World:
    """Note a prediction, and the number of the first checkpoint that has to cover it."""
    state = world.state
    before = next((entry for entry in world.foretold if entry[0] == name), None)
    under_way = state.epoch.number if state.epoch is not None else state.last + 1
    number = before[2] if before is not None and fails_at >= before[1] else under_way
    rest = tuple(entry for entry in world.foretold if entry[0] != name)
    return replace(world, foretold=(*rest, (name, fails_at, number)))


def _forget(world: World, name: str) -> World:
    return replace(world, foretold=tuple(entry for entry in world.foretold if entry[0] != name))


def _with(world: World, index: int, agent: Agent) -> World:
    agents = list(world.agents)
    agents[index] = agent
    return replace(world, agents=tuple(agents))


def explore(
    count: int,
    budget: Budget,
    settings: Settings,
    step: Step = protocol.step,
    most: int = 10**7,
) -> int:
    """Visit every state that can be reached; return how many there are.

    Raises:
        ViolationError: with the way to it.
    """
    first = World(fresh(count, settings), tuple(Agent() for _ in range(count)), budget)
    came: dict[object, tuple[object, str] | None] = {first.key(): None}
    waiting = deque([first])
    while waiting:
        world = waiting.popleft()
        key = world.key()
        some = False
        try:
            for what, following in moves(world, step):
                some = some or what != "time-out"
                reached = following.key()
                if reached not in came:
                    came[reached] = (key, what)
                    waiting.append(following)
                    if len(came) > most:
                        raise RuntimeError(f"more than {most} states")
            if not some and world.state.epoch is not None and any(agent.ended for agent in world.agents):
                raise ViolationError(f"checkpoint {world.state.epoch.number} waits for a rank that has ended")
            if not some and protocol.due(world.state) <= LATE:
                following = apply(world, Tick(), LATE, step=step)
                if following.key() not in came:
                    came[following.key()] = (key, "time-out at last")
                    waiting.append(following)
            elif not some:
                _at_rest(world)
        except ViolationError as error:
            raise ViolationError(f"{error}\n" + "\n".join(_way(came, key))) from None
    return len(came)


def _at_rest(world: World) -> None:
    """Nothing more happens by itself: nobody may be left waiting, unless for a node that never registered."""
    for index, agent in enumerate(world.agents):
        if agent.alive and agent.epoch:
            raise ViolationError(f"{name_of(index)} waits for ever in checkpoint {agent.epoch}")
    if world.state.epoch is not None:
        raise ViolationError(f"checkpoint {world.state.epoch.number} never ends")
    if all(agent.alive and not agent.ended for agent in world.agents):
        if world.asked:
            raise ViolationError("a checkpoint was asked for, and none has ended")
        for name, fails_at, number in world.foretold:
            if max(world.complete, default=0) < number:
                raise ViolationError(f"{name} fails at {fails_at}, and no checkpoint {number} covers it")


def _way(came: dict[object, tuple[object, str] | None], key: object) -> list[str]:
    steps = []
    entry = came[key]
    while entry is not None:
        key, what = entry
        steps.append(what)
        entry = came[key]
    return steps[::-1]
