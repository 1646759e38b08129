"""Readers of clusters: a TOML file, or the tables of the Alea simulator's data sets.

[[cluster]]
name = "zewura"
machines = 20
cpus = 80            # processors of each machine; a list if the numbers differ
speed = 1.0          # orders clusters by preference; run times are the log's
properties = ["x86_64", "nfs4"]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from whesl.files import toml
from whesl.files.packed_text import text
from whesl.lab.simulators.grid.event_loop import Grid
from whesl.model.errors import UsageError

# More processors than any site has; the limit keeps a mistyped number from filling the memory.
_MOST = 10_000_000
_ACCEPTED = '[[cluster]] with name = "a", machines = 20, cpus = 8, and speed, properties if wanted'


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster: machines that differ at most in their numbers of processors.

    Attributes:
        name: the cluster's name in failure records.
        machines: number of machines.
        cpus: number of processors of each machine; a list if the numbers differ.
        speed: relative speed; faster clusters are preferred.
        properties: properties that jobs may require.
    """

    name: str
    machines: int
    cpus: int | list[int]
    speed: float = 1.0
    properties: list[str] = []

    def each(self) -> list[int]:
        """Return the number of processors of each machine."""
        return self.cpus if isinstance(self.cpus, list) else [self.cpus] * self.machines


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cluster: list[Cluster]


def read(path: Path) -> list[Cluster]:
    """Read clusters from a file.

    Args:
        path: a ``.toml`` file, or a table of Alea's, tab-separated: id, name, machines, processors of each,
            speed, ... or id, name, MHz, KB, type, system, properties, machines, processors, of each, ...

    Raises:
        UsageError: the file is neither, or has impossible values; the message names the line.
    """
    if path.suffix == ".toml":
        document = toml.load(path, _ACCEPTED)
        clusters = document.whole(_File).cluster
        for number, message in _wrong(clusters):
            document.wrong(message, "cluster", number)
        document.check()
    else:
        rows = [(n, line.split("\t")) for n, line in enumerate(text(path).splitlines(), 1) if line.strip()]
        clusters = [_row(path, n, row) for n, row in rows]
        if wrong := [f"{path}:{rows[number][0]}: {message}" for number, message in _wrong(clusters)]:
            raise UsageError("\n".join(wrong), hint=_ACCEPTED)
    if not clusters:
        raise UsageError(f"{path}: no cluster", hint=_ACCEPTED)
    return clusters


def _wrong(clusters: list[Cluster]) -> Iterator[tuple[int, str]]:
    """Yield the index of each wrong cluster, and an error message."""
    names: set[str] = set()
    for number, cluster in enumerate(clusters):
        if not 0 < cluster.machines <= _MOST or not 0 < sum(cluster.each()) <= _MOST:
            yield number, f"cluster {cluster.name}: 1 to {_MOST:,} machines and processors are possible"
        elif len(cluster.each()) != cluster.machines or min(cluster.each()) < 1:
            yield (
                number,
                (
                    f"cluster {cluster.name}: {cluster.machines} machines of {cluster.cpus};"
                    " both are 1 or more, cpus one number or one for each machine"
                ),
            )
        if cluster.name in names:
            yield number, f"cluster {cluster.name} is listed twice"
        names.add(cluster.name)


def _row(path: Path, line: int, row: list[str]) -> Cluster:
    try:
        if len(row) >= 10:
            machines = int(row[7])
            cpus = [int(number) for number in row[9].split(",")][:machines]  # Alea: one row has one too many
            return Cluster(row[1], machines, cpus, float(row[2]), row[6].split(","))
        return Cluster(row[1], int(row[2]), int(row[3]), float(row[4]))
    except (IndexError, ValueError) as error:
        why = f"{len(row)} fields between tabs" if isinstance(error, IndexError) else str(error)
        raise UsageError(
            f"{path}:{line}: no cluster: {why}",
            hint=f"accepted: {_ACCEPTED} in a .toml file, or Alea's tab-separated tables",
        ) from error


def grid(clusters: Sequence[Cluster]) -> Grid:
    """Return the clusters as arrays for the event loop."""
    first = np.cumsum([0] + [cluster.machines for cluster in clusters]).astype(np.int64)
    cpus = np.array([number for cluster in clusters for number in cluster.each()], dtype=np.int64)
    total = [sum(cluster.each()) for cluster in clusters]
    order = sorted(range(len(clusters)), key=lambda c: (-clusters[c].speed, -total[c], c))
    return Grid(first, cpus, np.array(order, dtype=np.int64))
