"""The plugin's file: a small text file from which a scheduler's plugin decides which nodes a job is kept off.

The file holds the precomputed part of the decision: for each horizon the nodes at risk in the order of
``whesl.placement.policies.exclude_list_choice``, and for each class of nodes the number of usable nodes in
each partition. The plugin (Lua, inside slurmctld) does the rest for each job. ``decide`` is the same in
Python, and a test compares both.

    whesl-placement 1 SERIAL WRITTEN VALID_UNTIL active|observe
    share SHARE
    partition INDEX NAME default|-
    class INDEX CPUS MEMORY FEATURES|- USABLE/HELD,...        (a pair for each partition)
    horizon SECONDS NAME:CLASS:PARTITION+... ...              (nodes at risk, most risk first)
    end SERIAL
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whesl.model.hostlist import compress, expand
from whesl.placement.policies.exclude_list_choice import at_risk, budget, exclude
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.risk_table import Table, is_name

# Largest number of published nodes at risk per partition and horizon.
MOST_CANDIDATES = 256
# Largest number of a partition's nodes in an exclude list: each name costs slurmctld microseconds per job.
MOST_NAMES = 128
_FEATURE = re.compile(r"[A-Za-z0-9_.:/+-]{1,64}")
# Requests whose suitable nodes cannot be counted from the file: such a job gets no exclude list and a
# message.
SPECIAL = (
    "generic resources",
    "a layout of nodes",
    "a choice of features",
    "several components",
    "local disk",
)


class Class(msgspec.Struct, frozen=True):
    """A class of nodes with equal CPUs, memory in MiB and features.

    ``usable`` and ``held`` are numbers of nodes by partition; held nodes are drained by the placement
    service.
    """

    cpus: int
    memory: int
    features: frozenset[str]
    usable: tuple[int, ...]
    held: tuple[int, ...]


class Candidate(msgspec.Struct, frozen=True):
    """A node at risk, with the indices of its class (``kind``) and its partitions."""

    name: str
    kind: int
    partitions: tuple[int, ...]


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the plugin's file; ``orders`` has a tuple of indices into ``nodes`` for each horizon."""

    written: float
    valid_until: float
    active: bool
    share: float
    partitions: tuple[str, ...]
    default: str
    classes: tuple[Class, ...]
    nodes: tuple[Candidate, ...]
    horizons: tuple[float, ...]
    orders: tuple[tuple[int, ...], ...]

    @property
    def serial(self) -> str:
        """The identifier of the published table, from its time of writing."""
        return str(int(self.written * 1e6))


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A job's request. ``seconds``: the time limit, None for no limit; ``memory``: of each node, in MiB.

    ``own``: whether the job names or excludes nodes itself, uses a reservation, or opts out of placement.
    ``special``: the requested resource that cannot be counted (see ``SPECIAL``), "" for none.
    """

    partitions: tuple[str, ...]
    nodes: int = 1
    seconds: float | None = None
    cpus: int = 1
    node_cpus: int = 1
    memory: int = 0
    features: tuple[str, ...] = ()
    own: bool = False
    special: str = ""


class Decision(msgspec.Struct, frozen=True):
    """The nodes that a job is kept off, in the order of the cluster, and a message, "" for no message."""

    nodes: tuple[str, ...] = ()
    said: str = ""


NOTHING = Decision()


def make(
    table: Table,
    machine: Sequence[Node],
    *,
    share: float,
    held: frozenset[str] = frozenset(),
    default: str = "",
) -> Lookup:
    """Return the content of the plugin's file.

    Args:
        table: the published table of risks.
        machine: the cluster's nodes in the scheduler's order.
        share: the largest share of a partition that jobs are kept off, from 0 to 1.
        held: names of nodes that the placement service has drained.
        default: name of the default partition, "" for none.
    """
    rows = {row.node: row.probability for row in table.nodes}
    partitions = tuple(sorted({part for node in machine for part in node.partitions if is_name(part)}))
    place = {name: at for at, name in enumerate(partitions)}
    kinds: dict[tuple[int, int, frozenset[str]], int] = {}
    usable: list[list[int]] = []
    out: list[list[int]] = []
    known: list[tuple[str, int, tuple[int, ...]]] = []
    chances: list[tuple[float, ...]] = []
    for node in machine:
        features = frozenset(one for one in node.features if _FEATURE.fullmatch(one))
        key = (node.cpus, node.memory, features)
        kind = kinds.setdefault(key, len(kinds))
        if kind == len(usable):
            usable.append([0] * len(partitions))
            out.append([0] * len(partitions))
        mine = tuple(place[part] for part in node.partitions if part in place)
        for part in mine:
            usable[kind][part] += node.usable
            out[kind][part] += node.name in held
        if node.usable and node.name in rows and mine:
            known.append((node.name, kind, mine))
            chances.append(rows[node.name])
    during = np.array(chances, dtype=np.float64).reshape(-1, len(table.horizons))
    chosen = [
        _first(at_risk(during[:, at], _afterwards(during, at), table.thresholds[at]), known, len(partitions))
        for at in range(len(table.horizons))
    ]
    shown = sorted(set(np.concatenate(chosen).tolist()))
    at = {one: index for index, one in enumerate(shown)}
    return Lookup(
        written=table.written,
        valid_until=table.valid_until,
        active=table.active,
        share=share,
        partitions=partitions,
        default=default if default in place else "",
        classes=tuple(Class(*key, tuple(usable[kind]), tuple(out[kind])) for key, kind in kinds.items()),
        nodes=tuple(Candidate(*known[one]) for one in shown),
        horizons=table.horizons,
        orders=tuple(tuple(at[one] for one in order.tolist()) for order in chosen),
    )


def _first(
    order: NDArray[np.int64], known: Sequence[tuple[str, int, tuple[int, ...]]], partitions: int
) -> NDArray[np.int64]:
    """Return the nodes at risk that are among the first ``MOST_CANDIDATES`` of one of their partitions."""
    count = [0] * partitions
    kept = []
    for one in order.tolist():
        mine = known[one][2]
        if any(count[part] < MOST_CANDIDATES for part in mine):
            kept.append(one)
        for part in mine:
            count[part] += 1
    return np.array(kept, dtype=np.int64)


def _afterwards(during: NDArray[np.float64], at: int) -> NDArray[np.float64]:
    """Return the probability that each node fails after a horizon and within the next one."""
    if at + 1 == during.shape[1]:
        return np.zeros(len(during))
    later: NDArray[np.float64] = np.maximum(during[:, at + 1] - during[:, at], 0.0)
    return later


def decide(lookup: Lookup, job: Request) -> Decision:
    """Return the nodes that a job is kept off.

    Args:
        lookup: content of the plugin's file, which has not expired.
        job: the job's request.
    """
    names = [lookup.partitions.index(one) for one in job.partitions if one in lookup.partitions]
    if job.own or not names or len(names) < len(job.partitions):
        return NOTHING
    order = lookup.orders[_horizon(lookup.horizons, job.seconds)]
    suits = [_suits(one, job) for one in lookup.classes]
    member = np.zeros((len(lookup.nodes), len(names)), dtype=np.bool_)
    for row, node in enumerate(lookup.nodes):
        if suits[node.kind]:
            member[row] = [part in node.partitions for part in names]
    wanted = sum(bool(member[row].any()) for row in order)
    if not wanted:
        return NOTHING
    if job.special:
        return Decision((), f"no node is excluded: the job asks for {job.special}")
    fitting = [one for one, suit in zip(lookup.classes, suits, strict=True) if suit]
    need = max(job.nodes, -(-job.cpus // max(1, min(one.cpus for one in fitting))))
    budgets = np.array(
        [
            min(
                MOST_NAMES,
                budget(
                    sum(one.usable[part] for one in fitting),
                    sum(one.held[part] for one in fitting),
                    need,
                    lookup.share,
                ),
            )
            for part in names
        ],
        dtype=np.int64,
    )
    chosen = exclude(np.array(order, dtype=np.int64), member, budgets)
    said = f"{len(chosen)} of {wanted} nodes at risk are excluded"
    if len(chosen) < wanted:
        said += ", others are needed"
    return Decision(tuple(lookup.nodes[one].name for one in chosen.tolist()), said)


def _horizon(horizons: Sequence[float], seconds: float | None) -> int:
    last = len(horizons) - 1
    if seconds is None:
        return last
    return next((at for at, one in enumerate(horizons) if seconds <= one), last)


def _suits(one: Class, job: Request) -> bool:
    enough = one.cpus >= job.node_cpus and one.memory >= job.memory
    return enough and one.features.issuperset(job.features)


def mark(decision: Decision) -> str:
    """Return the mark for a job's admin comment, "" for a decision without a message."""
    if not decision.said:
        return ""
    nodes = f"exclude={compress(decision.nodes)}; " if decision.nodes else ""
    return f"whesl-placement: {nodes}{decision.said}"


