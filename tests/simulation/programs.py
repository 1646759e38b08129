"""Runs of a task's program: a runner on the batch host and ranks on the nodes in use."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.simulation.scenario import Act
from whesl.model.evidence import Detected, Evidence

if TYPE_CHECKING:
    from tests.simulation.site import Site

HANG_TIMEOUT = 10.0
KILLED = 137


class Run:
    """One start of a program.

    Args:
        site: the task's place.
        attempt, token: as the isolator named it.
        host: where its runner is.
        ranks: the nodes in use.
        act: what it does.
        refused: its launcher finds no scheduler, and ends without having started anything.
    """

    def __init__(
        self,
        site: Site,
        attempt: int,
        token: str,
        host: str,
        ranks: tuple[str, ...],
        act: Act,
        *,
        refused: bool = False,
    ) -> None:
        self.site = site
        self.world = site.world
        self.attempt = attempt
        self.token = token
        self.host = host
        self.ranks = dict.fromkeys(ranks)
        self.runner = True
        self.status: int | None = None  # as its status file says
        self.said: list[Detected] = []
        self.read = 0
        self._act = act
        self._chance: random.Random = site.world.chance(f"run {site.name} {len(site.runs)}")
        self.refused = refused
        dead = [node for node in ranks if not site.cluster.nodes_by_name[node].reachable]
        if refused:
            self.ranks = {}
            self.world.after(0.5 + self._chance.random(), self.end, 1)
        elif dead:
            self.ranks = {node: None for node in ranks if node not in dead}
            self.world.after(1.0, self.end, 1)
        else:
            self.world.after(act.after, self._does)

    @property
    def lives(self) -> bool:
        """Whether any process of it is there."""
        return self.runner or bool(self.ranks)

    def _does(self) -> None:
        act = self._act
        if not self.runner:
            return
        if act.kind == "line":
            self._says(act.word, "log", "it broke")
            if act.linger is not None:
                self.world.after(act.linger, self.end, act.code)
        elif act.kind == "hang":
            self.world.after(HANG_TIMEOUT, self._hangs)
        else:
            self.end(0 if act.kind == "ok" else act.code)

    def _hangs(self) -> None:
        if self.runner:
            self._says(self._act.word, "hang", "cycle 7")

    def _says(self, word: str, kind: str, line: str) -> None:
        self.world.note(self.site.name, f"program {self.attempt}: {word} ({kind})")
        evidence = Evidence(kind=kind, time=self.world.now, line=line, node=self.host)
        self.said.append(Detected(exception=word, evidence=(evidence,)))
        self.site.look()

    def end(self, code: int) -> None:
        """Its runner ends in order and leaves a status; ranks that can be reached end with it."""
        if self.runner:
            self.world.note(self.site.name, f"program {self.attempt} exits with {code}")
            self.runner = False
            self.status = code
            self._drop_ranks()
            self.site.look()

    def kill_here(self) -> None:
        """Everything on the batch host is killed, its launcher too; other nodes' ranks may live on."""
        self.ranks.pop(self.host, None)
        if self.runner:
            self.world.note(self.site.name, f"program {self.attempt} is killed")
            self.runner = False
            self.site.look()

    def vanish(self, node: str) -> None:
        """A node is gone with all that was on it, or its agent has killed all there."""
        had = node in self.ranks
        self.ranks.pop(node, None)
        if node == self.host:
            self.runner = False
        elif had and self.runner:
            self.unwell()

    def unwell(self) -> None:
        """A rank is gone or cut off: the program fails soon, or hangs."""
        if self._chance.random() < 0.7:
            self.world.after(0.2 + 2.0 * self._chance.random(), self.end, 1)

    def told_to_end(self) -> None:
        """SIGTERM."""
        if self.runner and self.site.plan.obeys:
            self.world.after(0.5 * self._chance.random(), self.end, 143)

    def _drop_ranks(self) -> None:
        self.ranks = {
            node: None for node in self.ranks if not self.site.cluster.nodes_by_name[node].reachable
        }
