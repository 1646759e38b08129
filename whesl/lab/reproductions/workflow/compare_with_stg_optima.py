"""Comparison of makespans with the optimal makespans of the Standard Task Graph Set."""

from __future__ import annotations

import csv
import io
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from whesl.files.packed_text import text
from whesl.lab.readers import stg
from whesl.lab.readers.workflow_graph import Graph
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.results.report_tables import Cell, Table
from whesl.lab.simulators.workflow.simulate import simulate
from whesl.lab.simulators.workflow.workload import workload
from whesl.placement.policies.list_scheduling import FIFO, RANK_HYBD

_ARCHIVES = {50: "workflows/stg-50.tar.xz", 100: "workflows/stg-100-rand0000-0089.tar.xz"}
_OPTIMA = "workflows/stg-optimal-makespans.csv"
_SOURCE = "Standard Task Graph Set"


@experiment("stg", _SOURCE, "makespans without failures beside the published optimal ones")
def optima(given: Inputs) -> Report:
    """Schedule each graph on 2, 4, 8 and 16 processors; no makespan may be below the optimum."""
    rows = list(csv.DictReader(io.StringIO(text(given.trace(_OPTIMA)))))
    if given.quick:
        rows = rows[:: len(rows) // 20]
    graphs = {(tasks, name): graph for tasks in _ARCHIVES for name, graph in _graphs(given, tasks).items()}
    ratios: dict[tuple[str, int], list[float]] = {}
    with given.progress.stage("graphs on processors", len(rows)) as advance:
        for row in rows:
            processors, optimal = int(row["processors"]), float(row["optimal_makespan"])
            tasks = workload([graphs[int(row["tasks"]), row["instance"]]], np.ones(processors), 1.0, [0.0])
            for policy in (RANK_HYBD, FIFO):
                makespan = float(simulate(tasks, policy).makespan[0])
                ratios.setdefault((policy.name, processors), []).append(makespan / optimal)
            advance(1)
    every = {name: np.concatenate([ratios[key] for key in ratios if key[0] == name]) for name, _ in ratios}
    table: list[tuple[Cell, ...]] = [
        (name, count, len(values), sum(one == 1.0 for one in values), float(np.mean(values)), max(values))
        for (name, count), values in sorted(ratios.items())
    ]
    least = min(values.min() for values in every.values())
    columns = ("policy", "processors", "graphs", "optimal", "mean over optimum", "worst over optimum")
    findings = [
        Finding(
            "optima are not beaten",
            _SOURCE,
            "no schedule is shorter than the published optimum",
            ">= 1",
            f"{least:.3f} times the optimum at least, over {len(rows)} graphs x processors",
            bool(least >= 1.0),
        )
    ]
    values = {
        name: {"optimal": int(np.sum(ratio == 1.0)), "of": len(ratio), "mean": float(ratio.mean())}
        for name, ratio in every.items()
    }
    return Report(
        findings, [Table("optima", "Makespans over the optimal ones", columns, table)], values=values
    )


def _graphs(given: Inputs, tasks: int) -> dict[str, Graph]:
    """Return the graphs of an archive by file name."""
    found = {}
    with (
        tarfile.open(given.trace(_ARCHIVES[tasks])) as archive,
        tempfile.TemporaryDirectory(prefix="whesl-stg-") as folder,
    ):
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.name.endswith(".stg") else None
            if file is not None:
                # The file's name alone, so that a path in the archive cannot leave the folder.
                path = Path(folder) / Path(member.name).name
                path.write_bytes(file.read())
                found[path.name] = stg.read(path)
    return found
