"""Recognises wrapped scripts, and reads the task that a wrapped script names. Standard library only.

A wrapped script is the user's script with another interpreter in its first line: a small program of WHESL in
a directory called ``DIRECTORY`` (docs/design/batch-scripts.md, "Wrapped scripts"). Where a workflow manager
writes the scripts, one interpreter serves many tasks, and each script names its task in its last line.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIRECTORY = "@whesl"
# The option of ``whesl exec`` by which the interpreter passes the script's position among its arguments.
OPTION = "--script-word"
# The beginning of the line that names a script's task. Tabs separate its words, which need no quoting then;
# names with a tab are refused.
TASK = "#WHESL\t"
# The variable that is set where WHESL lets the job outlive a lost node, because its rules act on lost nodes.
KEEPS = "WHESL_KEEPS_NODES"
# Variables that the line of a script's task may set. The SLURM_ ones give the script the numbers that its own
# options ask for.
_VARIABLES = ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_GPUS", KEEPS)


def kept(environ: Mapping[str, str]) -> bool:
    """Whether a job outlives lost nodes only because of its rules, and not by its user's own --no-kill."""
    return bool(environ.get(KEEPS)) and environ.get("SBATCH_NO_KILL", "") != "set"


def program(text: str) -> str:
    """Return WHESL's program in a script's first line, '' for a script that is not wrapped."""
    words = text.split("\n", 1)[0].removeprefix("#!").split(None, 1) if text.startswith("#!") else []
    parts = words[0].split("/") if words else []
    return words[0] if len(parts) > 3 and parts[-3] == DIRECTORY and parts[0] == "" else ""


def task_words(text: str) -> tuple[str, ...]:
    """Return the words of the line that names a script's task, () for a script without one."""
    at = text.rfind(f"\n{TASK}")
    if at < 0 and not text.startswith(TASK):
        return ()
    return tuple(text[at + 1 :].split("\n", 1)[0].rstrip("\r").split("\t")[1:])


def expanded(arguments: Sequence[str], script: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the variables and arguments for ``whesl exec`` when it runs as a wrapped script's interpreter.

    Args:
        arguments: the arguments that the interpreter program passes to ``whesl exec``.
        script: the content of the wrapped script.
    """
    words = task_words(os.fsdecode(script))
    variables = [word.partition("=") for word in words if word.partition("=")[0] in _VARIABLES]
    options = [word for word in words if word.partition("=")[0] not in _VARIABLES]
    return {name: value for name, _, value in variables}, [*options, *arguments]
