"""The decisions of PBS's hook: which nodes jobs of each length leave out, and how many nodes are left.

The hook (``plugins/pbs/whesl_placement.py``) calls ``decided`` in a process of its own once a minute. PBS
has no exclude lists, so each horizon has a boolean resource of nodes, which jobs ask for. The choice is that
of ``plugin_file``, for a job of as many nodes as the largest waiting job needs that asks for the resource.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from whesl.model.errors import CouldNotObserveError
from whesl.placement.site.flux.prediction_source import Source
from whesl.placement.site.publish import plugin_file, risk_table
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.plugin_file import Lookup, Request

FREQUENCY = 60  # seconds between two choices
_VALID = 3.0 * FREQUENCY
_ANY = "_"  # the partition of nodes that serve every queue, no name of a queue
_EVERY_NODE = 10**9  # a need for which no node is left out
_COUNT = re.compile(r"(?:^|\+)(\d*)")


class Options(TypedDict):
    """The hook's configuration: predictions' file, WHESL's packages, the table's path or "", horizons."""

    predictions: str
    packages: str
    table: str
    acts: bool
    share: float
    horizons: list[int]


class Waiting(NamedTuple):
    """A waiting job that asks for one of the resources. ``seconds``: its time limit, 0 for none.

    ``since``: when it began to wait, in seconds since the epoch.
    """

    select: str
    queue: str
    seconds: int
    since: float


def resource(horizon: float) -> str:
    """Return the name of a horizon's resource; the horizon in seconds."""
    return f"whesl_fit_{horizon:.0f}"


class Vnode(NamedTuple):
    """A virtual node of PBS. ``host``: the name by which its failures are predicted; ``memory`` in KiB.

    ``queue``: the queue that has the node for itself, "" for none. ``usable``: whether jobs can start there.
    """

    name: str
    host: str
    queue: str
    cpus: int
    memory: int
    usable: bool

    @property
    def partition(self) -> str:
        """The queue that has the node for itself, or the partition of all other nodes."""
        return self.queue or _ANY


def decided(
    options: Options, vnodes: Sequence[Vnode], waiting: Sequence[Waiting], now: float
) -> tuple[dict[str, object], Mapping[str, tuple[str, ...]]]:
    """Return the record that the hook reads for a submitted job, and each resource's nodes without it.

    Args:
        options: the hook's configuration.
        vnodes: the server's virtual nodes.
        waiting: the waiting jobs that ask for one of the resources.
        now: seconds since the epoch.

    Raises:
        CouldNotObserveError: there are no predictions that may be used.
    """
    path = Path(options["predictions"])
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise CouldNotObserveError(f"{path} is no plain file")
    source = Source(path, clock=lambda: now)
    source.refresh()
    if source.predictor is None:
        raise CouldNotObserveError(source.problem)
    known = {name: at for at, name in enumerate(source.names)}
    names = [
        f"v{at}" for at in range(len(vnodes))
    ]  # names of virtual nodes hold brackets, which tables do not
    table = risk_table.make(
        source.predictor,
        names,
        now,
        valid_for=_VALID,
        horizons=[float(one) for one in options["horizons"]],
        active=options["acts"],
        places=[known.get(one.host, known.get(one.host.partition(".")[0], -1)) for one in vnodes],
    )
    machine = [
        Node(
            name=name,
            flags=frozenset() if one.usable else frozenset({"down"}),
            partitions=(one.partition,),
            cpus=one.cpus,
            memory=one.memory,
        )
        for name, one in zip(names, vnodes, strict=True)
    ]
    lookup = plugin_file.make(table, machine, share=options["share"])
    partitions: dict[str, list[dict[str, object]]] = {}
    unfit: dict[str, tuple[str, ...]] = {}
    for part in lookup.partitions:
        for horizon in lookup.horizons:
            left_out = _left_out(lookup, part, horizon, waiting, now)
            out = [one.name for name, one in zip(names, vnodes, strict=True) if name in left_out]
            unfit[resource(horizon)] = (*unfit.get(resource(horizon), ()), *out)
            partitions.setdefault(part, []).append(_level(horizon, part, vnodes, out))
    state = {
        "acts": options["acts"],
        "problem": "",
        "written": now,
        "valid_until": now + _VALID,
        "partitions": partitions,
    }
    return state, unfit if options["acts"] else {}


def _left_out(
    lookup: Lookup, part: str, horizon: float, waiting: Sequence[Waiting], now: float
) -> tuple[str, ...]:
    """Return the nodes of a partition that jobs of a horizon leave out; each waiting job can start."""
    need = 1
    for job in waiting:
        mine = job.queue == part or (part == _ANY and job.queue not in lookup.partitions)
        if mine and f"{resource(horizon)}=" in job.select:
            longest = job.seconds or lookup.horizons[-1]
            wanted = sum(int(count or 1) for count in _COUNT.findall(job.select))
            need = max(need, _EVERY_NODE if now - job.since > longest else wanted)
    return plugin_file.decide(lookup, Request(partitions=(part,), nodes=need, seconds=horizon)).nodes


def _level(horizon: float, part: str, vnodes: Sequence[Vnode], out: Sequence[str]) -> dict[str, object]:
    """Return a horizon's row: nodes that are left out, and how many of each class (CPUs, KiB) are not."""
    left: dict[tuple[int, int], int] = {}
    for one in vnodes:
        if one.usable and part == one.partition and one.name not in out:
            left[one.cpus, one.memory] = left.get((one.cpus, one.memory), 0) + 1
    classes = [[cpus, memory, count] for (cpus, memory), count in sorted(left.items())]
    return {"seconds": horizon, "resource": resource(horizon), "out": list(out), "classes": classes}
