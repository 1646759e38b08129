"""Which nodes of an allocation a task uses and which are its spares: it follows from the task's setup alone.

So ``whesl exec`` and the isolator come to the same without telling each other. Standard library only.
"""

from __future__ import annotations


def divided(
    nodes: tuple[str, ...], wanted: int, avoid: frozenset[str], last: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first ``wanted`` nodes, which are in use, and the rest, which are spares.

    Args:
        nodes: the allocation's, in its order.
        wanted: how many are used; all there are, when it is more.
        avoid: suspected nodes: used only when there are too few others, and the last among the spares.
        last: nodes that are used only when nothing else is left (the isolator's own, on request).
    """
    rank = {node: (node in avoid, node in last) for node in nodes}
    preferred = sorted(nodes, key=lambda node: rank[node])
    chosen = frozenset(preferred[:wanted])
    active = tuple(node for node in nodes if node in chosen)
    return active, tuple(node for node in preferred if node not in chosen)


def usual(nodes: tuple[str, ...], own: str, *, use_own: bool) -> tuple[int, frozenset[str]]:
    """Return how many nodes are used where nobody says so, and which of them only as the last.

    Args:
        nodes: the allocation's.
        own: the isolator's own.
        use_own: whether the task may run there.
    """
    last = frozenset[str]() if use_own else frozenset((own,))
    return max(len(nodes) - len(last & set(nodes)), 1), last
