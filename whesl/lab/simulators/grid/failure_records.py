"""Reader of machine failures: MetaCentrum's records, or a table ``cluster,machine,start,end``."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from whesl.files.packed_text import text
from whesl.lab.simulators.grid.cluster_files import Cluster
from whesl.lab.simulators.grid.event_loop import Outages
from whesl.model.errors import UsageError
from whesl.prediction.failures.failure_history import merged

NONE = Outages(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
_HEADER = ["cluster", "machine", "start", "end"]
_ACCEPTED = (
    "accepted: lines of start, cluster, duration, machines of it from 0 (separated by tabs, machines by "
    "blanks; seconds), or a table that begins with cluster,machine,start,end"
)


class Loaded(NamedTuple):
    """The content of a file of failures.

    Attributes:
        outages: the outages in seconds of the log; overlapping outages of one machine are merged.
        lines: number of lines that hold a record, readable or not.
        malformed: (line, reason) of each line that cannot be read.
    """

    outages: Outages
    lines: int
    malformed: tuple[tuple[int, str], ...]


def read(path: Path, clusters: Sequence[Cluster], epoch: float, *, strict: bool) -> Loaded:
    """Read failures of machines.

    Args:
        path: the file, compressed or not.
        clusters: all clusters.
        epoch: the log's time 0 on the records' clock, in seconds; it is subtracted from each time.
        strict: whether a malformed line is an error.

    Raises:
        UsageError: a record names an unknown cluster or machine, the file has another format, or a line is
            malformed and ``strict`` is set.
    """
    lines = text(path).splitlines()
    table = bool(lines) and [word.strip() for word in lines[0].split(",")] == _HEADER
    first = {}
    machines = 0
    for cluster in clusters:
        first[cluster.name] = machines, cluster.machines
        machines += cluster.machines
    rows: list[tuple[int, float, float]] = []
    malformed: list[tuple[int, str]] = []
    used = 0
    for number, line in enumerate(lines[1:] if table else lines, 2 if table else 1):
        if not line.strip():
            continue
        used += 1
        try:
            name, indices, start, end = _table(line) if table else _metacentrum(line)
        except (ValueError, IndexError) as error:
            malformed.append((number, str(error)))
            continue
        if name not in first:
            raise UsageError(
                f"{path}:{number}: a failure of cluster {name!r}, which is not there",
                hint=f"the clusters are {', '.join(first)}",
            )
        begin, count = first[name]
        for index in indices:
            if not 0 <= index < count:
                raise UsageError(
                    f"{path}:{number}: a failure of machine {index} of {name}, which has {count}",
                    hint=f"its machines are 0 to {count - 1}",
                )
            rows.append((begin + index, start - epoch, end - epoch))
    if malformed and (strict or not rows):
        line_number, reason = malformed[0]
        raise UsageError(
            f"{path}:{line_number}: {reason}; {len(malformed)} of {used} lines cannot be read", hint=_ACCEPTED
        )
    return Loaded(outages(machines, rows), used, tuple(malformed))


def outages(machines: int, rows: Sequence[tuple[int, float, float]]) -> Outages:
    """Return outages in order of time; overlapping outages of one machine are merged.

    Args:
        machines: number of machines.
        rows: (machine, start, end) of each outage, times in seconds.
    """
    history = merged(machines, 0.0, 0.0, rows)
    return Outages(history.node.astype(np.int64), history.start, history.end)


def _metacentrum(line: str) -> tuple[str, list[int], float, float]:
    fields = line.rstrip().split("\t")
    if len(fields) < 4:
        raise ValueError(f"{len(fields)} fields")
    start, duration = float(fields[0]), float(fields[2])
    if not (math.isfinite(start) and duration >= 0):
        raise ValueError(f"from {fields[0]} for {fields[2]} seconds")
    return fields[1], [int(word) for word in fields[3].split()], start, start + duration


def _table(line: str) -> tuple[str, list[int], float, float]:
    fields = [word.strip() for word in next(csv.reader([line]))]
    if len(fields) != len(_HEADER):
        raise ValueError(f"{len(fields)} fields")
    start, end = float(fields[2]), float(fields[3]) if fields[3] else math.inf
    if not (math.isfinite(start) and end >= start):
        raise ValueError(f"from {fields[2]} to {fields[3]}")
    return fields[0], [int(fields[1])], start, end
