"""Which clusters suit a job: all, those that its (user, queue) was seen on, or by its own specification."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whesl.lab.readers.swf import Log
    from whesl.lab.simulators.grid.cluster_files import Cluster

_NODES = re.compile(r"\{[^}]*\}")


class Requirements(NamedTuple):
    """Kinds of jobs.

    Attributes:
        kind: of each of the chosen jobs, shape (jobs,).
        suits: whether a kind may run on a cluster, shape (kinds, clusters).
        unknown: properties that no cluster declares, and that were not required therefore.
    """

    kind: NDArray[np.int64]
    suits: NDArray[np.bool_]
    unknown: tuple[str, ...] = ()


def none(jobs: int, clusters: int) -> Requirements:
    """Return that each job may run anywhere (the document's BASIC and EXT-FAIL).

    Args:
        jobs: how many.
        clusters: how many.
    """
    return Requirements(np.zeros(jobs, dtype=np.int64), np.ones((1, clusters), dtype=np.bool_))


def used(log: Log, jobs: NDArray[np.int64], clusters: Sequence[Cluster]) -> Requirements:
    """Return that a job may run on the clusters on which jobs of its user and queue ran.

    The document does so with the application's name; MetaCentrum's log has none, so that (user, queue) stands
    in its place. The partition (field 16) is the cluster's number, from 1.

    Args:
        log: the job log.
        jobs: rows of it.
        clusters: that there are.

    Raises:
        UsageError: a job's partition is no cluster.
    """
    partition = log.field("partition")[jobs]
    wrong = np.flatnonzero((partition < 1) | (partition > len(clusters)))
    if len(wrong):
        row = int(jobs[wrong[0]])
        raise UsageError(
            f"{log.name}:{log.line[row]}: partition {log.field('partition')[row]:.0f} is no cluster "
            f"({len(wrong)} such jobs)",
            hint=f"--requirements used needs field 16 from 1 to {len(clusters)}",
        )
    pair = np.stack([log.field("user")[jobs], log.field("queue")[jobs]], axis=1)
    kinds, kind = np.unique(pair, axis=0, return_inverse=True)
    suits = np.zeros((len(kinds), len(clusters)), dtype=np.bool_)
    suits[kind.ravel(), partition.astype(np.int64) - 1] = True
    return Requirements(kind.ravel().astype(np.int64), suits)


def specified(log: Log, text: str, jobs: NDArray[np.int64], clusters: Sequence[Cluster]) -> Requirements:
    """Return what the jobs' own node specifications ask for: field 21 of Alea's SWF.

    In ``1:ppn=4:x86_64:cl_zewura``, ``ppn=P`` needs machines of P processors and ``cl_NAME`` is a cluster;
    ``^...`` excludes single machines and is not regarded; other words are properties, which count where any
    cluster declares them. A job without a specification may run anywhere.

    Args:
        log: the job log.
        text: its text.
        jobs: rows of it.
        clusters: that there are.
    """
    declared = {word for cluster in clusters for word in cluster.properties}
    names = {cluster.name for cluster in clusters}
    lines = text.splitlines()
    kinds: dict[str, int] = {}
    suits: list[list[bool]] = []
    unknown: set[str] = set()
    kind = np.empty(len(jobs), dtype=np.int64)
    for place, row in enumerate(jobs):
        fields = _NODES.sub("{}", lines[int(log.line[row]) - 1]).split()
        wanted = fields[20] if len(fields) > 20 else ""
        if wanted not in kinds:
            kinds[wanted] = len(suits)
            words = [word for part in wanted.split("+") for word in part.partition("#")[0].split(":")]
            perhaps = {w for w in words if w and not w.startswith("^") and "=" not in w and not w.isdigit()}
            chosen = {w.removeprefix("cl_") for w in perhaps if w.removeprefix("cl_") in names}
            needed = perhaps & declared
            unknown |= {w for w in perhaps - declared if w.removeprefix("cl_") not in names}
            each = max((int(w[4:]) for w in words if w.startswith("ppn=") and w[4:].isdecimal()), default=1)
            suits.append(
                [
                    (not chosen or cluster.name in chosen)
                    and needed <= set(cluster.properties)
                    and max(cluster.each()) >= each
                    for cluster in clusters
                ]
            )
        kind[place] = kinds[wanted]
    return Requirements(kind, np.array(suits, dtype=np.bool_), tuple(sorted(unknown)))
