"""whesl completion: the script that lets a shell complete commands, options, workflows and tasks."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from whesl.model.errors import UsageError

_SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "whesl"
_VARIABLE = "_WHESL_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of SHELL, to be read at its start.

    \b
    bash  eval "$(whesl completion bash)"      in ~/.bashrc (bash 4.4 or newer)
    zsh   eval "$(whesl completion zsh)"       in ~/.zshrc, after compinit
    fish  whesl completion fish | source       in ~/.config/fish/config.fish
    """
    from whesl.cli.group import cli

    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"there is no completion for {shell}", hint=f"one of {', '.join(_SHELLS)}")
    click.echo(found(cli, {}, _PROGRAM, _VARIABLE).source())
