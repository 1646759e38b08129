"""Where a cause struck: what its own line does not say, other lines of the log often do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from whesl.runtime.diagnose.diagnosis_records import Finding, Observed
from whesl.runtime.diagnose.vocabulary import Role

_STACKS = frozenset({"mpi.mpi-error", "mpi.mpi-init", "applications.charm"})
_HOST = "general.local-host"
_STACK = 12  # lines of an error of MPI, and of a launcher's message that ends with the host
Value = TypeVar("Value")


def located(cause: Finding, observed: Observed) -> Finding:
    """Return the cause with its rank and node, where the log tells them.

    The line's own words go first. Then what tells who failed first: an account of the first failure, or the
    first line of a launcher on a rank that failed. Then what tells on which node a rank runs.
    """
    rank, node = cause.rank, cause.node
    if rank is None and node is None:
        rank, node = _of_the_stack(cause, observed)
    told = [*_failed(observed), *(f for f in observed.findings if _same_kind(f, cause))]
    if rank is None and node is None and told:
        rank, node = told[0].rank, told[0].node
    if rank is not None and node is None:
        node = _first(f.node for f in told if f.rank == rank)
        node = node or _only(f.node for f in observed.findings if f.rank == rank and f is not cause)
    if node is not None and rank is None:
        rank = _only(f.rank for f in told if f.node == node)
    return msgspec.structs.replace(cause, rank=rank, node=node)


def _of_the_stack(cause: Finding, observed: Observed) -> tuple[int | None, str | None]:
    """Return what an error of MPI tells of the lines of its stack, or the place with which a message ends."""
    near = [
        f
        for f in observed.findings
        if f.number == cause.number
        and (
            (f.entry.name in _STACKS and 0 < cause.line - f.line <= _STACK)
            or (f.entry.name in (_HOST, cause.entry.name) and 0 < f.line - cause.line <= _STACK)
        )
        and (f.rank is not None or f.node is not None)
    ]
    return next(((f.rank, f.node) for f in near), (None, None))


def _same_kind(finding: Finding, cause: Finding) -> bool:
    """Whether a finding tells of the same failure and says where."""
    entry = finding.entry
    same = entry.role is Role.CAUSE and entry.cause_class is cause.entry.cause_class
    return same and not finding.warned and (finding.rank is not None or finding.node is not None)


def _failed(observed: Observed) -> Sequence[Finding]:
    """Return what names ranks or nodes that failed, the first failure first."""
    account: list[Finding] = []
    host: Finding | None = None
    rooted = False
    for finding in observed.findings:
        name = finding.entry.name.rpartition(".")[2]
        rooted = rooted or name == "root-cause"
        if name == "first-host":
            host = finding
        elif name == "first-failure" and rooted:
            near = host is not None and host.number == finding.number and 0 < finding.line - host.line <= 2
            node = host.node if near and host is not None else None
            account.append(msgspec.structs.replace(finding, node=node))
            rooted = False
    summaries = [
        f
        for f in observed.findings
        if f.entry.role is Role.SYMPTOM and "summary" in f.entry.name and (f.rank is not None or f.node)
    ]
    return [*account, *summaries]


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)


def _only(values: Iterable[Value | None]) -> Value | None:
    """Return the value if there is just one."""
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None
