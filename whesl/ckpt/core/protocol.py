"""The coordinator of prioritized checkpoints: ``step(state, event, now) -> (state, commands)``.

A prediction makes a node vulnerable. If its lead time covers a migration, its processes move. Otherwise all
ranks agree on a time step and stop there; vulnerable nodes write first, one after the other, the least time
left first; then all others; then the manifest makes the checkpoint whole. Source: the dissertation, section
2.6 and Figure 2.9.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from whesl.ckpt.core.states_and_events import (
    AbortMigration,
    Answered,
    Ask,
    Command,
    CommitFailed,
    Committed,
    Epoch,
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
    Told,
)
from whesl.model.journal_record import assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable


_NAMED = 8  # nodes that a refusal names


def start(settings: Settings, last: int = 0, *, whole: bool = True) -> State:
    """Return the state of a coordinator that knows no node.

    Args:
        settings: how checkpoints are taken.
        last: the largest number of a checkpoint of which there is anything, whole or not.
        whole: whether that one is; else it is taken up where agents are in the middle of it.
    """
    return State(settings=settings, last=last, resumable=0 if whole else last)


def step(state: State, event: Event, now: float) -> tuple[State, list[Command]]:
    """Return the state after an event, and what is to be done. Arguments as of ``steps``."""
    return steps(state, [event], now)


def steps(state: State, events: Iterable[Event], now: float) -> tuple[State, list[Command]]:
    """Return the state after some events, and what is to be done.

    What answers and finished parts lead to is found once for all of them that stand together: ten thousand
    nodes answer at once.

    Args:
        state: before them.
        events: what has happened, in order.
        now: in seconds, of a clock that never goes back.
    """
    transition = _Transition(state, now)
    for event in events:
        if not isinstance(event, (Answered, Committed)):
            transition.settle()
        transition.take(event)
    transition.settle()
    return transition.done()


def due(state: State) -> float:
    """Return when a Tick is needed next, in seconds; ``inf`` for never."""
    return min((min(node.until, node.fails_at) for node in state.nodes.values()), default=math.inf)


class _Transition:
    """One step: a copy of the state that is changed, and the commands that follow."""

    def __init__(self, state: State, now: float) -> None:
        self.settings = state.settings
        self.nodes = dict(state.nodes)
        self.epoch = state.epoch
        self.last = state.last
        self.resumable = state.resumable
        self.now = now
        self.commands: list[Command] = []
        self.changed = False  # an answer or a finished part has not been looked at yet
        self.passed = False  # a rank has passed the step that was proposed

    def take(self, event: Event) -> None:
        match event:
            case Joined():
                self.joined(event)
            case Predicted():
                self.predicted(event)
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

    def done(self) -> tuple[State, list[Command]]:
        state = State(
            settings=self.settings,
            nodes=self.nodes,
            epoch=self.epoch,
            last=self.last,
            resumable=self.resumable,
        )
        return state, self.commands

    # Events

    def joined(self, event: Joined) -> None:
        known = self.nodes.get(event.node)
        fails_at = min(event.fails_at, known.fails_at if known else math.inf)
        if fails_at <= self.now:
            fails_at = math.inf
        vulnerable = fails_at < math.inf and not (known and known.covered)
        phase = NodePhase.VULNERABLE if vulnerable else NodePhase.NORMAL
        covered = fails_at < math.inf and not vulnerable
        self.nodes[event.node] = Node(
            ranks=event.ranks,
            of=event.of,
            ended=event.ended,
            phase=phase,
            fails_at=fails_at,
            covered=covered,
        )
        if event.epoch > self.last or (event.epoch and event.epoch == self.resumable):
            # This coordinator is new, and the agents hold a checkpoint: it is taken up where it was.
            self.last, self.resumable = event.epoch, 0
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
        elif epoch.phase is not EpochPhase.SEALING and (ended := self._ended()):
            self._leave(ended)  # those that hold would wait for a rank that never comes
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
        self._set(event.node, fails_at=min(fails_at, node.fails_at), move=event.move)
        evidence = event.evidence or "no evidence"
        lead = f"{round(event.lead, 1) or event.lead:g}"
        self.commands.append(Told(text=f"{event.node} is predicted to fail in {lead} s ({evidence})"))
        if self.nodes[event.node].phase is NodePhase.NORMAL and not node.covered:
            self._set(event.node, phase=NodePhase.VULNERABLE)
        self._consider(migrate=not aborted)
        self._advance()

    def requested(self, event: Requested) -> None:
        if self.epoch is not None:
            self._refuse(f"checkpoint {self.epoch.number} is being taken")
        else:
            self._begin(event.reason)

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
                # The time of a prediction has passed: false, or the loss will be told.
                self._set(name, fails_at=math.inf, covered=False)
                if node.phase is NodePhase.VULNERABLE:
                    self._set(name, phase=NodePhase.NORMAL)
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

    # What follows

    def _consider(self, *, migrate: bool = True) -> None:
        """Act on nodes that are vulnerable and that nothing is done about."""
        if self.epoch is not None:
            return
        waiting = [name for name, node in self._vulnerable() if node.phase is NodePhase.VULNERABLE]
        if not waiting:
            return
        needy = []
        for name in waiting:
            left = self.nodes[name].fails_at - self.now
            if migrate and left >= self.settings.migration:
                self._set(name, phase=NodePhase.MIGRATING, until=self.now + self.settings.migration)
                self.commands.append(Migrate(node=name))
            else:
                needy.append(name)
                choice = self._choice(self.nodes[name].move, left)
                self.commands.append(Told(text=f"{name} writes its checkpoint first{choice}"))
        if needy:
            self._begin(f"predicted: {', '.join(needy)}")

    def _choice(self, move: float | None, left: float) -> str:
        """Return what speaks for a checkpoint: a node that moves by one writes first as well."""
        takes, what = self.settings.migration, ": a migration takes"
        if takes == math.inf and move is None:
            return ": there is no migration here"
        if takes == math.inf and not move:
            return ", and moves to a spare by it"
        if takes == math.inf:
            takes, what = move or 0.0, ", and moves to a spare by it, which took"
        return f"{what} {takes:.1f} s, and {left:.1f} s are left"

    def _begin(self, reason: str) -> None:
        gone = sorted(
            name for name, node in self.nodes.items() if node.phase is NodePhase.LOST and node.ranks
        )
        if gone:
            self._refuse(f"no checkpoint without {', '.join(gone)}: it would lack a part")
            return
        if ended := self._ended():
            self._refuse(f"no checkpoint: {ended}")
            return
        if not sum(node.ranks for node in self.nodes.values()):
            self._refuse("no rank has registered: the program calls no client, or has not begun")
            return
        self.last, self.resumable = self.last + 1, 0
        self.epoch = Epoch(number=self.last, reason=reason)
        for name, node in list(self.nodes.items()):
            if node.phase is NodePhase.MIGRATING:
                self._abort(name, "a checkpoint is taken")
        self._ask()

    def _enter(self, name: str) -> None:
        if self.nodes[name].phase is NodePhase.MIGRATING:
            self._abort(name, "a checkpoint is taken")
        if self.nodes[name].phase is not NodePhase.LOST:
            self._set(name, phase=NodePhase.REQUESTED, answered=-1)

    def _ask(self) -> None:
        """Begin a round: with a target, or to learn which steps the ranks have reached."""
        epoch = self.epoch
        assert epoch is not None
        epoch = replace(epoch, round=epoch.round + 1, phase=EpochPhase.AGREEING)
        self.epoch = epoch
        asked = tuple(name for name in self._alive() if self.nodes[name].phase is not NodePhase.COMMITTED)
        until = self.now + self.settings.arrival
        for name in asked:
            self._set(name, phase=NodePhase.REQUESTED, answered=-1, until=until)
        self.epoch = replace(epoch, unanswered=len(asked))
        self.commands.append(
            Ask(
                nodes=asked,
                epoch=epoch.number,
                round=epoch.round,
                target=epoch.target,
                arrival=self.settings.arrival,
            )
        )

    def _agree(self, *, passed: bool) -> None:
        """End a round that all have answered: propose a step, a later one, or hold it."""
        epoch = self.epoch
        assert epoch is not None
        asked = [name for name, node in self.nodes.items() if node.phase is NodePhase.REQUESTED]
        waits = any(self.nodes[name].answered != epoch.round for name in asked)
        if not passed and (waits or self._missing() > 0):
            return
        if epoch.target == 0:
            ahead = self.settings.margin * 2 ** min(epoch.round - 1, 16)
            self.epoch = replace(epoch, target=epoch.top + ahead)
            self._ask()
            return
        self.epoch = replace(epoch, phase=EpochPhase.FIRST)
        for name in asked:
            self._set(name, phase=NodePhase.WAITING, until=math.inf)
        self._advance()

    def _advance(self) -> None:
        """Let the next nodes write, or seal what all have written."""
        epoch = self.epoch
        if epoch is None or epoch.phase in (EpochPhase.AGREEING, EpochPhase.SEALING):
            return
        writing = [name for name, node in self.nodes.items() if node.phase is NodePhase.COMMITTING]
        waiting = [name for name, node in self.nodes.items() if node.phase is NodePhase.WAITING]
        vulnerable = [name for name, node in self._vulnerable() if node.phase is NodePhase.WAITING]
        if vulnerable and self.settings.priority:
            self.epoch = epoch = replace(epoch, phase=EpochPhase.FIRST)
            if not writing:
                self._grant(vulnerable[:1])
        elif waiting:
            if epoch.phase is EpochPhase.FIRST and writing:
                return
            self.epoch = replace(epoch, phase=EpochPhase.SECOND)
            room = len(waiting) if not self.settings.writers else self.settings.writers - len(writing)
            self._grant(waiting[: max(room, 0)])
        elif not writing:
            self.epoch = replace(epoch, phase=EpochPhase.SEALING)
            # A node that was lost and did not end the checkpoint had committed: its parts belong to it.
            durable = tuple(name for name, node in self.nodes.items() if node.ranks)
            self.commands.append(
                Seal(epoch=epoch.number, nodes=durable, of=self._program(), reason=epoch.reason)
            )

    def _grant(self, names: Iterable[str]) -> None:
        assert self.epoch is not None
        chosen = tuple(names)
        if not chosen:
            return
        for name in chosen:
            self._set(name, phase=NodePhase.COMMITTING, until=self.now + self.settings.commit)
        self.commands.append(Grant(nodes=chosen, epoch=self.epoch.number, target=self.epoch.target))

    def _leave(self, why: str, *, complete: bool = False) -> None:
        """End the checkpoint: nobody waits any longer. The next one begins with the next prediction."""
        epoch = self.epoch
        assert epoch is not None
        self.epoch = None
        for name in self._alive():
            covered = self.nodes[name].fails_at < math.inf and complete
            self._set(name, phase=NodePhase.NORMAL, covered=covered, answered=-1, until=math.inf)
        self.commands.append(Release(nodes=self._alive(), epoch=epoch.number, complete=complete, why=why))

    def _abort(self, name: str, why: str) -> None:
        """Stop a migration; the node is vulnerable with the lead time that it has left."""
        self._set(name, phase=NodePhase.VULNERABLE, until=math.inf)
        self.commands.append(AbortMigration(node=name, why=why))

    # State

    def _alive(self) -> tuple[str, ...]:
        return tuple(name for name, node in self.nodes.items() if node.phase is not NodePhase.LOST)

    def _missing(self) -> int:
        """Return how many of the program's ranks no node has told of; one that was lost had committed."""
        return self._program() - sum(node.ranks for node in self.nodes.values())

    def _program(self) -> int:
        """Return how many ranks the program has, as they say; 0 while none is there."""
        return max((node.of for node in self.nodes.values()), default=0)

    def _ended(self) -> str:
        """Return that ranks have ended whose parts a checkpoint would lack; nothing where all are there."""
        ended = sum(node.ended for node in self.nodes.values())
        if not self._program():  # the last one has ended as well
            return "all ranks have ended" if ended else ""
        lacking = min(ended, self._missing())
        return f"{lacking} of {self._program()} ranks have ended" if lacking > 0 else ""

    def _vulnerable(self) -> list[tuple[str, Node]]:
        """Return nodes with a predicted failure, the least time left first."""
        found = [(name, node) for name, node in self.nodes.items() if node.fails_at < math.inf]
        return sorted(found, key=lambda item: (item[1].fails_at, item[0]))

    def _set(self, name: str, **changes: object) -> None:
        self.nodes[name] = replace(self.nodes[name], **changes)

    def _refuse(self, text: str) -> None:
        self.commands.append(Told(text=text, refused=True))
