"""The command line: one file per command, imported only when it is called.

Nor is click imported here: a protected program waits for what ``whesl exec`` loads.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import NoReturn


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