_MARK = re.compile(r"whesl-placement: (?:exclude=([^; ]*); )?[^|]*")


def marked(comment: str) -> str | None:
    """Return the host list in a job's mark, "" for a mark without excluded nodes, None without a mark.

    Args:
        comment: the job's admin comment, which users cannot write.
    """
    found = _MARK.search(comment)
    return None if found is None else found[1] or ""


def same(listed: str, names: Collection[str]) -> bool:
    """Return whether a mark's host list has exactly these names; an invalid list does not.

    Args:
        listed: host list in the form of Slurm, as ``marked`` returns it.
        names: names of the nodes that the job's exclude list has.
    """
    try:
        return frozenset(expand(listed)) == frozenset(names)
    except ValueError:
        return False


def encode(lookup: Lookup) -> bytes:
    """Return the plugin's file as bytes."""
    lines = [
        f"whesl-placement 1 {lookup.serial} {int(lookup.written)} {int(lookup.valid_until)} "
        + ("active" if lookup.active else "observe"),
        f"share {lookup.share:.6f}",
    ]
    for at, name in enumerate(lookup.partitions):
        lines.append(f"partition {at} {name} {'default' if name == lookup.default else '-'}")
    for at, one in enumerate(lookup.classes):
        pairs = ",".join(f"{u}/{h}" for u, h in zip(one.usable, one.held, strict=True))
        features = ",".join(sorted(one.features)) or "-"
        lines.append(f"class {at} {one.cpus} {one.memory} {features} {pairs}")
    shown = [f"{node.name}:{node.kind}:{'+'.join(map(str, node.partitions))}" for node in lookup.nodes]
    for seconds, order in zip(lookup.horizons, lookup.orders, strict=True):
        lines.append(" ".join(["horizon", f"{seconds:.0f}", *(shown[one] for one in order)]))
    lines.append(f"end {lookup.serial}\n")
    return "\n".join(lines).encode("ascii")
