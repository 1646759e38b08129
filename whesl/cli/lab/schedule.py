"""``whesl lab schedule``: a job log on a cluster."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.options import FAILURES, FOLDER, JSON, LOG, SEED, SYSTEM
from whesl.cli.parameters import option, parameters
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.simulators.cluster.simulation import Simulation
    from whesl.prediction.failures.failure_history import History


@click.command()
@parameters
def schedule(
    *,
    log_file: Path = LOG,
    processors: int | None = option(None, "Of the machine [MaxProcs of the log].", "N", least=1),
    policy: str = option(
        "easy",
        "Who starts when; reliable also says where.",
        shown=True,
        choices=("fcfs", "easy", "conservative", "reliable"),
    ),
    failures: Path | None = FAILURES,
    system: str | None = SYSTEM,
    predictor: str = option(
        "none",
        "What reliable asks: none, exact, aoa:A[:MIX], confidence:A, tie-breaking:A, survival [none].",
        "P",
    ),
    checkpoint: float | None = option(
        None,
        "Interval between a job's own checkpoints; without it a killed job begins anew.",
        "SECONDS",
        above=0,
    ),
    seed: int = SEED,
    strict: bool = option(False, "Refuse lines that are malformed or cannot be simulated."),
    out: Path | None = option(None, "Write DIR/jobs.parquet and DIR/summary.json.", "DIR", type=FOLDER),
    in_json: bool = JSON,
) -> None:
    """Simulate a job log on a cluster of single-processor nodes under a policy.

    A node that fails kills its job, which waits again at its place by arrival.
    """
    from whesl.lab.readers import swf
    from whesl.lab.simulators.cluster import simulation_records
    from whesl.prediction import compile_choice

    # Loading numba takes longer than most simulations, and its modules choose when they are loaded.
    compile_choice.in_plain_python()
    read = swf.read(log_file, strict=strict)
    nodes = processors or read.processors()
    if nodes is None:
        raise UsageError(
            f"{log_file}: its header does not say how many processors the machine has (MaxProcs)",
            hint="--processors N says so",
        )
    work, excluded = simulation_records.workload(
        read, nodes, checkpoint=checkpoint or float("inf"), strict=strict
    )
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json
    from whesl.lab.simulators.cluster.simulation import simulate
    from whesl.lab.simulators.cluster.simulation_records import spans

    truth, shift = None, 0.0
    if failures is not None:
        from whesl.lab.simulators.cluster.failure_alignment import beside

        truth = _records(failures, system, nodes, strict=strict)
        try:
            truth, shift = beside(read, truth, nodes, float(work.submit[0]), float(work.submit[-1]))
        except UsageError as error:
            raise UsageError(f"{failures}: {error.message}", hint=error.hint) from error
    elif predictor != "none" or system is not None:
        raise UsageError("--predictor and --system are about failures", hint="--failures FILE gives them")
    given = None
    if policy == "reliable":
        if truth is None:
            raise UsageError("the policy reliable needs failures to avoid", hint="--failures FILE gives them")
        from whesl.lab.simulators.cluster.failure_alignment import predictor as named

        given = named(predictor, truth, seed, float(work.submit[0]))
    begun = time.perf_counter()
    result = simulate(work, nodes, policy, history=truth, predictor=given)
    summary: dict[str, Any] = {
        "log": str(log_file),
        "processors": nodes,
        "policy": policy,
        "predictor": None if given is None else given.name,
        "failures": None if failures is None else str(failures),
        "failures_shifted_by": shift,
        "seed": seed,
        "checkpoint": checkpoint,
        **result.measures,
        "lines_malformed": [{"line": line, "reason": reason} for line, reason in read.malformed],
        "lines_noted": [
            {"reason": each.reason, "count": len(each.lines), "lines": spans(each.lines)} for each in excluded
        ],
        "simulated_in": time.perf_counter() - begun,
    }
    _audit(result, truth)
    if out is not None:
        _write(out, result, summary)
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    if failures is not None:
        click.echo(f"{failures}: times are shifted by {shift:.0f} s to those of {log_file.name}", err=True)
    for line, reason in read.malformed[: simulation_records.SHOWN]:
        click.echo(f"{log_file}:{line}: {reason}; left out", err=True)
    if len(read.malformed) > simulation_records.SHOWN:
        click.echo(f"{log_file}: {len(read.malformed)} malformed lines in all; left out", err=True)
    for each in excluded:
        click.echo(f"{log_file}: {len(each.lines)} job{'s' if len(each.lines) > 1 else ''}, {each}", err=True)
    for name, value in result.measures.items():
        click.echo(f"{name:22} {value:,}" if isinstance(value, int) else f"{name:22} {value:,.3f}")


def _audit(result: Simulation, truth: History | None) -> None:
    from whesl.lab.simulators.cluster.audit import audit

    wrong = audit(result.work, result.nodes, result.attempts, truth)
    if wrong:
        raise WheslError(f"the audit found {len(wrong)} faults of the simulation: {'; '.join(wrong[:5])}")


def _records(path: Path, system: str | None, nodes: int, *, strict: bool) -> History:
    from whesl.lab.readers import failures

    loaded = failures.read(path, system=system, strict=strict)
    if loaded.format == "csv":  # a CSV log has the nodes in its lines
        loaded = failures.read(path, nodes=nodes, system=system, strict=strict)
    if loaded.malformed:
        click.echo(f"{path}: {failures.told(loaded.malformed)}", err=True)
    return loaded.history


def _write(out: Path, result: Simulation, summary: dict[str, Any]) -> None:
    from whesl.lab.results.jobs_parquet_and_summary_json import Ragged, write_jobs, write_summary
    from whesl.lab.simulators.cluster.measures import nodes_held

    rows = result.outcome
    columns: dict[str, NDArray[Any] | Ragged] = {
        "job": result.work.job,
        "submit": result.work.submit,
        "start": rows.start,
        "end": rows.end,
        "processors": result.work.size,
        "nodes": Ragged(*nodes_held(result.work, result.attempts, rows)),
        "attempts": rows.attempts,
        "killed": rows.killed,
    }
    write_jobs(out, columns, {"policy": result.policy, "log": str(summary["log"]), "times": "seconds"})
    write_summary(out, summary)
