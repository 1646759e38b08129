"""``whesl exec``: run one command, watch it, and recover it in place."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from whesl.model.errors import UsageError

_EXIT_STATUS = """\b
Exit status: the task's own; 0 completed or skipped by a rule; 75 the job is
to be run again (escalated); 126 or 127 could not be started; 128+n ended by
signal n (143: cancelled, or the time limit); 2 rules or usage wrong."""


class _Command(click.Command):
    """A command that tells how another program's options are handed on."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, [*args])
        except click.NoSuchOption as error:
            if "--" in args:
                raise
            said = (
                f"{error.format_message()} If it is COMMAND's: whesl exec -e rules.esl -- COMMAND ARGUMENTS."
            )
            raise click.UsageError(said, ctx) from None


@click.command("exec", cls=_Command, epilog=_EXIT_STATUS, context_settings={"ignore_unknown_options": False})
@click.option(
    "-e", "--rules", "rules", multiple=True, metavar="FILE", help="The specification (ESL, or compiled)."
)
@click.option("--observe", is_flag=True, help="Report what would be done, and touch nothing.")
@click.option("--workflow", default="", metavar="NAME", help="The workflow that the task belongs to.")
@click.option("--step", default="", metavar="NAME", help="The task's step in the workflow.")
@click.option("--instance", default="", metavar="NAME", help="Tells several tasks of one step apart.")
@click.option(
    "--workspace", default="", metavar="DIR", help="The task's directory; default: the present one."
)
@click.option("--name", default="", metavar="NAME", help="The task's name, when it belongs to no workflow.")
@click.option("--nodes", default="", metavar="N", help="Nodes to use; the others are spares.")
@click.option("--spares", type=click.IntRange(min=0), default=0, metavar="N", help="Nodes kept as spares.")
@click.option(
    "--own-node/--no-own-node",
    "own_node",
    default=True,
    show_default=True,
    help="Use the isolator's node for the task too, or keep it out while others are free.",
)
@click.option(
    "--inner",
    type=click.Choice(["auto", "flux", "slurm"]),
    default="auto",
    show_default=True,
    help="What runs the task's steps in a job of Slurm: a Flux instance inside it, or Slurm.",
)
@click.option(
    "--task-dir",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Where the task's record is kept.",
)
@click.option("--no-coordinator", is_flag=True, help="Do without a coordinator.")
@click.option("--script", default=None, metavar="FILE", help="Run a script; - reads it from standard input.")
@click.option(
    "--heartbeat",
    type=click.FloatRange(min=0.05),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="Interval of the agents' heartbeats.",
)
@click.option(
    "--heartbeat-limit",
    type=click.FloatRange(min=0.2),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="Silence after which a node is lost.",
)
@click.option(
    "--wait",
    "coordinator_wait",
    type=click.FloatRange(min=0.0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the coordinator is waited for.",
)
@click.option(
    "--term-grace",
    type=click.FloatRange(min=0.0),
    default=25.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the program may take to end after SIGTERM.",
)
@click.option(
    "--summary/--no-summary",
    default=None,
    help="What happened, at the end on stderr (default: on a terminal), or in FILE.whesl where that is FILE.",
)
@click.option(
    "--json-summary",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="The summary as JSON, into a file.",
)
@click.option("--quiet", is_flag=True, help="Say nothing on stderr.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def exec_(**options: Any) -> None:
    """Run COMMAND, watch its output, exit and nodes, and recover it in place by the rules.

    \b
    whesl exec -e rules.esl -- srun ./app input
    whesl exec --observe -e rules.esl -- ./app
    """
    from whesl.isolator.launch import full_path, keeper
    from whesl.isolator.launch.job_request import Request

    options["no_own_node"] = not options.pop("own_node")
    request = Request(**options)
    if not request.command and request.script is None:
        raise UsageError("there is nothing to run", hint="whesl exec -e rules.esl -- COMMAND ARGUMENTS")
    if request.command and request.command[0].endswith(".esl"):
        rules, *command = request.command
        hint = f"whesl exec -e {rules} -- {shlex.join(command) or 'COMMAND ARGUMENTS'}"
        raise UsageError(f"{rules} is a specification, and no program", hint=hint)
    told = full_path.prepare(request)
    if isinstance(told, int):
        sys.exit(told)
    keeper.become(told)
