"""``whesl lab replay``: a site's own weeks again, under other policies and predictors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import numpy as np

from whesl.cli.lab.progress import shown
from whesl.cli.options import EXISTING, FOLDER, PRINT_JSON, QUIET, STRICT, SYSTEM
from whesl.cli.parameters import option, parameters, required
from whesl.lab.readers import machine_file as machines
from whesl.lab.readers import site_log_format_detection
from whesl.lab.replay import policy_savings_page as pages
from whesl.lab.replay.case_from_logs import prepare
from whesl.lab.replay.policy_comparison import Replay, candidate
from whesl.lab.replay.policy_comparison import replay as run
from whesl.lab.results.jobs_parquet_and_summary_json import as_json, write_jobs
from whesl.lab.results.report_folder import write_results
from whesl.lab.results.report_tables import markdown
from whesl.model.errors import UsageError

_OTHERS = ("easy", "reliable+survival", "reliable+ffp", "reliable+exact")


def _regex(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"not a regular expression: {error}") from None
    return value


@click.command()
@parameters
def replay(
    *,
    job_log: Path = required("Jobs: sacct, Flux, PBS, SWF, CSV.", "FILE", "--jobs", type=EXISTING),
    failure_log: Path = required(
        "Failure log: sacctmgr, Flux, CSV, ...", "FILE", "--failures", type=EXISTING
    ),
    resources: Path | None = option(
        None, "The machine; default: the nodes that the logs name.", "TOML", type=EXISTING
    ),
    nodes: int | None = option(
        None, "So many nodes, where nothing names them.", "N", least=1, most=1_000_000
    ),
    zone: str = option("", "Time zone of the logs [this machine's]: Europe/Berlin.", "NAME"),
    today: str = option("easy", "The policy to compare with [easy].", "POLICY"),
    others: tuple[str, ...] = option(
        (),
        "What might be used instead, also FILE.py:CLASS; again for several.",
        "POLICY[+PREDICTOR]",
        "--policy",
    ),
    train: float = option(
        0.3, "Share of the failure log that predictors are fitted to [0.3].", "SHARE", least=0, below=1
    ),
    system: str | None = SYSTEM,
    leave_out: str = option(
        "", "Slurm's events with such a reason are no failures.", "REGEX", callback=_regex
    ),
    seed: int = option(0, "Of random predictors and of the intervals [0].", "N", least=0),
    strict: bool = STRICT,
    out: Path | None = option(None, "Write a page, tables, figures and jobs.", "DIR", type=FOLDER),
    in_json: bool = PRINT_JSON,
    quiet: bool = QUIET,
) -> None:
    """Replay a site's weeks: what other policies and predictors would have saved.

    \b
    Slurm: sacct -aDXP -S START -o JobID,State,Submit,Start,End,\\
               TimelimitRaw,NNodes,NodeList
           sacctmgr -P show event start=START
    Flux:  flux jobs -a --json, flux resource eventlog
    PBS:   the files of server_priv/accounting, in one
    """
    machine = machines.read(resources) if resources is not None else None
    place = machines.zone(zone or (machine.zone if machine is not None else ""), "--zone")
    chosen = [candidate(text) for text in others or _OTHERS if text != today]
    against = candidate(today)
    progress = shown(quiet=quiet)
    log = site_log_format_detection.read_jobs(job_log, zone=place, strict=strict)
    failures = site_log_format_detection.read_failures(
        failure_log, zone=place, system=system, leave_out=leave_out, strict=strict
    )
    try:
        case = prepare(log, failures, resources=machine, nodes=nodes)
    except UsageError as error:
        if error.message.startswith(log.name):
            raise
        raise UsageError(f"{failure_log}: {error.message}", hint=error.hint) from error
    for note in case.notes:
        progress.note(note)
    found = run(case, against, chosen, progress, train=train, seed=seed)
    summary = pages.summary(found)
    if out is not None:
        _write(out, found, summary)
        progress.note(f"written: {out / 'index.html'}")
    if in_json:
        click.echo(as_json(summary), nl=False)
    else:
        click.echo(f"{pages.page(found).verdict}\n\n{markdown(pages.savings_table(found))}", nl=False)


def _write(out: Path, found: Replay, summary: dict[str, Any]) -> None:
    work = found.case.work
    for answer in (found.today, *found.others):
        columns = {
            "job": np.array(found.case.jobs)[found.compared],
            "submit": work.submit[found.compared],
            "nodes": work.size[found.compared],
            "run": work.run[found.compared],
            "killed": answer.jobs.kills,
            "node_hours_lost": answer.jobs.lost,
            "wait_hours": answer.jobs.wait,
        }
        write_jobs(
            out / re.sub(r"[^\w+.-]", "-", str(answer.candidate)), columns, {"policy": str(answer.candidate)}
        )
    write_results(out, [pages.savings_table(found)], pages.figures(found), summary, pages.page(found))
