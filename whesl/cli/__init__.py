"""The command line: one file per command, imported only when it is called.

Nor is click imported here: a protected program waits for what ``whesl exec`` loads.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

# name: (module below whesl.cli, one line of help). The help stands here: `whesl --help` imports no command.
COMMANDS = {
    "check": ("rules.check", "Find everything that is wrong with a specification."),
    "compile": ("rules.check", "Print a specification as JSON."),
    "fmt": ("rules.fmt", "Put specifications into their canonical layout."),
    "explain": ("rules.explain", "Say in sentences what a specification does; rehearse it on a log."),
    "exec": ("launch.exec", "Run one command, watch it, and recover it in place."),
    "run": ("launch.run", "Run a whole workflow under its own manager, protected."),
    "fluxify": ("launch.wrap_tasks", "Wrap every task of a workflow; show or write the result."),
    "status": ("inspect.status", "Show workflows and tasks as they are now."),
    "events": ("inspect.events", "Show what happened, in order."),
    "init": ("rules.init", "Write a first specification for a workflow."),
    "learn": ("rules.learn", "Find rules in the logs of good and bad runs."),
    "why": ("inspect.why", "Say what a job died of, from its log alone."),
    "report": ("inspect.report", "Sum up a workflow: what was raised, done and saved."),
    "resume": ("manage.control", "Let a paused task go on."),
    "pause": ("manage.control", "Stop a task and keep its allocation."),
    "cancel": ("manage.control", "End a task for good."),
    "raise": ("manage.raising", "Raise an exception of the rules on running tasks."),
    "clean": ("manage.clean", "Remove the files of tasks that are over."),
    "nodes": ("site.bad_nodes", "Show or change which nodes are avoided."),
    "coordinator": ("site.coordinator", "Start, stop or look at the coordinator."),
    "local": ("site.local", "The embedded resource manager."),
    "ckpt": ("ckpt", "Checkpoints in which the node about to fail writes first."),
    "placement": ("placement", "Keep jobs off nodes that are about to fail: learn, score, switch on."),
    "cloud": ("cloud", "A workflow on free nodes and a cloud: choose a deadline and a price."),
    "lab": ("lab", "Replay logs with other policies and predictors; reproduce results."),
    "completion": ("completion", "Print a shell's completion script."),
    "doctor": ("site.doctor", "Find out what this machine has and what is wrong with it."),
}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line.

    Args:
        arguments: what follows the program's name; None for the process's own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["exec"]:
        from whesl.cli.launch import fast_exec

        given = arguments = ["exec", *fast_exec.told(given[1:])]
        fast_exec.attempt(given[1:])
    from whesl.cli import group

    group.run(arguments)
