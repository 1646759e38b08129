"""whesl fluxify: wrap every task of a workflow, or take the wrapping out; show or write the result."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from whesl import language
from whesl.cli.options import RULES
from whesl.cli.parameters import argument, option, parameters
from whesl.managers import workflow as workflows
from whesl.managers.workflow.port import (
    FluxifyOptions,
    WorkflowManager,
    keeping_steps,
    spares_by_step,
    text_of,
)
from whesl.managers.workflow.prepare import program
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.runtime.wire import keys


@click.command()
@parameters
def fluxify(
    *,
    sources: tuple[str, ...] = argument(nargs=-1, required=True, metavar="STUDY..."),
    rules: Path | None = option(
        None, "The specification; default: the policy that ships.", "FILE", "-e --rules", type=RULES
    ),
    out: str | None = option(
        None, "File to write to (a directory for several scripts).", names="-o --out", type=click.Path()
    ),
    dry_run: bool = option(False, "Show the difference and write nothing."),
    undo: bool = option(False, "Take the wrapping out again."),
    workflow: str = option("", "Name of the run; the workflow's own without it.", "ID"),
    spares: int = option(
        1,
        "Spare nodes for jobs whose recovery may take one (`whesl run` also asks for them).",
        "N",
        shown=True,
        least=0,
    ),
    observe: bool = option(False, "Tasks report what would be done and touch nothing."),
) -> None:
    """Wrap every task of STUDY (a Maestro study, or batch scripts) so that `whesl exec` runs it.

    All else in the file stays as it is. Without -o and --dry-run the result goes to standard output.
    """
    manager = workflows.recognise(sources[0])
    if not undo and rules is None:
        raise UsageError("the specification is missing", hint="whesl fluxify STUDY -e rules.esl")
    if len(sources) > 1 and not dry_run and not (out and Path(out).is_dir()):
        raise UsageError(
            "several scripts need a directory to be written to", hint="-o DIRECTORY, or --dry-run"
        )
    options = (
        None if undo or rules is None else _options(manager, sources, rules, out, workflow, spares, observe)
    )
    for source in sources:
        path = workflows.file_of(source)
        old = text_of(path)
        if options is None:
            new = manager.undo(old, path)
        else:
            result = manager.fluxify(old, path, options)
            new = result.text
            for made in () if dry_run else result.programs:
                made.write()
            for notice in result.notices:
                click.echo(f"whesl: {notice}", err=True)
        if dry_run:
            for line in _difference(old, new, str(path)):
                click.echo(line)
        elif out is None:
            click.echo(os.fsencode(new), nl=False)
        else:
            target = Path(out) / path.name if Path(out).is_dir() else Path(out)
            _write(target, new, executable=bool(path.stat().st_mode & 0o100))


def _options(
    manager: WorkflowManager,
    sources: tuple[str, ...],
    rules: Path,
    out: str | None,
    workflow: str,
    spares: int,
    observe: bool,
) -> FluxifyOptions:
    found = manager.read(sources, workflow=workflow)
    spec = language.load(rules, found)
    directory = "" if out is None else str(Path(out) if Path(out).is_dir() else Path(out).absolute().parent)
    return FluxifyOptions(
        program=program(),
        workflow=found.id,
        spec=str(rules.absolute()),
        home=str(keys.home()),
        spares=spares_by_step(spec, found, 0 if observe else spares),
        observe=observe,
        out=directory,
        keeps=frozenset() if observe else keeping_steps(spec, found),
        place=str(places.interpreters(keys.home())),
    )


def _difference(old: str, new: str, name: str) -> Iterator[str]:
    """Yield a unified difference, coloured; click removes the colours where there is no terminal."""
    before, after = old.splitlines(), new.splitlines()
    for line in difflib.unified_diff(before, after, name, f"{name} (fluxified)", lineterm=""):
        if line.startswith(("+++", "---")):
            yield click.style(line, bold=True)
        elif line.startswith("@@"):
            yield click.style(line, fg="cyan")
        elif line.startswith("+"):
            yield click.style(line, fg="green")
        elif line.startswith("-"):
            yield click.style(line, fg="red")
        else:
            yield line


def _write(target: Path, text: str, *, executable: bool) -> None:
    """Write a file atomically."""
    beside = target.with_name(f".{target.name}.whesl")
    try:
        beside.write_bytes(os.fsencode(text))
        beside.chmod(0o755 if executable else 0o644)
        beside.replace(target)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}") from None
