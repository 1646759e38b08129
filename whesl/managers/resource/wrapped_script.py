"""How a wrapped script is told from others, and what it says of its task. Standard library only.

A wrapped script is its user's own but for the interpreter in its first line, which is a small program of ours
in a directory called ``DIRECTORY`` (docs/design/batch-scripts.md, "Wrapped scripts"). Where one interpreter
serves many tasks, since a workflow manager writes the scripts, each script names its task in its last line.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIRECTORY = "@whesl"
# The option of ``whesl exec`` by which such a program tells where the script stands among its words.
OPTION = "--script-word"
# Tabs, since the line may be read without a shell's rules; names with a tab in them are refused.
TASK = "#WHESL\t"
# Says that the job outlives the loss of a node, since the rules act on lost nodes.
KEEPS = "WHESL_KEEPS_NODES"
# What may stand among the words of such a line as a variable; the script is to see the numbers that it asked
# for.
_VARIABLES = ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_GPUS", KEEPS)


def kept(environ: Mapping[str, str]) -> bool:
    """Whether a job outlives lost nodes for its rules' sake alone: its user has not said so himself."""
    return bool(environ.get(KEEPS)) and environ.get("SBATCH_NO_KILL", "") != "set"


def program(text: str) -> str:
    """Return the program of ours in a script's first line, '' where there is none."""
    words = text.split("\n", 1)[0].removeprefix("#!").split(None, 1) if text.startswith("#!") else []
    parts = words[0].split("/") if words else []
    return words[0] if len(parts) > 3 and parts[-3] == DIRECTORY and parts[0] == "" else ""


def task_words(text: str) -> tuple[str, ...]:
    """Return the words by which a script's last lines name its task, () where they do not."""
    at = text.rfind(f"\n{TASK}")
    if at < 0 and not text.startswith(TASK):
        return ()
    return tuple(text[at + 1 :].split("\n", 1)[0].rstrip("\r").split("\t")[1:])


def expanded(arguments: Sequence[str], script: bytes) -> tuple[dict[str, str], list[str]]:
    """Return what ``whesl exec`` is told in the place of an interpreter: variables to set, and its arguments.

    Args:
        arguments: as the program of ours has them.
        script: the content of the script.
    """
    words = task_words(os.fsdecode(script))
    variables = [word.partition("=") for word in words if word.partition("=")[0] in _VARIABLES]
    options = [word for word in words if word.partition("=")[0] not in _VARIABLES]
    return {name: value for name, _, value in variables}, [*options, *arguments]
