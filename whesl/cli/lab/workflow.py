"""``whesl lab workflow``: workflows on nodes that fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FAILURES, FILE, JSON, OUT, QUIET, SEED, STRICT, SYSTEM
from whesl.cli.parameters import option, parameters, required
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.lab.readers.workflow_graph import Graph
    from whesl.lab.simulators.workflow.simulate import Outcome
    from whesl.lab.simulators.workflow.workload import Workload
    from whesl.prediction.failures.failure_history import History

_POLICIES = ("flaw", "rank_hybd", "fifo", "aware-fifo", "reliable")
# Limits of plain Python, which is faster for small problems since compiling takes half a minute: tasks times
# nodes times policies, and nodes (58 tasks on 50 nodes: 0.1 s; on 1,000 nodes 10 s).
_PLAIN_PAIRS, _PLAIN_NODES = 20_000, 100


@click.command()
@parameters
def workflow(
    *,
    workflows: tuple[Path, ...] = required(
        "WfCommons .json or Standard Task Graph .stg, also packed (gzip, bzip2, xz); again for several at "
        "once.",
        "FILE",
        "--workflow",
        type=FILE,
    ),
    resources: Path | None = option(
        None, "The machine: bandwidth, [[nodes]] count, speed.", "TOML", type=FILE
    ),
    nodes: int | None = option(None, "So many nodes of speed 1.", "N", least=1, most=1_000_000),
    failures: Path | None = FAILURES,
    system: str | None = SYSTEM,
    strict: bool = STRICT,
    at: float = option(
        0.0, "When the first workflow arrives, after the records' begin [0].", "SECONDS", least=0
    ),
    every: float = option(0.0, "Time between arrivals [0].", "SECONDS", least=0),
    policies: tuple[str, ...] = option(
        ("flaw",),
        "Who starts where; again for several, side by side [flaw].",
        names="--policy",
        choices=_POLICIES,
    ),
    ascending: bool = option(False, "By ascending rank while the pool holds several workflows."),
    predictor: str = option(
        "none",
        "survival, frailty, ffp, learned, ... (fitted to what came before the first workflow), exact, none,"
        " or aoa:A[:MIX], predictions of accuracy A [none].",
        "NAME",
    ),
    threshold: float | None = option(
        None, "The predictor says yes from this probability on [its own].", "P", least=0, most=1
    ),
    seed: int = SEED,
    out: Path | None = OUT,
    in_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Simulate workflows on nodes that fail, under one policy or several.

    With --out DIR and one policy: DIR/jobs.parquet, DIR/attempts.parquet and DIR/summary.json; with several,
    one directory for each below DIR. Times are seconds after the begin of the failure records. Each run is
    audited before it is written.
    """
    from dataclasses import replace

    import numpy as np

    from whesl.lab.readers import machine_file
    from whesl.lab.readers.workflow_formats import read
    from whesl.prediction import compile_choice

    if resources is not None and nodes is not None:
        raise UsageError("--resources and --nodes both say what the machine is", hint="give one of them")
    progress = shown(quiet=quiet)
    graphs = [read(path) for path in workflows]
    machine = machine_file.read(resources) if resources is not None else None
    speeds = machine.speeds() if machine is not None else [1.0] * (nodes or 0)
    # Plain Python has to be chosen before modules with compiled functions are loaded.
    pairs = len(speeds) * sum(map(len, graphs)) * len(policies)
    if failures is None and predictor == "none" and len(speeds) <= _PLAIN_NODES and pairs <= _PLAIN_PAIRS:
        compile_choice.in_plain_python()

    from whesl.lab.predictor_evaluation import catalogue
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json
    from whesl.lab.results.report_tables import Table, markdown
    from whesl.lab.simulators.workflow.audit import audit
    from whesl.lab.simulators.workflow.simulate import simulate
    from whesl.lab.simulators.workflow.workload import workload
    from whesl.placement.policies.list_scheduling import POLICIES
    from whesl.prediction.failures.failure_history import merged

    truth = _records(failures, nodes, system, strict=strict, note=progress.note)
    if not speeds and truth is None:
        raise UsageError("no machine", hint="--nodes N or --resources R.toml says what it is")
    if truth is None:
        truth = merged(len(speeds), 0.0, 0.0, [])
    speeds = speeds or [1.0] * truth.nodes
    if truth.nodes != len(speeds):
        raise UsageError(
            f"{failures}: failures of {truth.nodes} nodes, and the machine has {len(speeds)}",
            hint=f"--nodes {truth.nodes}, or the records of another machine (--system)",
        )
    arrival = [truth.begin + at + every * number for number in range(len(graphs))]
    bandwidth = machine.bandwidth if machine is not None else machine_file.BANDWIDTH
    tasks = workload(graphs, np.array(speeds), bandwidth, arrival)
    given = catalogue.made(catalogue.asked(predictor), truth, arrival[0], seed)
    if threshold is not None:
        given = given.at_threshold(threshold)
    summaries = []
    with progress.stage("policies", len(policies)) as advance:
        for name in dict.fromkeys(policies):
            policy = POLICIES[name]
            if ascending:
                if policy.arrival:
                    raise UsageError(f"--ascending does not fit {name}, which takes jobs by arrival")
                policy = replace(policy, hybrid=True)
            if policy.aware and predictor == "none":
                progress.note(f"{name} asks no predictor (--predictor), and expects no failure")
            outcome = simulate(tasks, policy, truth, given)
            audit(tasks, truth, outcome)
            summary = _summary(name, outcome, graphs, truth) | {
                "ascending": ascending,
                "predictor": outcome.predictor,
                "seed": seed,
                "nodes": truth.nodes,
                "failures": None if failures is None else str(failures),
            }
            if out is not None:
                _write(
                    out if len(policies) == 1 else out / name, tasks, graphs, outcome, summary, truth.begin
                )
            summaries.append(summary)
            advance(1)
    if in_json:
        click.echo(as_json(summaries[0] if len(summaries) == 1 else summaries), nl=False)
        return
    columns = ("policy", "mean_makespan", "end", "loss", "reschedulings", "aaa")
    rows = [[summary[column] for column in columns] for summary in summaries]
    titles = ("policy", "mean makespan, s", "last end, s", "loss, s", "rescheduled", "AAA")
    click.echo(markdown(Table("policies", "", titles, rows)), nl=False)


