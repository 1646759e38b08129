"""``whesl why``: what a job died of, from its log."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl.cli import completion_candidates
from whesl.cli.options import FILE
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from whesl.managers.resource.outcomes.record import JobOutcome
    from whesl.runtime.diagnose.diagnosis_records import Accounting, Diagnosis


_STATUS = {"ended-well": 0, "failed": 1, "unknown": 3}
_LOGS = (".out", ".err", ".log", ".txt", ".o", ".e", ".gz", ".xz", ".bz2", ".zst", ".lz4")
# PBS's job.o1234, job.e1234-7, what launchers keep of a rank, logs that were rotated.
_LOG = re.compile(r".*\.[oe]\d[\d.\[\]-]*|std(?:out|err)(?:\.\d+)*|.*\.(?:out|err|log)[.-]\d+")


@click.command()
@parameters
def why(
    *,
    logs: tuple[str, ...] = argument(
        nargs=-1,
        required=True,
        metavar="LOG|JOBID|TASK...",
        shell_complete=completion_candidates.tasks_or_files,
    ),
    good: tuple[Path, ...] = option((), "A log of the same work that ended well.", "LOG", type=FILE),
    syslog: tuple[Path, ...] = option((), "The kernel's or site's log of the nodes.", "LOG", type=FILE),
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
    zstd -dc old.log.zst | whesl why -

    A directory stands for the logs in it; the id of a job of Slurm, Flux or PBS for its output, and for what
    the manager tells of it; the name of a task of WHESL's for what it printed. Exit status: 0 the job ended
    well, 1 it failed and the cause is named, 3 not known, 2 usage.
    """
    from whesl.runtime.diagnose.diagnosing import diagnose_files

    with tempfile.TemporaryDirectory(prefix="whesl-why-") as kept:
        files, accounting = _files(logs, Path(kept))
        diagnosis = diagnose_files(
            [*files, *map(str, syslog)], accounting, [str(path) for path in good], _unread
        )
        _print(diagnosis, as_json=as_json, only_rule=only_rule, everything=everything)
    return _STATUS[diagnosis.outcome.value]


def _print(diagnosis: Diagnosis, *, as_json: bool, only_rule: bool, everything: bool) -> None:
    from whesl.runtime.diagnose.document import document
    from whesl.runtime.diagnose.rule import rule

    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(document(diagnosis)), indent=2))
    elif only_rule:
        if diagnosis.cause is not None:
            click.echo(rule(diagnosis.cause.finding, diagnosis.advice), nl=False)
    else:
        from whesl.runtime.diagnose.text_view import show

        show(diagnosis, everything)


def _files(logs: tuple[str, ...], kept: Path) -> tuple[list[str], Accounting | None]:
    """Return the files that are meant, and the accounting of a job.

    Args:
        logs: as they were given.
        kept: a directory for output that a resource manager keeps itself.

    Raises:
        UsageError: one is neither a log nor a job.
    """
    from whesl.managers.resource.outcomes import lookup

    files: list[str] = []
    accounting = None
    for log in logs:
        path = Path(log)
        if log != "-" and not path.exists() and lookup.is_job(log):
            found = lookup.look_up(log)
            files += _output(log, found, kept)
            accounting = _accounting(found)
        elif log == "-":
            files.append(log)
        elif path.is_dir():
            files += _inside(path)
        elif path.exists():
            files.append(log)
        else:
            from whesl.client import task_outputs
            from whesl.runtime.diagnose.diagnosis_records import Accounting
            from whesl.runtime.wire import keys

            task = task_outputs.of(keys.home(), log)
            if task is None or not task.files:
                said = log if task is None else f"what {task.task} printed"
                hint = "give a log, a directory of logs, a job, a task, or - for a pipe"
                raise UsageError(f"{said} is not there", hint=hint)
            files += task.files
            if task.state is not None:
                state = "COMPLETED" if task.state.value == "completed" else "FAILED"
                accounting = Accounting(state=state, status=task.exit_code, told=task.told)
    return files, accounting


def _inside(folder: Path) -> list[str]:
    """Return the logs in a directory and below it. Raises UsageError where it has none."""
    names = [str(path) for path in sorted(folder.rglob("*")) if _is_log(path) and path.is_file()]
    if not names:
        hint = f"names that end in {', '.join(_LOGS)}, or like job.o1234 or stdout"
        raise UsageError(f"{folder} has no logs in it", hint=hint)
    return names


def _is_log(path: Path) -> bool:
    return path.suffix in _LOGS or _LOG.fullmatch(path.name) is not None


def _unread(said: str) -> None:
    click.echo(f"whesl why: {said}", err=True)


def _output(job: str, found: JobOutcome, kept: Path) -> list[str]:
    """Return the files of a job's output that are there, each once."""
    there = [name for name in found.files if Path(name).is_file()]
    if found.text is not None:
        copy = kept / f"{job}.out"
        copy.write_text(found.text)
        there.append(str(copy))
    if not there:
        missing = " and ".join(found.files[:2]) or "it names no file"
        click.echo(f"whesl why: job {job}: its output is not to be found here ({missing})", err=True)
    return list({Path(name).resolve(): name for name in there}.values())


def _accounting(found: JobOutcome) -> Accounting:
    from whesl.runtime.diagnose.diagnosis_records import Accounting

    return Accounting(state=found.state, status=found.status, node=found.node, told=found.told)
