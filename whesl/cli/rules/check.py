"""``whesl check`` and ``whesl compile``: check and compile specifications before a run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from whesl import language
from whesl.cli.options import RULES
from whesl.cli.parameters import argument, option, parameters
from whesl.language.spec import Spec
from whesl.model.errors import UsageError
from whesl.model.workflow import Workflow

if TYPE_CHECKING:
    from whesl.language.result import Result

_FILE = click.Path(path_type=Path)


@click.command()
@parameters
def check(
    *,
    files: tuple[Path, ...] = argument(nargs=-1, required=True, type=RULES),
    studies: tuple[str, ...] = option(
        (),
        "A study or batch script; the jobs that exceptions name have to be in it. Once for each of several"
        " scripts, with :after= and :with= as for whesl run.",
        "STUDY",
        "--workflow",
    ),
    workspace: Path | None = option(
        None,
        "Look for files with relative paths here, not in the directories of STUDY's tasks.",
        "DIR",
        type=_FILE,
    ),
    spares: int | None = option(
        None, "How many spare nodes each job of STUDY will have, as for whesl run.", "N", least=0
    ),
    strict: bool = option(False, "Count warnings as errors."),
    as_json: bool = option(False, "Print the findings as one JSON object.", names="--json"),
    samples: bool = option(False, "Run the sample lines (#: sees, #: ignores) of each file too."),
) -> int:
    """Find everything that is wrong with specifications.

    Paths, variables and handlers are looked for on this host. With --workflow, lines of the study that meet
    what wrapping changes are named, too. Files that begin with #! are scripts, without --workflow, too.

    Exit status: 0 clean (warnings are allowed unless --strict), 1 errors, 2 a file cannot be read.
    """
    from whesl.language.diagnostics import Severity
    from whesl.language.result import render_all
    from whesl.managers import workflow as workflows

    given = [str(file) for file in files if _is_script(str(file))]
    files = tuple(file for file in files if str(file) not in given)
    if not files:
        raise UsageError("no rules are given", hint="whesl check RULES --workflow STUDY")
    sources = (*studies, *given)
    workflow = read_workflow(*sources) if sources else None
    scripts = workflows.scripts(*sources) if sources else {}
    # All files are read before the first finding is printed, so that a wrong file name is not overlooked.
    contents = [(file, language.read_file(file)) for file in files]
    results = [
        _with_surroundings(
            language.parse(content, str(file), workflow), file, workflow, workspace, spares, scripts
        )
        for file, content in contents
    ]
    wrong: list[dict[str, str | int]] = []
    lines = 0
    for (file, content), result in zip(contents, results, strict=True):
        if samples and result.spec is not None:
            count, failures = _samples(file, content, result.spec)
            lines += count
            wrong += failures
    ok = all(result.ok and not (strict and result.diagnostics) for result in results) and not wrong
    notices = [each for source in sources for each in _notices(source)]
    if as_json:
        found = [diagnostic.as_json() for result in results for diagnostic in result.diagnostics]
        click.echo(json.dumps({"ok": ok, "diagnostics": found + wrong, "notices": notices}, indent=2))
        return 0 if ok else 1
    errors, warnings = len(wrong), 0
    for result in results:
        errors += sum(diagnostic.severity is Severity.ERROR for diagnostic in result.diagnostics)
        warnings += sum(diagnostic.severity is Severity.WARNING for diagnostic in result.diagnostics)
        for finding in render_all(result):
            click.echo(finding)
    for failure in wrong:
        click.echo(f"{failure['file']}:{failure['line']}: error[{failure['code']}]: {failure['message']}")
    for notice in notices:
        click.echo(f"note: {notice}")
    counts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((errors, "error"), (warnings, "warning")) if n
    ]
    names = ", ".join(str(file) for file in files)
    ran = f", {lines} sample lines" if samples else ""
    click.echo(f"{names}: {', '.join(counts) or 'correct'}{ran}", err=not ok)
    return 0 if ok else 1


def _with_surroundings(
    result: Result,
    file: Path,
    workflow: Workflow | None,
    workspace: Path | None,
    spares: int | None,
    scripts: Mapping[str, str],
) -> Result:
    """Add warnings about paths, variables and handlers that do not fit this host."""
    from whesl.doctor.rules_on_this_host import Surroundings

    if result.spec is None:
        return result
    here = Surroundings(result.spec, file, result.texts, workflow, workspace, spares, os.environ, scripts)
    return msgspec.structs.replace(result, diagnostics=(*result.diagnostics, *here.findings()))


@click.command(name="compile")
@parameters
def compile_(
    *,
    file: Path = argument(type=_FILE),
    output: Path | None = option(
        None, "Write to this file, not to standard output.", "OUT", "-o --output", type=_FILE
    ),
) -> int:
    """Print a specification as JSON; its schema is whesl/language/spec.schema.json."""
    text = msgspec.json.format(msgspec.json.encode(language.load(file)), indent=2) + b"\n"
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
    """Run the sample lines of a file; return their number, and the errors as findings."""
    from whesl.language.tools import sample_comments
    from whesl.runtime.detect import sample_lines as running

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


def _is_script(source: str) -> bool:
    """Whether a file begins with the name of an interpreter, as scripts do and rules do not."""
    from whesl.managers.workflow import file_of

    file = file_of(source)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"


def _notices(source: str) -> list[str]:
    """Return the lines of a study or script that wrapping affects, a sentence each."""
    from whesl.managers.workflow import file_of
    from whesl.managers.workflow.port import text_of
    from whesl.managers.workflow.wrapping_changes import concerning

    file = file_of(source)
    return [notice.sentence(str(file)) for notice in concerning(text_of(file))]


def read_workflow(*sources: str | Path) -> Workflow:
    """Read the workflow, of one file or of several scripts, that jobs are looked up in."""
    from whesl.managers.workflow import verified

    return verified(*sources)
