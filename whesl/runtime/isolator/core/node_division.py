"""The division of an allocation into a task's nodes and spares, derived from the task's setup alone.

``whesl exec`` and the isolator therefore derive the same division independently. Standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def divided(
    nodes: tuple[str, ...],
    wanted: int,
    avoid: frozenset[str],
    last: frozenset[str],
    components: Sequence[tuple[str, ...]] = (),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first ``wanted`` nodes, which are in use, and the rest, which are spares.

    Each component of a heterogeneous job has as many spares as the others, and at least one node in use.

    Args:
        nodes: the allocation's nodes, in its order.
        wanted: number of nodes in use; all nodes, when there are fewer.
        avoid: suspected nodes, used only when there are too few others, and last among the spares.
        last: nodes that are used only when no others are left (the isolator's own, on request).
        components: the nodes of each component of a heterogeneous job; () for any other job.
    """
    if components:
        each = max(len(nodes) - wanted, 0) // len(components)
        parts = [divided(part, max(len(part) - each, 1), avoid, last) for part in components]
        active = tuple(node for used, _ in parts for node in used)
        return active, tuple(node for _, left in parts for node in left)
    rank = {node: (node in avoid, node in last) for node in nodes}
    preferred = sorted(nodes, key=lambda node: rank[node])
    chosen = frozenset(preferred[:wanted])
    active = tuple(node for node in nodes if node in chosen)
    return active, tuple(node for node in preferred if node not in chosen)


def of_first_attempt(setup: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the nodes in use and the spares of a first attempt that no configuration changes.

    Args:
        setup: the JSON of the task's ``Setup``.
    """
    most, last = usual(setup["nodes"], setup["own_node"], use_own=setup["use_own_node"])
    last |= set(setup.get("taken", ()))
    return divided(setup["nodes"], setup["active"] or most, frozenset(), last, setup["components"])


def usual(nodes: tuple[str, ...], own: str, *, use_own: bool) -> tuple[int, frozenset[str]]:
    """Return the default number of nodes in use, and the nodes that are used only as the last.

    Args:
        nodes: the allocation's nodes.
        own: the isolator's own node.
        use_own: whether the task may run on the isolator's node.
    """
    last = frozenset[str]() if use_own else frozenset((own,))
    return max(len(nodes) - len(last & set(nodes)), 1), last
