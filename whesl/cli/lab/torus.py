"""``whesl lab torus``: a job log on a three-dimensional torus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import AUDIT, FAILURES, JSON, LOG, OUT, QUIET, SEED, STRICT, SYSTEM
from whesl.cli.parameters import option, parameters
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.readers.swf import Log
    from whesl.lab.simulators.torus.event_loop import Outcome
    from whesl.lab.simulators.torus.workload import Workload
    from whesl.placement.policies.torus.boxes import Torus
    from whesl.prediction.failures.failure_history import History

_POLICIES = ("krevat", "balancing", "balancing-max", "tie-breaking", "reliable")
_SHAPE = re.compile(r"(\d{1,5})x(\d{1,5})x(\d{1,5})")


@click.command()
@parameters
def torus(
    *,
    log_file: Path = LOG,
    shape: str = option("4x4x8", "Nodes of the torus [4x4x8].", "XxYxZ"),
    supernode: int = option(1, "Processors of each node [1].", "N", least=1),
    policy: str = option("krevat", "Which partition a job gets [krevat].", choices=_POLICIES),
    confidence: float | None = option(None, "Of balancing's predictor [0].", "A", least=0, most=1),
    accuracy: float | None = option(None, "Of tie-breaking's predictor [0].", "A", least=0, most=1),
    failures: Path | None = FAILURES,
    system: str | None = SYSTEM,
    failure_count: int | None = option(
        None,
        "Thin records of another machine to N, folded on the nodes, stretched over the log's time.",
        "N",
        least=0,
        most=10_000_000,
    ),
    load: float = option(1.0, "Factor on run times [1].", "C", above=0),
    no_migration: bool = option(False, "Do not move running jobs."),
    no_backfill: bool = option(False, "No job overtakes the head of the queue."),
    draw_per_query: bool = option(False, "Tie-breaking draws for each question, not for each failure."),
    skip_oversized: bool = option(False, "Leave out jobs that no partition suits, instead of an error."),
    seed: int = SEED,
    strict: bool = STRICT,
    audited: bool = AUDIT,
    out: Path | None = OUT,
    in_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Simulate a job log on a torus: contiguous rectangular partitions, with wrap-around.

    With --out DIR: DIR/jobs.parquet and DIR/summary.json. First come, first served, with backfilling and
    migration. A node that fails is usable at once; the job that held it starts again from its beginning.
    """
    from whesl.lab.readers import swf
    from whesl.lab.readers.failures import told
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json, write_summary
    from whesl.lab.results.report_tables import Table, markdown
    from whesl.lab.simulators.torus import simulation
    from whesl.lab.simulators.torus.audit import audit
    from whesl.lab.simulators.torus.thinning import rate
    from whesl.lab.simulators.torus.workload import workload

    level = _level(policy, confidence, accuracy, failures)
    progress = shown(quiet=quiet)
    edges = _SHAPE.fullmatch(shape)
    if edges is None:
        raise UsageError(f"--shape {shape!r} is no torus", hint="for example 4x4x8")
    geometry = simulation.shape(*map(int, edges.groups()))
    log = swf.read(log_file, strict=strict)
    if log.malformed:
        progress.note(f"{log.name}: {told(log.malformed)}")
    work = workload(log, geometry, supernode, load, skip_oversized=skip_oversized)
    truth = _truth(
        failures, system, failure_count, geometry, work, log, seed, strict=strict, note=progress.note
    )
    begin = float(work.jobs.submit[0])
    how = simulation.Study(policy, level, not no_migration, not no_backfill, draw_per_query, seed)
    outcome, figures = simulation.simulate(geometry, work.jobs, truth, how, record=audited)
    if audited:
        falls = list(zip(truth.start.tolist(), truth.node.tolist(), strict=True))
        if wrong := audit(geometry.dims, work.jobs, outcome, falls):
            raise WheslError(f"the run broke {len(wrong)} rules, a defect of the simulator: {wrong[0]}")
    summary: dict[str, Any] = {
        "policy": policy,
        "level": level,
        "log": str(log_file),
        "shape": list(geometry.dims),
        "supernode": supernode,
        "load": load,
        "migration": how.migration,
        "backfill": how.backfill,
        "failures": str(failures) if failures else None,
        "failure_count": len(truth),
        "failures_per_node_day": rate(truth, begin, begin + figures.makespan),
        "seed": seed,
        "malformed": len(log.malformed),
        "without_run_time": work.without,
        "oversized": len(work.oversized),
        "larger_box": work.grown,
        **figures._asdict(),
    }
    if out is not None:
        _write(out, geometry, work, outcome, policy)
        write_summary(out, summary)
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    names = ("mean_wait", "mean_response", "mean_bounded_slowdown", "utilised", "unused", "lost", "killed")
    titles = (
        "policy",
        "a",
        "wait, s",
        "response, s",
        "bounded slowdown",
        "utilised",
        "unused",
        "lost",
        "killed",
    )
    row = (policy, level, *(summary[name] for name in names))
    click.echo(markdown(Table("torus", "", titles, [row])), nl=False)


