"""``whesl why``: what a job died of, from its log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl.cli.options import FILE
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.diagnose.records import Accounting


_STATUS = {"ended-well": 0, "failed": 1, "unknown": 3}
_LOGS = (".out", ".err", ".log", ".txt", ".o", ".e", ".gz", ".xz", ".bz2", ".zst")


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG|JOBID...")
@click.option(
    "--good", multiple=True, type=FILE, metavar="LOG", help="A log of the same work that ended well."
)
@click.option(
    "--syslog", multiple=True, type=FILE, metavar="LOG", help="The kernel's or site's log of the nodes."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--rule", "only_rule", is_flag=True, help="Print the rule that would have handled it.")
@click.option("--all", "everything", is_flag=True, help="Print all candidates, with reasons.")
def why(
    logs: tuple[str, ...],
    good: tuple[Path, ...],
    syslog: tuple[Path, ...],
    as_json: bool,
    only_rule: bool,
    everything: bool,
) -> int:
    """Say what a job died of, from its logs alone.

    \b
    whesl why slurm-1234.out
    whesl why run7/rank*.log node-syslog.gz
    zstd -dc old.log.zst | whesl why -

    A directory stands for the logs in it, a number for the output of a job of Slurm. Exit status: 0 the job
    ended well, 1 it failed and the cause is named, 3 not known, 2 usage.
    """
    from whesl.diagnose.diagnosing import diagnose_files
    from whesl.diagnose.document import document
    from whesl.diagnose.rule import rule

    files, accounting = _files(logs)
    diagnosis = diagnose_files([*files, *map(str, syslog)], accounting, [str(path) for path in good])
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(document(diagnosis)), indent=2))
    elif only_rule:
        if diagnosis.cause is not None:
            click.echo(rule(diagnosis.cause.finding, diagnosis.advice), nl=False)
    else:
        from whesl.diagnose.text_view import show

        show(diagnosis, everything)
    return _STATUS[diagnosis.outcome.value]


def _files(logs: tuple[str, ...]) -> tuple[list[str], Accounting | None]:
    """Return the files that are meant, and the accounting of a job. Raises UsageError for what is neither."""
    from whesl.cli.inspect import why_job

    files: list[str] = []
    accounting = None
    for log in logs:
        path = Path(log)
        if why_job.JOB.match(log) and not path.exists():
            from whesl.rjms.slurm.command import SlurmCommands

            found, accounting = why_job.look_up(log, SlurmCommands())
            files += found
        elif log == "-":
            files.append(log)
        elif path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and p.suffix in _LOGS)
            if not inside:
                raise UsageError(f"{log} has no logs in it", hint=f"names that end in {', '.join(_LOGS)}")
            files += map(str, inside)
        elif path.exists():
            files.append(log)
        else:
            raise UsageError(f"{log} is not there", hint="give a log, a directory of logs, or - for a pipe")
    return files, accounting
