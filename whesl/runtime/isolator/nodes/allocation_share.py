"""The nodes of a task that uses a part of an allocation: unused by other tasks, if there are enough.

Standard library only: ``whesl exec`` claims the nodes before anything of the isolator is loaded.
"""

from __future__ import annotations

from whesl.runtime.isolator.core import node_division
from whesl.runtime.isolator.nodes import node_claims

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def settle(setup: Mapping[str, Any], home: str, task: str) -> dict[str, Any]:
    """Claim a task's nodes, and return the fields of its ``Setup`` that name the allocation's account.

    Called with the task's lock held, by which other tasks see that the claim is valid. A task that may use
    all nodes claims none, but is listed in the account.

    Args:
        setup: the JSON of the ``Setup`` without these fields.
        home: the WHESL home.
        task: the task's directory.
    """
    nodes, wanted = tuple(setup["nodes"]), setup["active"]
    if not setup["job_id"] or setup["components"] or len(nodes) < 2:
        return {}
    part = bool(wanted) and wanted < len(nodes)
    _, last = node_division.usual(nodes, setup["own_node"], use_own=setup["use_own_node"])
    account = node_claims.account(home, setup["rjms"], setup["job_id"], setup["restarts"])

    def choose(used: frozenset[str], _own: object) -> tuple[str, ...]:
        return node_division.divided(nodes, wanted, frozenset(), last | used)[0] if part else ()

    try:
        _, used = node_claims.claim(account, task, choose)
    except OSError:
        return {}  # without the account, other tasks may use the same nodes
    return {"account": account, "taken": sorted(used) if part else []}
