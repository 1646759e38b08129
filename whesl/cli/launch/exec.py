"""``whesl exec``: run one command, watch it, and recover it in place."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from whesl.model.errors import UsageError, WheslError
from whesl.runtime.isolator.launch.options import OPTIONS

_EXIT_STATUS = """\b
Exit status: the task's own; 0 completed or skipped by a rule; 75 the job is
to be run again (escalated); 126 or 127 could not be started; 143 cancelled,
or the time limit; 2 rules or usage wrong. It dies of the signal that the
task's command died of."""


class _Command(click.Command):
    """A command whose errors explain how to pass options to another program."""

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


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the options in the table of `whesl exec`."""
    for option in reversed(OPTIONS):
        kinds: dict[str, Any] = {
            "path": click.Path(path_type=Path),
            "file": click.Path(dir_okay=False, path_type=Path),
            "seconds": click.FloatRange(min=option.least),
            "count": click.IntRange(min=0),
            "choice": click.Choice(option.choices),
        }
        declare = click.option(
            "/".join(option.names) if option.kind == "switch" else option.names[-1],
            *option.names[:-1] if option.kind == "many" else (),
            option.key,
            type=kinds.get(option.kind),
            is_flag=option.kind in ("flag", "switch"),
            multiple=option.kind == "many",
            default=option.default,
            show_default=option.shown,
            metavar=option.metavar,
            help=option.help,
        )
        command = declare(command)
    return command


@click.command("exec", cls=_Command, epilog=_EXIT_STATUS, context_settings={"ignore_unknown_options": False})
@_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def exec_(**options: Any) -> None:
    """Run COMMAND, watch its output, exit and nodes, and recover it in place by the rules.

    \b
    whesl exec -e rules.esl -- srun ./app input
    whesl exec --observe -e rules.esl -- ./app
    """
    from whesl.doctor import rules_before_a_run
    from whesl.runtime.isolator.launch import full_start, isolator_keeper, unwatched_command
    from whesl.runtime.isolator.launch.setup_json import Request
    from whesl.runtime.wire.private_directory import explained

    request = Request(**options)
    if not request.command and request.script is None:
        raise UsageError("there is nothing to run", hint="whesl exec -e rules.esl -- COMMAND ARGUMENTS")
    if request.command and request.command[0].endswith(".esl"):
        rules, *command = request.command
        hint = f"whesl exec -e {rules} -- {shlex.join(command) or 'COMMAND ARGUMENTS'}"
        raise UsageError(f"{rules} is a specification, and no program", hint=hint)
    try:
        rules_before_a_run.look(request)
        told = full_start.prepare(request)
    except (OSError, WheslError) as error:
        said = explained(error) if isinstance(error, OSError) else error.message
        unwatched_command.instead(request.command, error, said)
        raise
    if isinstance(told, int):
        sys.exit(told)
    isolator_keeper.become(told)
