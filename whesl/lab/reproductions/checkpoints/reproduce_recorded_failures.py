"""Checkpoint models on the recorded failures of LANL's systems 8 and 18 instead of fitted distributions."""

from __future__ import annotations

import numpy as np

from whesl.lab.readers import failures as readers
from whesl.lab.reproductions.checkpoints.reproduce import SOURCE, bench_of
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.simulators.checkpoints import studies
from whesl.lab.simulators.checkpoints.evaluate import HOUR, reduction
from whesl.prediction.failures import failure_time_distributions

RECORDS = "lanl/LA-UR-05-7318-failure-data-1996-2005.csv.xz"


@experiment("ckpt-lanl", SOURCE, "Checkpoint models on LANL's own records, and the fits of Table 2.3")
def lanl(given: Inputs) -> Report:
    """Fit the distributions of Table 2.3 again, and run the checkpoint models on the recorded failures."""
    path = given.trace(RECORDS)
    bench, applications = bench_of(given)
    findings, tables, figures = [], [], []
    values: dict[str, object] = {}
    for failures in bench.machine.failures:
        if not failures.name.startswith("LANL"):
            continue
        system = failures.name.split()[1]
        between = np.diff(readers.read(path, system=system).starts)
        recorded = tuple(float(gap) for gap in between[between > 0])
        shape, scale = failure_time_distributions.fit("weibull", np.array(recorded) / HOUR).parameters
        apart = max(abs(shape / failures.shape - 1), abs(scale / failures.scale_hours - 1))
        values[f"system {system}"] = {"shape": shape, "scale_hours": scale, "gaps": len(recorded)}
        findings.append(
            Finding(
                f"fit, system {system}",
                "Table 2.3",
                f"Weibull distribution of the times between failures of LANL's system {system}",
                f"({failures.shape}, {failures.scale_hours})",
                f"({shape:.4f}, {scale:.4f})",
                apart <= 0.001,
                f"{100 * apart:.3f} %",
            )
        )
        drawn = studies.overheads(bench, list(applications.values()), failures)
        replayed = studies.overheads(bench, list(applications.values()), failures, recorded=recorded)
        name, title = f"overheads-lanl-{system}-recorded", f"Overheads, LANL {system}'s own records"
        tables.append(studies.overhead_table(replayed, name, title))
        figures.append(studies.overhead_figure(replayed, name, title))
        both = [
            [100 * reduction(found[name, "B"], found[name, "P2"]) for name in applications]
            for found in (drawn, replayed)
        ]
        findings.append(
            Finding(
                f"records, system {system}",
                "Figures 2.15 and 2.16",
                "P2 reduces the overhead of B as much on the records as on the distribution fitted to them",
                f"{min(both[0]):.1f} to {max(both[0]):.1f} % (fitted)",
                f"{min(both[1]):.1f} to {max(both[1]):.1f} % (recorded)",
                max(abs(one - other) for one, other in zip(*both, strict=True)) <= 5,
                why="failures come in bursts, which a Weibull distribution of independent gaps does not have",
            )
        )
    return Report(findings, tables, figures, values)
