"""``whesl lab cloud``: the evaluation of plans over a cluster and a cloud."""

from __future__ import annotations

from pathlib import Path

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import EXISTING_FOLDER, OUT, QUIET, seed_option
from whesl.cli.parameters import option, parameters


@click.command()
@parameters
def cloud(
    *,
    cases: int = option(1000, "Cases of each workflow [1000].", "N", least=4),
    nodes: int = option(795, "Nodes of the cluster [795].", "N", least=8),
    workflows: tuple[str, ...] = option(
        (), "One of the two, or both [both].", names="--workflow", choices=("OAI", "RNASEQ")
    ),
    calibration: bool = option(False, "Judge the stated probabilities, not the schedulers."),
    data: Path | None = option(
        None,
        "Theta's and Curie's logs; else one is generated.",
        "DIR",
        type=EXISTING_FOLDER,
    ),
    seed: int = seed_option(1),
    jobs: int = option(2, "Processes [2].", "N", least=1),
    out: Path | None = OUT,
    in_json: bool = option(False, "Print the findings as JSON.", names="--json"),
    quiet: bool = QUIET,
) -> None:
    """Simulate OAI and RNASEQ on a cluster and a cloud under several schedulers; say which findings hold.

    With --out DIR: tables, figures, DIR/index.html, and DIR/cases.jsonl, from which the same command goes on
    after it was ended.
    """
    import msgspec

    from whesl.lab.reproductions import results_page
    from whesl.lab.reproductions.cloud import reproduce
    from whesl.lab.reproductions.runner import Outcome
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json, plain
    from whesl.lab.results.report_folder import write_results
    from whesl.lab.results.report_tables import markdown
    from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, DOCUMENT, OURS, Plan, evaluate

    progress = shown(quiet=quiet)
    if data is None:
        progress.note("no --data: the job log is generated (synthetic)")
    plan = Plan(
        cases=cases,
        nodes=nodes,
        variants=(OURS, ADAPTIVE) if calibration else DOCUMENT,
        data=data,
        seed=seed,
        jobs=jobs,
        workflows=workflows or ("OAI", "RNASEQ"),
    )
    rows = evaluate(plan, progress, None if out is None else out / "cases.jsonl")
    report = reproduce.stated(rows) if calibration else reproduce.document(rows)
    if out is not None:
        outcome = Outcome("cloud", "HPC+Cloud", f"{cases} cases each, {nodes} nodes", report)
        write_results(out, report.tables, report.figures, page=results_page.page(outcome, quick=False))
    if in_json:
        found = [msgspec.to_builtins(finding, enc_hook=plain) for finding in report.findings]
        click.echo(as_json({"findings": found, "values": dict(report.values)}), nl=False)
        return
    for table in (results_page.findings(report.findings), *report.tables):
        click.echo(markdown(table))
