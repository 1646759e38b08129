"""The coordinator of prioritized checkpoints: ``step(state, event, now) -> (state, commands)``.

A prediction makes a node vulnerable. If the lead time suffices for a migration, the node's processes move.
Otherwise all ranks agree on a time step and stop there. Vulnerable nodes write first, one after the other,
sorted by the time left; then all other nodes write; then the manifest makes the checkpoint whole. Source: the
dissertation, section 2.6 and Figure 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from whesl.checkpoints.core.epoch_transition import EpochTransition
from whesl.checkpoints.core.states_and_events import (
    AbortMigration,
    Answered,
    Command,
    CommitFailed,
    Committed,
    Epoch,
    EpochPhase,
    Event,
    Foretold,
    Joined,
    Known,
    Lost,
    Migrated,
    Node,
    NodePhase,
    Predicted,
    Release,
    Requested,
    Sealed,
    Settings,
    State,
    Tick,
    Told,
    Withdrawn,
)
from whesl.model.journal_record import assert_never

_NAMED = 8  # largest number of nodes named in a refusal
REPEATED = 0.05  # share of the time left by which a prediction has to be nearer to count as a new one


def start(settings: Settings, last: int = 0, *, whole: bool = True, known: Known | None = None) -> State:
    """Return the state of a coordinator that knows no node.

    Args:
        settings: how checkpoints are taken.
        last: the largest number of an existing checkpoint, whole or not.
        whole: whether the checkpoint ``last`` is whole; otherwise it is continued if agents are still in it.
        known: the predictions and requests that an earlier coordinator has acknowledged.
    """
    known = known or Known()
    return State(
        settings=settings,
        last=last,
        resumable=0 if whole else last,
        foretold=known.foretold,
        asked=known.asked,
    )


def step(state: State, event: Event, now: float) -> tuple[State, list[Command]]:
    """Return the new state and the commands after one event; see ``steps``.

    Args:
        state: the state before the event.
        event: the event.
        now: seconds of a monotonic clock.
    """
    return steps(state, [event], now)


def steps(state: State, events: Iterable[Event], now: float) -> tuple[State, list[Command]]:
    """Return the new state and the commands after some events.

    The effect of successive answers and finished parts is computed once for all of them, since ten thousand
    nodes answer at the same time.

    Args:
        state: the state before the events.
        events: the events, in order.
        now: seconds of a monotonic clock.
    """
    transition = _Transition(state, now)
    for event in events:
        if not isinstance(event, (Answered, Committed)):
            transition.settle()
        transition.take(event)
    transition.settle()
    return transition.done()


def due(state: State) -> float:
    """Return the time of the next necessary Tick in seconds; ``inf`` for never."""
    nodes = min((min(node.until, node.fails_at) for node in state.nodes.values()), default=math.inf)
    return min(nodes, state.again)


def known(state: State) -> Known:
    """Return what must be stored before an event is acknowledged; ``start`` restores it."""
    foretold = {
        name: Foretold(fails_at=node.fails_at, covered=node.covered, move=node.move)
        for name, node in state.nodes.items()
        if node.fails_at < math.inf
    }
    return Known(foretold={**state.foretold, **foretold}, asked=state.asked)


class _Transition(EpochTransition):
    """One transition: the effect of each event."""

    def __init__(self, state: State, now: float) -> None:
        super().__init__(state, now)
        self.changed = False  # whether answers or finished parts still have to be handled
        self.passed = False  # whether a rank has passed the proposed step

    def take(self, event: Event) -> None:
        match event:
            case Joined():
                self.joined(event)
            case Predicted():
                self.predicted(event)
            case Withdrawn():
                self.withdrawn(event)
            case Requested():
                self.requested(event)
            case Answered():
                self.answered(event)
            case Committed():
                self.committed(event)
            case CommitFailed():
                self.commit_failed(event)
            case Sealed():
                self.sealed(event)
            case Lost():
                self.lost(event)
            case Migrated():
                self.migrated(event)
            case Tick():
                self.tick()
            case _:
                assert_never(event)

    def settle(self) -> None:
        if not self.changed:
            return
        passed, self.changed, self.passed = self.passed, False, False
        if self.epoch is not None and self.epoch.phase is EpochPhase.AGREEING:
            if passed or self.epoch.unanswered <= 0:
                self._agree(passed=passed)
        else:
            self._advance()

    # Events

    def joined(self, event: Joined) -> None:
        known = self.nodes.get(event.node)
        foretold = self.foretold.pop(event.node, None)
        if known is not None:
            foretold = Foretold(fails_at=known.fails_at, covered=known.covered, move=known.move)
        if foretold is None or foretold.fails_at <= self.now:
            foretold = Foretold(fails_at=math.inf)
        vulnerable = foretold.fails_at < math.inf and not foretold.covered
        self.nodes[event.node] = Node(
            ranks=event.ranks,
            of=event.of,
            ended=event.ended,
            phase=NodePhase.VULNERABLE if vulnerable else NodePhase.NORMAL,
            fails_at=foretold.fails_at,
            covered=foretold.covered,
            move=foretold.move,
            together=event.together,
        )
        if event.epoch > self.last or (event.epoch and event.epoch == self.resumable):
            # A restarted coordinator continues the checkpoint that the agents are in.
            self.last, self.resumable, self.again = event.epoch, 0, math.inf
            if self.epoch is not None:
                self._leave("a later checkpoint is known")
            self.epoch = Epoch(number=event.epoch, target=event.target, reason="taken up")
            for name in self._alive():
                self._enter(name)
            if len(self._alive()) < len(self.nodes):
                self._leave("a node that it needs is lost")
        epoch = self.epoch
        current = epoch is not None and event.epoch == epoch.number
        if event.epoch and not current:
            over = Release(nodes=(event.node,), epoch=event.epoch, complete=False, why="it is over")
            self.commands.append(over)
        if epoch is None:
            self._consider()
            if self.asked and self.epoch is None:
                self._begin(self.asked)
        elif epoch.phase is not EpochPhase.SEALING and (ended := self._ended()):
            self._leave(ended)  # the holding ranks would wait for ever for the ended rank
        elif epoch.phase is not EpochPhase.AGREEING and not (current and event.target == epoch.target):
            self._leave(f"{event.node} came back without the step that was agreed on")
        else:
            self._enter(event.node)
            if current and event.committed:
                self._set(event.node, phase=NodePhase.COMMITTED, until=math.inf)
            elif epoch.phase is not EpochPhase.AGREEING:
                self._set(event.node, phase=NodePhase.WAITING)
            if epoch.phase is EpochPhase.AGREEING:
                self.epoch = replace(epoch, target=max(epoch.target, event.target if current else 0))
                self._ask()
                self._agree(passed=False)
            self._advance()

    def predicted(self, event: Predicted) -> None:
        node = self.nodes.get(event.node)
        if node is None or node.phase is NodePhase.LOST:
            there = ", ".join(self._alive()[:_NAMED]) or "none yet"
            self._refuse(f"{event.node} is no node of this job; its nodes: {there}")
            return
        if not 0 < event.lead < math.inf:
            self._refuse(f"{event.node}: a lead time of {event.lead:g} s is none")
            return
        fails_at = self.now + event.lead
        aborted = False
        for name, other in list(self.nodes.items()):
            nearer = fails_at < other.until or (name != event.node and fails_at < other.fails_at)
            if other.phase is NodePhase.MIGRATING and nearer:
                self._abort(name, f"{event.node} fails before")
                aborted = True
        known = node.fails_at - self.now  # rest of an earlier prediction's lead time
        nearer = event.lead < known - max(REPEATED * known, 1.0)
        self._set(event.node, fails_at=fails_at, move=event.move, covered=node.covered and not nearer)
        evidence = event.evidence or "no evidence"
        lead = f"{round(event.lead, 1) or event.lead:g}"
        self.commands.append(Told(text=f"{event.node} is predicted to fail in {lead} s ({evidence})"))
        node = self.nodes[event.node]
        if node.phase is NodePhase.NORMAL and not node.covered:
            self._set(event.node, phase=NodePhase.VULNERABLE)
        self._consider(migrate=not aborted)
        self._advance()

    def withdrawn(self, event: Withdrawn) -> None:
        node = self.nodes.get(event.node, Node(ranks=0))
        foretold = self.foretold.pop(event.node, None)
        if node.fails_at == math.inf and foretold is None:
            self._refuse(f"no failure of {event.node} is predicted")
            return
        if event.node in self.nodes:
            if node.phase is NodePhase.MIGRATING:
                self._abort(event.node, "its failure is not expected any longer")
            idle = self.nodes[event.node].phase is NodePhase.VULNERABLE
            phase = NodePhase.NORMAL if idle else node.phase
            self._set(event.node, phase=phase, fails_at=math.inf, covered=False, move=None)
        self.commands.append(Told(text=f"{event.node} is not expected to fail any longer"))
        self._advance()

    def requested(self, event: Requested) -> None:
        if self.epoch is not None:
            self._refuse(f"checkpoint {self.epoch.number} is being taken")
            return
        self._begin(event.reason)
        if self.epoch is not None:
            self.asked = event.reason

    def answered(self, event: Answered) -> None:
        epoch = self.epoch
        node = self.nodes.get(event.node)
        if epoch is None or node is None or (event.epoch, event.round) != (epoch.number, epoch.round):
            return
        if epoch.phase is not EpochPhase.AGREEING or node.phase is not NodePhase.REQUESTED:
            return
        self.epoch = replace(
            epoch,
            top=max(epoch.top, event.top),
            target=0 if event.passed else epoch.target,
            unanswered=epoch.unanswered - (node.answered != event.round),
        )
        self._set(event.node, answered=event.round)
        self.changed = True
        self.passed |= event.passed

    def committed(self, event: Committed) -> None:
        node = self.nodes.get(event.node)
        if self.epoch is None or event.epoch != self.epoch.number or node is None:
            return
        if node.phase in (NodePhase.WAITING, NodePhase.COMMITTING):
            self._set(event.node, phase=NodePhase.COMMITTED, until=math.inf)
            self.changed = True

    def commit_failed(self, event: CommitFailed) -> None:
        if self.epoch is not None and event.epoch == self.epoch.number:
            self._leave(f"{event.node}: {event.why}")

    def sealed(self, event: Sealed) -> None:
        epoch = self.epoch
        if epoch is None or event.epoch != epoch.number or epoch.phase is not EpochPhase.SEALING:
            return
        if event.why:
            self._leave(event.why)
        else:
            self._leave("", complete=True)

    def lost(self, event: Lost) -> None:
        node = self.nodes.get(event.node, Node(ranks=0))
        if node.phase is NodePhase.LOST:
            return
        self.nodes[event.node] = node
        self.foretold.pop(event.node, None)
        if node.phase is NodePhase.MIGRATING:
            self.commands.append(AbortMigration(node=event.node, why=event.why))
        durable = node.phase is NodePhase.COMMITTED
        self._set(event.node, phase=NodePhase.LOST, fails_at=math.inf, until=math.inf)
        if self.epoch is None:
            return
        if durable:
            self._advance()
        else:
            self._leave(f"{event.node} was lost before its parts were durable: {event.why}")

    def migrated(self, event: Migrated) -> None:
        node = self.nodes.get(event.node)
        if node is None or node.phase is not NodePhase.MIGRATING:
            return
        if not event.why:
            self._set(event.node, phase=NodePhase.NORMAL, fails_at=math.inf, until=math.inf)
            return
        self._set(event.node, phase=NodePhase.VULNERABLE, until=math.inf)
        self.commands.append(Told(text=f"{event.node} was not migrated: {event.why}"))
        self._consider(migrate=False)

    def tick(self) -> None:
        for name, node in list(self.nodes.items()):
            if node.phase is NodePhase.MIGRATING and node.until <= self.now:
                self._abort(name, "it took longer than it was to")
                self._consider(migrate=False)
        for name, node in list(self.nodes.items()):
            if node.fails_at <= self.now:
                # After the predicted time, either the prediction was wrong or the loss will be reported.
                self._set(name, fails_at=math.inf, covered=False)
                if node.phase is NodePhase.VULNERABLE:
                    self._set(name, phase=NodePhase.NORMAL)
        self.foretold = {name: one for name, one in self.foretold.items() if one.fails_at > self.now}
        if self.again <= self.now:
            self.again = math.inf
            self._consider(migrate=False)
        epoch = self.epoch
        late = [name for name, node in self.nodes.items() if node.until <= self.now]
        if not late or epoch is None:
            self._advance()
        elif epoch.phase is not EpochPhase.AGREEING:
            self._leave(f"not written in time: {', '.join(sorted(late))}")
        else:
            silent = [name for name in late if self.nodes[name].answered != epoch.round]
            missing = f"{self._missing()} ranks have not registered"
            self._leave(f"no answer from {', '.join(sorted(silent))}" if silent else missing)
