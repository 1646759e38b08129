"""Runs one custom handler that is installed as an entry point.

``python -m whesl.runtime.operations.custom_handler_host NAME``. The entry point is a callable
(``package.module:function``, which takes the request and returns the answer as dictionaries) or a module that
is run as a program. Standard output is for the answer: the output of a callable goes to standard error. An
exception of the handler ends this process with status 1 and a traceback in the task's log.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import runpy
import sys

from whesl.runtime.operations.custom_handlers import GROUP


def main(arguments: list[str]) -> int:
    """Run the handler named by the one argument; returns the exit status."""
    if len(arguments) != 1:
        sys.stderr.write(
            "usage: python -m whesl.runtime.operations.custom_handler_host NAME < request.json\n"
        )
        return 2
    found = [point for point in importlib.metadata.entry_points(group=GROUP) if point.name == arguments[0]]
    if not found:
        sys.stderr.write(f"no handler called {arguments[0]} in {GROUP}\n")
        return 2
    if not found[0].attr:
        sys.argv = [arguments[0]]
        runpy.run_module(found[0].module, run_name="__main__", alter_sys=True)
        return 0
    with contextlib.redirect_stdout(sys.stderr):
        answer = found[0].load()(json.load(sys.stdin))
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
