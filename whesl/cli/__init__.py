"""The command line: one file per command, imported only when it is called.

Nor is click imported here: a protected program waits for what ``whesl exec`` loads.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

# name: (module, one line of help). The help stands here so that `whesl --help` imports no command.
COMMANDS = {
    "check": ("check", "Find everything that is wrong with a specification."),
    "compile": ("check", "Print a specification as JSON."),
    "fmt": ("fmt", "Put specifications into their canonical layout."),
    "explain": ("explain", "Say in sentences what a specification does; rehearse it on a log."),
    "exec": ("exec", "Run one command, watch it, and recover it in place."),
    "run": ("run", "Run a whole workflow under its own manager, protected."),
    "fluxify": ("fluxify", "Wrap every task of a workflow; show or write the result."),
    "status": ("status", "Show workflows and tasks as they are now."),
    "events": ("events", "Show what happened, in order."),
    "report": ("report", "Sum up a workflow: what was raised, done and saved."),
    "resume": ("control", "Let a paused task go on."),
    "pause": ("control", "Stop a task and keep its allocation."),
    "cancel": ("control", "End a task for good."),
    "clean": ("clean", "Remove the files of tasks that are over."),
    "nodes": ("nodes", "Show or change the memory of bad nodes."),
    "coordinator": ("coordinator", "Start, stop or look at the coordinator."),
    "local": ("local", "The embedded resource manager."),
    "completion": ("completion", "Print a shell's completion script."),
    "doctor": ("doctor", "Find out what this machine has and what is wrong with it."),
}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line.

    Args:
        arguments: what follows the program's name; None for the process's own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["exec"]:
        from whesl.cli import quick

        quick.attempt(given[1:])
    from whesl.cli import group

    group.run(arguments)
