"""Which nodes are fit, by what they told, and which spares take the places of the others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import msgspec

from whesl.model.allocation_nodes import NodeSet


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node told of itself.

    Attributes:
        problems: what failed on it, in words.
        gpus: that the kernel has a device for.
        links: ports of its fast network that are active.
    """

    problems: tuple[str, ...] = ()
    gpus: int = 0
    links: int = 0


class Replaced(NamedTuple):
    """The nodes after a check.

    Attributes:
        nodes: the new set.
        missing: unfit nodes in use for which no fit spare was left.
    """

    nodes: NodeSet
    missing: tuple[str, ...]


def unfit(told: Mapping[str, Facts | str]) -> dict[str, str]:
    """Return the nodes that are not fit, and why.

    A node with fewer GPUs or active links than more than half of the nodes have has lost some.

    Args:
        told: by node its facts, or in words why it gave none although its check was started.
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
    """Return the nodes with fit spares in the places of unfit ones; unfit spares are no longer considered.

    Args:
        nodes: as they were, the spares in the order in which they are taken.
        bad: the unfit ones.
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
    """Return the number that more than half have; 0 where there is none."""
    counted = Counter(numbers)
    number, times = max(counted.items(), key=lambda item: item[1], default=(0, 0))
    return number if 2 * times > sum(counted.values()) else 0
