"""What the isolator is told, and what follows from that alone.

Apart from the rest, so that ``whesl exec`` loads little.
"""

from __future__ import annotations

import msgspec

from whesl.esl.spec import Spec
from whesl.model.allocation import NodeSet
from whesl.model.digest import hexdigest
from whesl.model.workflow import Task


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What the isolator is told once and what never changes. Times in seconds.

    ``claim`` is new for each start of the job's script by the resource manager. ``nodes`` are the
    allocation's, in its order; ``active`` of them are used, the others are spares.
    """

    task: Task
    workflow: str
    spec: Spec | None = None
    observe: bool = False
    coordinator: bool = True
    claim: str = ""
    rjms: str = "host"
    job_id: str = ""
    nodes: tuple[str, ...] = ()
    active: int | None = None
    own_node: str = ""
    use_own_node: bool = True
    salt: str = ""
    welcome_wait: float = 10.0
    coordinator_wait: float = 120.0
    term_grace: float = 25.0


def token_prefix(setup: Setup) -> str:
    """Return what the tokens of all attempts of a task begin with: what its agents fence by."""
    identity = f"{setup.salt}/{setup.task.id}"
    return hexdigest(identity.encode(), 16) + "."


def token(setup: Setup, attempt: int) -> str:
    """Return an attempt's token: the same for whoever asks, so it need not be told."""
    return f"{token_prefix(setup)}{attempt}"


def split(setup: Setup, *, wanted: int | None = None, avoid: frozenset[str] = frozenset()) -> NodeSet:
    """Return which nodes the first attempt under a claim uses, and the rest as spares.

    Args:
        setup: names the allocation's nodes.
        wanted: how many are used, where a configuration says so.
        avoid: suspected nodes.
    """
    last = frozenset() if setup.use_own_node else frozenset((setup.own_node,))
    everything = len(setup.nodes) - len(last & set(setup.nodes))
    return choose(setup.nodes, wanted or setup.active or max(everything, 1), avoid, last)


def choose(
    nodes: tuple[str, ...], wanted: int, avoid: frozenset[str], last: frozenset[str] = frozenset()
) -> NodeSet:
    """Return the first ``wanted`` nodes in use and the rest as spares.

    Args:
        nodes: the allocation's, in its order.
        wanted: how many are used; all there are, when it is more.
        avoid: suspected nodes: used only when there are too few others, and the last among the spares.
        last: nodes that are used only when nothing else is left (the isolator's own, on request).
    """
    rank = {node: (node in avoid, node in last) for node in nodes}
    preferred = sorted(nodes, key=lambda node: rank[node])
    chosen = frozenset(preferred[:wanted])
    return NodeSet(
        active=tuple(node for node in nodes if node in chosen),
        spares=tuple(node for node in preferred if node not in chosen),
    )
