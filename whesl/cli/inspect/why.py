"""``whesl why``: the cause of a job's failure, from its log."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.named_files import named_files
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.runtime.diagnose.diagnosis_records import Diagnosis


_STATUS = {"ended-well": 0, "failed": 1, "unknown": 3}


@click.command()
@parameters
def why(
    *,
    logs: tuple[str, ...] = argument(
        nargs=-1,
        metavar="LOG|JOBID|TASK...",
        shell_complete=completion_candidates.tasks_or_files,
    ),
    good: tuple[str, ...] = named_files("Logs of the same work that ended well.", "LOG"),
    syslog: tuple[str, ...] = named_files("The kernel's or site's log of the nodes.", "LOG"),
    as_json: bool = option(False, "Print one JSON object.", names="--json"),
    only_rule: bool = option(False, "Print the rule that would have handled it.", names="--rule"),
    everything: bool = option(False, "Print all candidates, with reasons.", names="--all"),
) -> int:
    """Say what a job died of, from its logs alone.

    \b
    whesl why slurm-1234.out
    whesl why 1234
    whesl why run7/rank*.log node-syslog.gz
    whesl why study/run-sim
    whesl why slurm-1234.out --good slurm-12[01]*.out
    zstd -dc old.log.zst | whesl why -

    A directory stands for the logs in it; the id of a job of Slurm, Flux or PBS for its output, and for what
    the manager tells of it; the name of a task of WHESL's for what it printed. Exit status: 0 the job ended
    well, 1 it failed and the cause is named, 3 not known, 2 usage.
    """
    from whesl.client.job_logs import logs_of
    from whesl.runtime.diagnose.diagnosing import diagnose_files

    if not logs:
        raise UsageError(
            "no log of the job is named",
            hint="write it before --good and --syslog, which take all that follows",
        )
    with tempfile.TemporaryDirectory(prefix="whesl-why-") as kept:
        files, accounting = logs_of(logs, Path(kept), _unread)
        diagnosis = diagnose_files([*files, *syslog], accounting, good, _unread)
        _print(diagnosis, as_json=as_json, only_rule=only_rule, everything=everything)
    return _STATUS[diagnosis.outcome.value]


def _print(diagnosis: Diagnosis, *, as_json: bool, only_rule: bool, everything: bool) -> None:
    from whesl.cli.inspect.diagnosis_json import document
    from whesl.runtime.diagnose.rule import rule

    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(document(diagnosis)), indent=2))
    elif only_rule:
        if diagnosis.cause is not None:
            click.echo(rule(diagnosis.cause.finding, diagnosis.advice), nl=False)
    else:
        from whesl.cli.inspect.diagnosis_text import show

        show(diagnosis, everything)


def _unread(said: str) -> None:
    click.echo(f"whesl why: {said}", err=True)