def _records(
    path: Path | None, nodes: int | None, system: str | None, *, strict: bool, note: Any
) -> History | None:
    from whesl.lab.readers import failures

    if path is None:
        if system is not None or strict:
            raise UsageError("--system and --strict say how --failures is read, which is not given")
        return None
    loaded = failures.read(path, system=system, strict=strict)
    if loaded.format == "csv" and nodes is not None:
        loaded = failures.read(path, nodes=nodes, system=system, strict=strict)
    if loaded.malformed:
        note(f"{path}: {failures.told(loaded.malformed)}")
    return loaded.history


def _summary(name: str, outcome: Outcome, graphs: list[Graph], truth: History) -> dict[str, Any]:
    """Return the measures of a run; times are seconds after the begin of the failure records."""
    return {
        "policy": name,
        "workflows": [graph.name for graph in graphs],
        "tasks": sum(map(len, graphs)),
        "makespan": outcome.makespan.tolist(),
        "mean_makespan": float(outcome.makespan.mean()),
        "end": float(outcome.end.max() - truth.begin),
        "loss": outcome.loss,
        "reschedulings": outcome.reschedulings,
        "aaa": outcome.aaa,
        "queries": outcome.asked,
        "aaa_asked": outcome.aaa_asked,
        "questions": outcome.questions,
    }


def _write(
    out: Path, tasks: Workload, graphs: list[Graph], outcome: Outcome, summary: dict[str, Any], begin: float
) -> None:
    """Write a run's files; the summary is written last."""
    import numpy as np

    from whesl.lab.results.jobs_parquet_and_summary_json import write_jobs, write_parquet, write_summary

    metadata = {"policy": outcome.policy, "predictor": outcome.predictor}
    attempts = outcome.attempts
    write_parquet(
        out / "attempts.parquet",
        {
            "job": attempts.task,
            "node": attempts.node,
            "start": attempts.start - begin,
            "end": attempts.end - begin,
            "completed": attempts.completed,
        },
        metadata,
    )
    write_jobs(
        out,
        {
            "job": np.arange(len(outcome.end)),
            "name": np.array([name for graph in graphs for name in graph.tasks]),
            "workflow": tasks.workflow,
            "submit": outcome.submit - begin,
            "start": outcome.start - begin,
            "end": outcome.end - begin,
            "processors": np.ones(len(outcome.end), dtype=np.int64),
            "node": outcome.node,
            "attempts": outcome.killed + 1,
            "killed": outcome.killed,
            "lost": outcome.lost,
        },
        metadata,
    )
    write_summary(out, summary)
