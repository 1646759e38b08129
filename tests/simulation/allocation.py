"""The account of a job's nodes, where another task that is not looked at runs in the same allocation."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from whesl.runtime.isolator.core.events_and_commands import ClaimNodes, NodesClaimed
from whesl.runtime.journal.records import isolator_records as records


class Account:
    """Who uses which node; what ``whesl.runtime.isolator.nodes.node_claims`` keeps in files.

    Args:
        nodes: the allocation's.
        own: those that the task has claimed when it began.
        chance: of the other task.
    """

    def __init__(self, nodes: tuple[str, ...], own: tuple[str, ...], chance: random.Random) -> None:
        self.nodes = nodes
        self.own = frozenset(own)
        self.others = frozenset[str]()
        self.chance = chance

    def another_takes(self) -> str:
        """The other task claims a node that nobody uses; return which, nothing where there is none."""
        free = [node for node in self.nodes if node not in self.own | self.others]
        if not free:
            return ""
        taken = self.chance.choice(free)
        self.others |= {taken}
        return taken

    def claim(self, command: ClaimNodes) -> NodesClaimed:
        """Claim nodes for the task, as its isolator does."""
        wanted = frozenset(command.nodes)
        refused = (wanted - self.own - frozenset(command.shared)) & self.others
        if not refused:
            self.own = wanted
        return NodesClaimed(
            nodes=command.nodes, refused=tuple(sorted(refused)), used=tuple(sorted(self.others))
        )

    def step(
        self, present: tuple[str, ...], run: Callable[[frozenset[str]], records.StepDone]
    ) -> records.StepDone:
        """Run a step, and claim the nodes that it takes.

        Args:
            present: the nodes in use.
            run: runs it, given the nodes that it may not take.
        """
        busy = frozenset(self.claim(ClaimNodes(nodes=present, shared=present)).used)
        done = run(busy)
        if done.nodes is not None and self.claim(ClaimNodes(nodes=done.nodes.active)).refused:
            return msgspec.structs.replace(done, nodes=None)
        return done
