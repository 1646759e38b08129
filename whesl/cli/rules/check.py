"""``whesl check`` and ``whesl compile``: specifications, before anything runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl import esl
from whesl.esl.spec import Spec
from whesl.model.errors import UsageError, WheslError
from whesl.model.workflow import Workflow

if TYPE_CHECKING:
    from whesl.esl.diagnostics import Result

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
@click.option("--samples", is_flag=True, help="Run the sample lines (#: sees, #: ignores) of each file too.")
def check(files: tuple[Path, ...], study: Path | None, as_json: bool, samples: bool) -> int:
    """Find everything that is wrong with specifications.

    Exit status: 0 clean (warnings are allowed), 1 errors, 2 a file cannot be read.
    """
    from whesl.esl.diagnostics import Severity, render_all

    workflow = read_workflow(study) if study is not None else None
    # All files are read before any is reported on, so that a wrong name is not lost between findings.
    contents = [(file, esl.read_file(file)) for file in files]
    results = [
        _with_handlers(esl.parse(content, str(file), workflow), file, content) for file, content in contents
    ]
    wrong: list[dict[str, str | int]] = []
    lines = 0
    for (file, content), result in zip(contents, results, strict=True):
        if samples and result.spec is not None:
            count, failures = _samples(file, content, result.spec)
            lines += count
            wrong += failures
    ok = all(result.ok for result in results) and not wrong
    if as_json:
        found = [diagnostic.as_json() for result in results for diagnostic in result.diagnostics]
        click.echo(json.dumps({"ok": ok, "diagnostics": found + wrong}, indent=2))
        return 0 if ok else 1
    errors, warnings = len(wrong), 0
    for result in results:
        errors += sum(diagnostic.severity is Severity.ERROR for diagnostic in result.diagnostics)
        warnings += sum(diagnostic.severity is Severity.WARNING for diagnostic in result.diagnostics)
        for finding in render_all(result):
            click.echo(finding)
    for failure in wrong:
        click.echo(f"{failure['file']}:{failure['line']}: error[{failure['code']}]: {failure['message']}")
    counts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((errors, "error"), (warnings, "warning")) if n
    ]
    names = ", ".join(str(file) for file in files)
    ran = f", {lines} sample lines" if samples else ""
    click.echo(f"{names}: {', '.join(counts) or 'correct'}{ran}", err=bool(errors))
    return 0 if ok else 1


def _with_handlers(result: Result, file: Path, content: bytes) -> Result:
    """Add a warning for each handler that cannot be run here: else the first recovery would find out."""
    from whesl.esl.diagnostics import Diagnostic, Severity, lines_of
    from whesl.esl.rules_file import located
    from whesl.operations.custom_handlers import command_of
    from whesl.operations.plan import RecoveryError

    if result.spec is None:
        return result
    found = []
    there = located(result.spec, file.absolute().parent)
    for said, meant in dict(zip(_handlers(result.spec), _handlers(there), strict=True)).items():
        try:
            command_of(meant)
        except RecoveryError as error:
            lines = lines_of(content)
            places = ((n, line.find(f'"{said}"')) for n, line in enumerate(lines, 1))
            line, column = next(((n, at) for n, at in places if at >= 0), (1, 0))
            found.append(
                Diagnostic(
                    severity=Severity.WARNING,
                    code="ESL077",
                    message=error.message,
                    hint=error.hint,
                    file=str(file),
                    line=line,
                    column=column + 1,
                    end_column=column + 1 + len(said) + 2,
                )
            )
    return msgspec.structs.replace(result, diagnostics=(*result.diagnostics, *found))


def _handlers(spec: Spec) -> list[str]:
    return [each.handler for one in spec.resources for each in one.operations if each.handler is not None]


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


def _samples(file: Path, content: bytes, spec: Spec) -> tuple[int, list[dict[str, str | int]]]:
    """Run the sample lines of a file; return how many there were, and what is wrong, as findings."""
    from whesl.detect import sample_lines as running
    from whesl.esl.tools import sample_comments

    count, failures = running.run(spec, sample_comments.read(content, str(file)))
    return count, [
        {
            "severity": "error",
            "code": "sample",
            "message": failure.text,
            "hint": "",
            "file": str(file),
            "line": failure.line,
            "column": 1,
            "end_column": 2,
        }
        for failure in failures
    ]


def read_workflow(study: Path) -> Workflow:
    """Read the workflow that jobs are looked up in."""
    try:
        from whesl.workflows import read
    except ImportError as error:
        raise WheslError(
            f"this installation cannot read workflows ({error})", hint="check without --workflow"
        ) from error
    return read(study)
