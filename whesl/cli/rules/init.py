"""``whesl init``: a first specification for a workflow."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from whesl.cli.named_files import named_files
from whesl.cli.options import FILE
from whesl.cli.parameters import argument, option, parameters
from whesl.cli.rules.check import read_workflow
from whesl.model.errors import UsageError


@click.command()
@parameters
def init(
    *,
    study: Path = argument(type=FILE),
    output: Path | None = option(
        None, "Write here (default: STUDY with .esl).", "FILE", "-o --output", type=FILE
    ),
    logs: tuple[str, ...] = named_files("Logs of good runs, for hang timers.", "LOG", "--log"),
    other: Path | None = option(None, "Where to go on without space.", "DIR"),
    yes: bool = option(False, "Overwrite the file without asking.", names="-y --yes"),
) -> int:
    """Write a first specification for STUDY (a Maestro study, or a batch script), every line with its reason.

    Exit status: 0 written, and `whesl check --strict` has nothing to say; 1 written, with warnings; 2 usage.
    """
    from whesl import language
    from whesl.language.result import render_all
    from whesl.runtime.rule_learning.first_specification import first_specification
    from whesl.runtime.rule_learning.host_facts import found

    workflow = read_workflow(study)
    text = first_specification(found(workflow, study, logs, other, os.environ))
    target = output or Path(study.with_suffix(".esl").name)
    if target.exists() and not yes and not click.confirm(f"{target} is there already: overwrite it?"):
        raise UsageError(f"{target} stays as it is", hint="-o FILE writes another one")
    target.write_text(text, encoding="utf-8")
    result = language.parse(text.encode(), str(target), workflow)
    for finding in render_all(result):
        click.echo(finding)
    script, rules = shlex.quote(str(study)), shlex.quote(str(target))
    click.echo(f"{target} is written: whesl explain {rules}, then whesl run {script} -e {rules}")
    return 1 if result.diagnostics else 0
