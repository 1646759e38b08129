"""whesl front: run a program with WHESL's sbatch first on PATH, which protects each job that it submits."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from whesl import become
from whesl.cli.options import OBSERVE, OWN_NODE, SPARES, SPECIFICATION
from whesl.cli.parameters import argument, parameters
from whesl.language import shipped_policy
from whesl.managers.resource import default_manager, manager_table
from whesl.managers.workflow.prepare import run_environment
from whesl.managers.workflow.submission.any_script import Front
from whesl.managers.workflow.submission.install import install
from whesl.model.errors import UsageError
from whesl.runtime.wire import keys


@click.command(context_settings={"ignore_unknown_options": True})
@parameters
def front(
    *,
    words: tuple[str, ...] = argument(
        nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND..."
    ),
    rules: Path = SPECIFICATION,
    spares: int = SPARES,
    own_node: bool = OWN_NODE,
    observe: bool = OBSERVE,
) -> None:
    """Run COMMAND, a workflow manager for example, with WHESL's sbatch first on its PATH.

    Each batch job that it submits is a task under the rules: its step is the job's name, its instance the
    job's id. The manager, its files and its scripts stay as they are. `whesl report exec` shows the tasks.
    """
    name = default_manager(os.environ)
    if manager_table.manager(name).command != "sbatch":
        raise UsageError(
            f"jobs are submitted to '{name}', and whesl front knows sbatch alone",
            hint="put whesl exec before the commands of the jobs",
        )
    home = keys.home()
    how = Front(
        rules=str(rules.absolute()),
        spares=spares,
        own_node=own_node,
        observe=observe or shipped_policy.observed((str(rules),), os.environ),
    )
    environment = run_environment(os.environ, install(home, name), home, name) | how.told()
    program = shutil.which(words[0], path=environment["PATH"])
    if program is None:
        raise UsageError(f"there is no {words[0]} on PATH")
    become(program, words, environment)
