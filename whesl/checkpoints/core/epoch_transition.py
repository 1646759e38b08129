"""The transitions of one checkpoint from its beginning to its end, which the events of ``protocol.py`` cause.

Source: the dissertation, section 2.6 and Figure 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from whesl.checkpoints.core.states_and_events import (
    AbortMigration,
    Ask,
    Command,
    Epoch,
    EpochPhase,
    Foretold,
    Grant,
    Migrate,
    Node,
    NodePhase,
    Release,
    Seal,
    State,
    Told,
)

# Seconds until a failed checkpoint is tried again: the first pause, doubled each time, and the longest pause.
AGAIN, SELDOM = 1.0, 60.0


class EpochTransition:
    """One transition: a modified copy of the state, and the resulting commands."""

    def __init__(self, state: State, now: float) -> None:
        self.settings = state.settings
        self.nodes = dict(state.nodes)
        self.epoch = state.epoch
        self.last = state.last
        self.resumable = state.resumable
        self.foretold: dict[str, Foretold] = dict(state.foretold)
        self.asked = state.asked
        self.again = state.again
        self.failures = state.failures
        self.now = now
        self.commands: list[Command] = []

    def done(self) -> tuple[State, list[Command]]:
        """Return the new state and the commands to carry out."""
        state = State(
            settings=self.settings,
            nodes=self.nodes,
            epoch=self.epoch,
            last=self.last,
            resumable=self.resumable,
            foretold=self.foretold,
            asked=self.asked,
            again=self.again,
            failures=self.failures,
        )
        return state, self.commands

    def _consider(self, *, migrate: bool = True) -> None:
        """Begin a migration or a checkpoint for vulnerable nodes that have neither."""
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
        """Return the reason for a checkpoint instead of a migration, as the end of a sentence."""
        takes, what = self.settings.migration, ": a migration takes"
        if takes == math.inf and move is None:
            return ": there is no migration here"
        if takes == math.inf and not move:
            return ", and moves to a spare by it"
        if takes == math.inf:
            takes, what = move or 0.0, ", and moves to a spare by it, which took"
        return f"{what} {takes:.1f} s, and {left:.1f} s are left"

    def _begin(self, reason: str) -> None:
        self.again = math.inf
        if hindrance := self._hindrance():
            self._refuse(hindrance)
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
        """Begin a round: propose the target step, or ask for the steps that the ranks have reached."""
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
        """End a round that all agents have answered: propose a (later) step, or keep the agreed step."""
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
        """Grant the next nodes the right to write, or seal the checkpoint when all nodes have written."""
        epoch = self.epoch
        if epoch is None or epoch.phase in (EpochPhase.AGREEING, EpochPhase.SEALING):
            return
        writing = [name for name, node in self.nodes.items() if node.phase is NodePhase.COMMITTING]
        waiting = [name for name, node in self.nodes.items() if node.phase is NodePhase.WAITING]
        vulnerable = [name for name, node in self._vulnerable() if node.phase is NodePhase.WAITING]
        # Opening a shared file waits for all ranks, so all nodes write together.
        together = any(node.together for node in self.nodes.values())
        if vulnerable and self.settings.priority and not together:
            self.epoch = epoch = replace(epoch, phase=EpochPhase.FIRST)
            if not writing:
                self._grant(vulnerable[:1])
        elif waiting:
            if epoch.phase is EpochPhase.FIRST and writing:
                return
            self.epoch = replace(epoch, phase=EpochPhase.SECOND)
            at_once = self.settings.writers == 0 or together
            room = len(waiting) if at_once else self.settings.writers - len(writing)
            self._grant(waiting[: max(room, 0)])
        elif not writing:
            self.epoch = replace(epoch, phase=EpochPhase.SEALING)
            # Lost nodes count: their parts are committed, or their loss would have ended the checkpoint.
            durable = tuple(name for name, node in self.nodes.items() if node.ranks)
            self.commands.append(
                Seal(epoch=epoch.number, nodes=durable, of=self._program(), reason=epoch.reason)
            )

    def _grant(self, names: Iterable[str]) -> None:
        assert self.epoch is not None
        chosen = tuple(names)
        if not chosen:
            return
        arrival, commit = self.settings.arrival, self.settings.commit
        for name in chosen:
            # The agent gets additional time for an answer, in which it reports the late rank.
            self._set(name, phase=NodePhase.COMMITTING, until=self.now + commit + arrival)
        epoch, target = self.epoch.number, self.epoch.target
        self.commands.append(Grant(nodes=chosen, epoch=epoch, target=target, arrival=arrival, commit=commit))

    def _leave(self, why: str, *, complete: bool = False) -> None:
        """End the checkpoint and release all ranks; retry it later if a vulnerable node still needs it."""
        epoch = self.epoch
        assert epoch is not None
        self.epoch, self.asked = None, ""
        self.failures = 0 if complete else self.failures + 1
        needy = []
        for name in self._alive():
            node = self.nodes[name]
            foretold = node.fails_at < math.inf
            covered = foretold and (complete or node.covered)
            if foretold and not covered:
                needy.append(name)
            phase = NodePhase.VULNERABLE if foretold and not covered else NodePhase.NORMAL
            self._set(name, phase=phase, covered=covered, answered=-1, until=math.inf)
        self.commands.append(Release(nodes=self._alive(), epoch=epoch.number, complete=complete, why=why))
        if needy and not self._hindrance():
            pause = min(AGAIN * 2 ** min(self.failures - 1, 16), SELDOM)
            self.again = self.now + pause
            left = min(self.nodes[name].fails_at for name in needy) - self.now
            text = f"a checkpoint for {', '.join(needy)} is tried again in {pause:g} s: {left:.1f} s are left"
            self.commands.append(Told(text=text))

    def _abort(self, name: str, why: str) -> None:
        """Stop a migration; the node becomes vulnerable again, with the rest of its lead time."""
        self._set(name, phase=NodePhase.VULNERABLE, until=math.inf)
        self.commands.append(AbortMigration(node=name, why=why))

    # State

    def _alive(self) -> tuple[str, ...]:
        return tuple(name for name, node in self.nodes.items() if node.phase is not NodePhase.LOST)

    def _hindrance(self) -> str:
        """Return why no checkpoint can be taken now, "" where one can."""
        gone = sorted(
            name for name, node in self.nodes.items() if node.phase is NodePhase.LOST and node.ranks
        )
        if gone:
            return f"no checkpoint without {', '.join(gone)}: it would lack a part"
        if ended := self._ended():
            return f"no checkpoint: {ended}"
        if not sum(node.ranks for node in self.nodes.values()):
            return "no rank has registered: the program calls no client, or has not begun"
        return ""

    def _missing(self) -> int:
        """Return the number of the program's ranks that no node has reported."""
        return self._program() - sum(node.ranks for node in self.nodes.values())

    def _program(self) -> int:
        """Return the program's number of ranks, as the ranks report it; 0 while no rank has registered."""
        return max((node.of for node in self.nodes.values()), default=0)

    def _ended(self) -> str:
        """Return a sentence if a checkpoint would lack the parts of ended ranks, else ""."""
        ended = sum(node.ended for node in self.nodes.values())
        if not self._program():  # no rank runs any more
            return "all ranks have ended" if ended else ""
        lacking = min(ended, self._missing())
        return f"{lacking} of {self._program()} ranks have ended" if lacking > 0 else ""

    def _vulnerable(self) -> list[tuple[str, Node]]:
        """Return nodes with a predicted failure, sorted by the time left."""
        found = [(name, node) for name, node in self.nodes.items() if node.fails_at < math.inf]
        return sorted(found, key=lambda item: (item[1].fails_at, item[0]))

    def _set(self, name: str, **changes: object) -> None:
        self.nodes[name] = replace(self.nodes[name], **changes)

    def _refuse(self, text: str) -> None:
        self.commands.append(Told(text=text, refused=True))
