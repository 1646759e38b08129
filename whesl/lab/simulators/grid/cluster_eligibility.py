"""Suitable clusters of a job: all, the clusters used by its (user, queue), or by its own specification."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers.swf import Log
from whesl.lab.simulators.grid.cluster_files import Cluster
from whesl.model.errors import UsageError

_NODES = re.compile(r"\{[^}]*\}")


class Requirements(NamedTuple):
    """The kinds of jobs, by the clusters that suit them.

    Attributes:
        kind: kind of each chosen job, shape (jobs,).
        suits: whether a kind may run on a cluster, shape (kinds, clusters).
        unknown: requested properties that no cluster declares and that are therefore ignored.
    """

    kind: NDArray[np.int64]
    suits: NDArray[np.bool_]
    unknown: tuple[str, ...] = ()


def none(jobs: int, clusters: int) -> Requirements:
    """Return requirements under which each job may run anywhere (the document's BASIC and EXT-FAIL).

    Args:
        jobs: number of jobs.
        clusters: number of clusters.
    """
    return Requirements(np.zeros(jobs, dtype=np.int64), np.ones((1, clusters), dtype=np.bool_))


def used(log: Log, jobs: NDArray[np.int64], clusters: Sequence[Cluster]) -> Requirements:
    """Return requirements by which a job may run on the clusters on which jobs of its user and queue ran.

    The document uses the application's name, which MetaCentrum's log lacks, so (user, queue) replaces it. The
    partition (field 16) is the cluster's number, from 1.

    Args:
        log: the job log.
        jobs: rows of the chosen jobs in the log.
        clusters: all clusters.

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
    """Return the requirements of the jobs' own node specifications, field 21 of Alea's SWF.

    In ``1:ppn=4:x86_64:cl_zewura``, ``ppn=P`` needs machines of P processors and ``cl_NAME`` is a cluster;
    ``^...`` excludes single machines and is ignored; other words are properties, which count if any cluster
    declares them. A job without a specification may run anywhere.

    Args:
        log: the job log.
        text: the log's text.
        jobs: rows of the chosen jobs in the log.
        clusters: all clusters.
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
