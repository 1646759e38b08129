"""Where a cause struck: what its own line does not say, other lines of the log often do. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from whesl.diagnose.records import Finding, Observed
from whesl.diagnose.vocabulary import Role

_NEAR = 40  # lines around the cause that speak of the same place


def located(cause: Finding, observed: Observed) -> Finding:
    """Return the cause with its rank and node, where the log tells them.

    The line's own words go first. Then what tells who failed first: a launcher's summary, an account of the
    first failure. Then a line that says on which node a rank runs.
    """
    rank, node = cause.rank, cause.node
    if rank is None and node is None:
        first = _first_failed(observed)
        if first is not None:
            rank, node = first.rank, first.node
    if rank is not None and node is None:
        node = _only(f.node for f in observed.findings if f.rank == rank and f.node and f is not cause)
    if node is not None and rank is None:
        rank = _only(
            f.rank
            for f in observed.findings
            if f.node == node and f.rank is not None and f.entry.role in (Role.FACT, Role.SYMPTOM)
        )
    device = cause.device
    return msgspec.structs.replace(cause, rank=rank, node=node, device=device)


def _first_failed(observed: Observed) -> Finding | None:
    """Return the finding that names the rank or node that failed first, if only one is named."""
    facts = [
        f for f in observed.findings if f.entry.role is Role.FACT and f.entry.name.endswith("first-failure")
    ]
    if facts:
        return facts[0]
    summaries = [
        f
        for f in observed.findings
        if f.entry.role is Role.SYMPTOM and "summary" in f.entry.name and (f.rank is not None or f.node)
    ]
    places = {(f.rank, f.node) for f in summaries}
    return summaries[0] if len(places) == 1 else None


def _only(values: Iterable[object]) -> Any:
    """Return the value if there is just one."""
    found = set(values)
    return found.pop() if len(found) == 1 else None
