"""``whesl check`` and ``whesl compile``: specifications, before anything runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import msgspec

from whesl import esl
from whesl.model.errors import UsageError, WheslError
from whesl.model.workflow import Workflow

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option(
    "--workflow",
    "study",
    type=_FILE,
    metavar="STUDY",
    help="A study or batch script; the jobs that exceptions name have to be in it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def check(files: tuple[Path, ...], study: Path | None, as_json: bool) -> int:
    """Find everything that is wrong with specifications.

    Exit status: 0 clean (warnings are allowed), 1 errors, 2 a file cannot be read.
    """
    from whesl.esl.diagnostics import Severity, render
    from whesl.esl.source import lines_of

    workflow = _read_workflow(study) if study is not None else None
    # All files are read before any is reported on, so that a wrong name is not lost between findings.
    contents = [(file, esl.read_file(file)) for file in files]
    results = [(content, esl.parse(content, str(file), workflow)) for file, content in contents]
    ok = all(result.ok for _, result in results)
    if as_json:
        found = [diagnostic.as_json() for _, result in results for diagnostic in result.diagnostics]
        click.echo(json.dumps({"ok": ok, "diagnostics": found}, indent=2))
        return 0 if ok else 1
    errors = warnings = 0
    for content, result in results:
        lines = lines_of(content)
        for diagnostic in result.diagnostics:
            errors += diagnostic.severity is Severity.ERROR
            warnings += diagnostic.severity is Severity.WARNING
            click.echo(render(diagnostic, lines))
    counts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((errors, "error"), (warnings, "warning")) if n
    ]
    names = ", ".join(str(file) for file in files)
    click.echo(f"{names}: {', '.join(counts) or 'correct'}", err=bool(errors))
    return 0 if ok else 1


@click.command(name="compile")
@click.argument("file", type=_FILE)
@click.option("-o", "--output", type=_FILE, metavar="OUT", help="Write to this file, not to standard output.")
def compile_(file: Path, output: Path | None) -> int:
    """Print a specification as JSON; its schema is whesl/esl/spec.schema.json."""
    text = msgspec.json.format(msgspec.json.encode(esl.load(file)), indent=2) + b"\n"
    if output is None:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        return 0
    try:
        output.write_bytes(text)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
    return 0


def _read_workflow(study: Path) -> Workflow:
    """Read the workflow that jobs are looked up in."""
    try:
        from whesl.workflows import read
    except ImportError as error:
        raise WheslError(
            f"this installation cannot read workflows ({error})", hint="check without --workflow"
        ) from error
    return read(study)
