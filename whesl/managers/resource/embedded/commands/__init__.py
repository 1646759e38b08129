"""Slurm's commands (sbatch, srun, squeue, ...) for the local resource manager.

The commands accept and print the same as those of Slurm 22.05. Only the module of the called command is
imported: a workflow manager calls commands thousands of times.
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
        # The reader of the output (head, grep -q) has ended: /dev/null keeps the interpreter's exit silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    assert isinstance(result, int)
    return result
