"""The order in which spare nodes of an allocation are taken, for built-in operations and handlers. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from whesl.runtime.operations.recovery_plan import Context
from whesl.runtime.operations.suspect_node import match_node


def in_order(context: Context, now: float) -> tuple[str, ...]:
    """Return the spares, the best first; nodes to avoid come after all others, and unusable nodes last.

    Among equals, the nodes that are least likely to fail come first.

    Args:
        context: the task.
        now: seconds since the epoch; a bad node whose record has expired by then is as good as any.
    """
    gone, worse = unusable(context), avoided(context, now)
    risk = context.predicted
    return tuple(
        sorted(context.nodes.spares, key=lambda node: (node in gone, node in worse, risk.get(node, 0.0)))
    )


def unusable(context: Context) -> frozenset[str]:
    """Return the nodes that cannot be taken at all: silent nodes, and nodes that other tasks use."""
    return _named(context, (*context.silent, *context.busy))


def avoided(context: Context, now: float) -> frozenset[str]:
    """Return the nodes that are taken only as the last choice: nodes known as bad, or excluded.

    Args:
        context: the task.
        now: seconds since the epoch.
    """
    bad = {entry.node for entry in context.bad_nodes if entry.expires > now}
    return _named(context, {*bad, *context.configuration.excluded_nodes})


def _named(context: Context, names: Iterable[str]) -> frozenset[str]:
    wanted = tuple(names)
    return frozenset(node for node in context.nodes.all if any(match_node(name, [node]) for name in wanted))
