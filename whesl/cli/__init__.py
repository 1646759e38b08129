"""The command line: one file per command, imported only when the command is called.

This module does not import click, since a protected program waits for the imports of ``whesl exec``.
"""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import NoReturn


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line.

    Args:
        arguments: the words after the program's name; None for the process's own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["exec"]:
        from whesl.runtime.isolator.launch import program_runner

        program_runner.note_signals()
        # As a plain command does, it dies of an interrupt while nothing runs yet, and prints nothing.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A caller's ignored SIGCHLD is inherited: the kernel would keep no child's status, and each would be 0.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if given[:1] == ["exec"]:
        from whesl.cli.launch import fast_exec

        given = arguments = ["exec", *fast_exec.told(given[1:])]
        fast_exec.attempt(given[1:])
    from whesl.cli import group

    group.run(arguments)
