"""Commands of Slurm's names and forms, for the local resource manager.

What they accept and print is what a running Slurm 22.05 accepts and prints. Each is imported only when it is
called: a workflow manager calls them thousands of times.
"""

from __future__ import annotations

import importlib
import os
import sys

from whesl.model.errors import CouldNotObserveError, UsageError, WheslError

NAMES = ("sbatch", "srun", "squeue", "scancel", "sinfo", "sacct", "scontrol")
UNREACHABLE = "Unable to contact slurm controller (connect failure)"


def main(arguments: list[str]) -> int:
    """Run the command that the first argument names; returns its exit status."""
    if not arguments or arguments[0] not in NAMES:
        sys.stderr.write(f"usage: {'|'.join(NAMES)} [arguments]\n")
        return 2
    name = arguments[0]
    module = importlib.import_module(f"whesl.managers.resource.embedded.commands.{name}")
    try:
        result = module.run(arguments[1:])
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f'{name}: error: {error.message}\nTry "{name} --help" for more information\n')
        return 1
    except CouldNotObserveError:
        sys.stderr.write(f"{name}: error: {UNREACHABLE}\n")
        return 1
    except WheslError as error:
        sys.stderr.write(f"{name}: error: {error.message}\n")
        return 1
    except BrokenPipeError:
        # The reader (head, grep -q) has ended; the interpreter is not to complain at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    assert isinstance(result, int)
    return result
