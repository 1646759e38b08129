"""The judgement of nodes by their answers, and the replacement of unfit nodes by spares. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import msgspec

from whesl.model.allocation_nodes import NodeSet


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A node's answer about itself.

    Attributes:
        problems: failures on the node, as text.
        gpus: number of GPUs for which the kernel has a device.
        links: number of active ports of the fast network.
    """

    problems: tuple[str, ...] = ()
    gpus: int = 0
    links: int = 0


class Replaced(NamedTuple):
    """The nodes after a check.

    Attributes:
        nodes: the new node set.
        missing: unfit nodes in use for which no fit spare was left.
    """

    nodes: NodeSet
    missing: tuple[str, ...]


def unfit(told: Mapping[str, Facts | str]) -> dict[str, str]:
    """Return the unfit nodes with the reasons.

    A node is unfit if a check failed, or if it has fewer GPUs or active links than most nodes have.

    Args:
        told: by node: its facts, or the reason why its started check gave none.
    """
    facts = {node: one for node, one in told.items() if isinstance(one, Facts)}
    found = {node: one for node, one in told.items() if isinstance(one, str)}
    most = {what: _usual(getattr(one, what) for one in facts.values()) for what in ("gpus", "links")}
    names = {"gpus": "GPUs", "links": "network links"}
    for node, one in facts.items():
        problems = list(one.problems)
        problems += [
            f"{getattr(one, what)} {names[what]}, most nodes have {usual}"
            for what, usual in most.items()
            if getattr(one, what) < usual
        ]
        if problems:
            found[node] = "; ".join(problems)
    return found


def replaced(nodes: NodeSet, bad: Container[str], unusable: frozenset[str] = frozenset()) -> Replaced:
    """Return the nodes with unfit nodes replaced by fit spares, and without unfit spares.

    Args:
        nodes: the nodes before, with the spares in the order in which they are taken.
        bad: the unfit nodes.
        unusable: spares that cannot be taken now, and remain spares.
    """
    for spare in nodes.spares:
        if spare in bad:
            nodes = nodes.remove(spare)
    missing = []
    for node in nodes.active:
        if node not in bad:
            continue
        try:
            nodes = nodes.replace(node, avoid=unusable)
        except LookupError:
            missing.append(node)
    return Replaced(nodes, tuple(missing))


def _usual(numbers: Iterable[int]) -> int:
    """Return the value of more than half of the numbers; 0 where there is none."""
    counted = Counter(numbers)
    number, times = max(counted.items(), key=lambda item: item[1], default=(0, 0))
    return number if 2 * times > sum(counted.values()) else 0
