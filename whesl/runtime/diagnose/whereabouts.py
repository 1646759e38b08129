"""Where a cause struck: what its own line does not say, other lines of the log often do. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from whesl.runtime.diagnose.diagnosis_records import Finding, Observed
from whesl.runtime.diagnose.vocabulary import Role

_STACKS = frozenset({"mpi.mpi-error", "mpi.mpi-init", "applications.charm"})
_ABORTS = "mpi.mpi-abort"
_HOST = "general.local-host"
_JOB_HOST = "general.job-host"
# How messages name a rank or a node among their words.
_IN_WORDS = (
    re.compile(r"\bon Pe (?P<rank>\d+) \((?P<node>\S+) device"),
    re.compile(r"\bWorker IP address: (?P<node>[\w.:-]+)"),
    re.compile(r"/replica:\d+/task:(?P<rank>\d+)\b"),
    re.compile(
        r"(?i)\b(?:rank|MPI (?:task|process)|PET|processor) *[#=:]? *(?P<rank>\d+)\b(?! (?:of|ranks)\b)"
    ),
    re.compile(r"(?i)\bon (?:node|host) (?P<node>[a-z][\w.-]*\d[\w.-]*)"),
)
_STACK = 12  # lines of an error of MPI, and of a launcher's message that ends with the host
_TASKS = re.compile(r"srun: error: (?P<node>\S+): tasks? (?P<ranks>[\d,-]+): ")
Value = TypeVar("Value")


def located(cause: Finding, observed: Observed) -> Finding:
    """Return the cause with its rank and node, where the log tells them.

    The line's own words go first. Then what tells who failed first: an account of the first failure, or the
    first line of a launcher on a rank that failed. Then what tells on which node a rank runs.
    """
    rank, node = cause.rank, cause.node
    if rank is None and node is None:
        rank, node = _in_words(cause.text)
    if rank is None and node is None:
        rank, node = _of_the_stack(cause, observed)
    told = [*_failed(observed), *(f for f in observed.findings if _same_kind(f, cause))]
    if rank is None and node is None and told:
        rank, node = told[0].rank, told[0].node
    if rank is not None and node is None:
        node = _first(f.node for f in told if f.rank == rank)
        node = node or _only(f.node for f in observed.findings if f.rank == rank and f is not cause)
        node = node or _first(_ran(rank, f.text) for f in observed.findings)
    if node is not None and rank is None:
        rank = _only(f.rank for f in told if f.node == node)
    of_the_file = [f for f in observed.findings if f.entry.name == _JOB_HOST and f.number == cause.number]
    node = node or _only(f.node for f in of_the_file)
    rank = _only(f.rank for f in of_the_file) if rank is None else rank
    return msgspec.structs.replace(cause, rank=rank, node=node)


def _in_words(text: str) -> tuple[int | None, str | None]:
    """Return what the message itself says."""
    for form in _IN_WORDS:
        if (match := form.search(text)) is not None:
            told = match.groupdict()
            return (int(told["rank"]) if told.get("rank") else None, told.get("node"))
    return None, None


def _of_the_stack(cause: Finding, observed: Observed) -> tuple[int | None, str | None]:
    """Return what an error of MPI tells of the lines of its stack, or the place with which a message ends."""
    near = [
        f
        for f in observed.findings
        if f.number == cause.number
        and (
            (f.entry.name in _STACKS and abs(cause.line - f.line) <= _STACK)
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
        if f.entry.role is Role.SYMPTOM
        and ("summary" in f.entry.name or f.entry.name == _ABORTS)
        and (f.rank is not None or f.node)
    ]
    return [*account, *summaries]


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)


def _ran(rank: int, text: str) -> str | None:
    """Return the node on which Slurm says that a rank ended."""
    match = _TASKS.search(text)
    for part in match["ranks"].split(",") if match else ():
        first, _, last = part.partition("-")
        if first and match and int(first) <= rank <= int(last or first):
            return match["node"]
    return None


def _only(values: Iterable[Value | None]) -> Value | None:
    """Return the value if there is just one."""
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None
