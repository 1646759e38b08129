"""``whesl lab cloud``: the evaluation of plans over a cluster and a cloud."""

from __future__ import annotations

from pathlib import Path

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import out_option, quiet_option, seed_option


@click.command()
@click.option(
    "--cases", type=click.IntRange(4), default=1000, metavar="N", help="Cases of each workflow [1000]."
)
@click.option("--nodes", type=click.IntRange(8), default=795, metavar="N", help="Nodes of the cluster [795].")
@click.option(
    "--workflow",
    "workflows",
    type=click.Choice(["OAI", "RNASEQ"]),
    multiple=True,
    help="One of the two, or both [both].",
)
@click.option("--calibration", is_flag=True, help="Judge the stated probabilities, not the schedulers.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Theta's and Curie's logs; else one is generated.",
)
@seed_option(1)
@click.option("--jobs", type=click.IntRange(1), default=2, metavar="N", help="Processes [2].")
@out_option
@click.option("--json", "in_json", is_flag=True, help="Print the findings as JSON.")
@quiet_option
def cloud(
    cases: int,
    nodes: int,
    workflows: tuple[str, ...],
    calibration: bool,
    data: Path | None,
    seed: int,
    jobs: int,
    out: Path | None,
    in_json: bool,
    quiet: bool,
) -> None:
    """Simulate OAI and RNASEQ on a cluster and a cloud under several schedulers; say which findings hold.

    With --out DIR: tables, figures, DIR/index.html, and DIR/cases.jsonl, from which the same command goes on
    after it was ended.
    """
    import msgspec

    from whesl.lab.reproductions import results_page
    from whesl.lab.reproductions.cloud import reproduce
    from whesl.lab.reproductions.runner import Outcome
    from whesl.lab.results.figures import write_figure
    from whesl.lab.results.page import write_page
    from whesl.lab.results.result_writers import as_json, markdown, plain, write_table
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
        for table in report.tables:
            write_table(out, table)
        for figure in report.figures:
            write_figure(out, figure)
        outcome = Outcome("cloud", "HPC+Cloud", f"{cases} cases each, {nodes} nodes", report)
        write_page(out / "index.html", results_page.page(outcome, quick=False))
    if in_json:
        found = [msgspec.to_builtins(finding, enc_hook=plain) for finding in report.findings]
        click.echo(as_json({"findings": found, "values": dict(report.values)}), nl=False)
        return
    for table in (results_page.findings(report.findings), *report.tables):
        click.echo(markdown(table))
