"""``whesl why``: what a job died of, from its log."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl.cli.options import FILE
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from whesl.diagnose.records import Accounting, Candidate, Diagnosis, Finding

_STATUS = {"ended-well": 0, "failed": 1, "unknown": 3}
_AROUND = 3  # lines before and after the decisive one
_LOGS = (".out", ".err", ".log", ".txt", ".o", ".e", ".gz", ".xz", ".bz2", ".zst")
_HELPS = {
    "same-nodes": "the same again, on the same nodes",
    "other-nodes": "the same again, on other nodes",
    "other-resources": "again with other resources: more memory, more time, another file system",
    "none": "nothing before what is named here is mended: a restart would end in the same way",
    "unknown": "not known",
}


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
        _show(diagnosis, everything)
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


def _show(diagnosis: Diagnosis, everything: bool) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    cause = diagnosis.cause
    if cause is None:
        _show_without_cause(console, diagnosis)
    else:
        _show_cause(console, diagnosis, cause)
    if everything and diagnosis.candidates:
        console.print("\nCandidates, the best first:")
        for candidate in diagnosis.candidates:
            console.print(
                f"  {candidate.score:>3}  {_at(candidate.finding)}  ",
                _cut(candidate.finding.text),
                markup=False,
            )
            for reason in candidate.reasons:
                console.print(f"         - {reason}", markup=False, style="dim")


def _show_without_cause(console: Console, diagnosis: Diagnosis) -> None:
    if diagnosis.outcome.value == "ended-well":
        console.print("ended well", style="bold green")
        return
    console.print("cause not known", style="bold yellow")
    if diagnosis.unusual:
        console.print("These lines are unlike the job's other lines:")
    for file, line, text in diagnosis.unusual:
        console.print(f"  {file}:{line}: {_cut(text)}", markup=False)


def _show_cause(console: Console, diagnosis: Diagnosis, cause: Candidate) -> None:
    from whesl.diagnose.rule import rule

    finding = cause.finding
    assert finding.entry.cause_class is not None
    console.print(f"{finding.entry.cause_class.value}: ", style="bold red", end="", markup=False)
    console.print(finding.entry.means, markup=False)
    if finding.line:
        console.print(f"\n  {_at(finding)}", style="bold", markup=False)
    for number, text in _around(finding):
        mark, style = (">", "bold") if number == finding.line else (" ", "dim")
        console.print(f"  {mark} {number:>7}  {_cut(text)}", style=style, markup=False)
    console.print()
    places = (
        ("node", finding.node),
        ("rank", finding.rank),
        ("device", finding.device),
        ("path", finding.path),
    )
    where = ", ".join(f"{name} {value}" for name, value in places if value is not None)
    if where:
        console.print(f"  Where:       {where}", markup=False)
    console.print(f"  What helps:  {_HELPS[diagnosis.advice.value]}", markup=False)
    console.print(f"  How sure:    {diagnosis.sure:.0%}", markup=False)
    for line in _folded(diagnosis):
        console.print(f"  Followed by: {line}", markup=False)
    console.print("\n  A rule for it:\n", markup=False)
    for line in rule(finding, diagnosis.advice).splitlines():
        console.print(f"    {line}", markup=False, style="cyan")


def _folded(diagnosis: Diagnosis) -> Iterator[str]:
    """Say what followed, in one line for each kind."""
    if not diagnosis.consequences:
        return
    ranks = {finding.rank for finding in diagnosis.consequences if finding.rank is not None}
    of = f" of {len(ranks)} ranks" if len(ranks) > 1 else ""
    count = len(diagnosis.consequences)
    yield f"{count} line{'s' if count != 1 else ''}{of}"
    kinds = Counter(finding.entry.means for finding in diagnosis.consequences)
    for means, times in kinds.most_common(3):
        yield f"{times} x {means}"


def _around(finding: Finding) -> Iterator[tuple[int, str]]:
    """Yield the lines around the decisive one; that one alone where it cannot be read again."""
    from whesl.diagnose.reading import lines_of

    if not finding.line:
        return
    if finding.file != "-" and Path(finding.file).is_file():
        yield from lines_of(finding.file, finding.line - _AROUND, finding.line + _AROUND)
    else:
        yield finding.line, finding.text


def _at(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}" if finding.file != "-" else f"line {finding.line}"


def _cut(text: str) -> str:
    width = 200 if not sys.stdout.isatty() else 160
    shown = text if len(text) <= width else f"{text[:width]}..."
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in shown)