def _level(policy: str, confidence: float | None, accuracy: float | None, failures: Path | None) -> float:
    wanted = {
        "balancing": "confidence",
        "balancing-max": "confidence",
        "reliable": "confidence",
        "tie-breaking": "accuracy",
    }.get(policy, "")
    given = {"confidence": confidence, "accuracy": accuracy}
    for name, value in given.items():
        if value is not None and name != wanted:
            raise UsageError(
                f"--{name} does not fit {policy}",
                hint=f"it takes --{wanted}" if wanted else "it asks no predictor",
            )
        if value is not None and failures is None:
            raise UsageError(f"--{name} is about predicted failures", hint="--failures FILE says which come")
    return given.get(wanted) or 0.0


def _truth(
    path: Path | None,
    system: str | None,
    count: int | None,
    geometry: Torus,
    work: Workload,
    log: Log,
    seed: int,
    *,
    strict: bool,
    note: Any,
) -> History:
    """Return the failures in the log's seconds."""
    from whesl.lab.readers import failures
    from whesl.lab.simulators.cluster.failure_alignment import beside
    from whesl.lab.simulators.torus import simulation
    from whesl.lab.simulators.torus.thinning import thinned

    begin, finish = float(work.jobs.submit[0]), float(work.jobs.submit[-1])
    longest = max(finish, float((work.jobs.submit + work.jobs.time).max()))
    if path is None:
        if system is not None or count is not None:
            raise UsageError("--system and --failure-count say how --failures is read, which is not given")
        return simulation.nothing(geometry.nodes, begin, finish)
    loaded = failures.read(path, system=system, strict=strict)
    if loaded.malformed:
        note(f"{path}: {failures.told(loaded.malformed)}")
    history = loaded.history
    if count is not None:
        return thinned(history, geometry.nodes, begin, finish, count, seed)
    if loaded.format == "csv":
        history = failures.read(path, nodes=geometry.nodes, strict=strict).history
    if loaded.format != "csv" or not ((history.start >= begin) & (history.start <= longest)).any():
        history, shift = beside(log, history, geometry.nodes, begin, finish)
        note(f"{path}: times are shifted by {shift:.0f} s to those of {log.name}")
    if len(history) and not ((history.start >= begin) & (history.start <= longest)).any():
        raise UsageError(
            f"{path}: no failure within the log's time ({begin:.0f} to {longest:.0f} s): the first is at "
            f"{history.start[0]:.0f}",
            hint="--failure-count N stretches any records over it",
        )
    return history


def _write(out: Path, geometry: Torus, work: Workload, outcome: Outcome, policy: str) -> None:
    import numpy as np

    from whesl.lab.results.jobs_parquet_and_summary_json import Ragged, write_jobs
    from whesl.placement.policies.torus.boxes import members

    nodes = [members(geometry, box) for box in outcome.box]
    offsets = np.concatenate([[0], np.cumsum([len(held) for held in nodes])])
    columns: dict[str, NDArray[Any] | Ragged] = {
        "job": work.identifier,
        "submit": work.jobs.submit,
        "start": outcome.start,
        "end": outcome.end,
        "processors": work.processors,
        "nodes": Ragged(offsets, np.concatenate(nodes)),
        "attempts": outcome.attempts,
        "killed": outcome.attempts - 1,
    }
    for place, name in enumerate(("x", "y", "z", "edge_x", "edge_y", "edge_z")):
        columns[name] = outcome.box[:, place]
    write_jobs(out, columns, {"policy": policy})
