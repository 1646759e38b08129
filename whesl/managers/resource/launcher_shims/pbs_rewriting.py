"""Replaces calls of ``pbsdsh`` and ``pbs_tmrsh`` by tasks on the nodes in use. Pure; standard library only.

Both commands start tasks by PBS's task manager on nodes of the whole job, without their caller's environment
(pbsdsh(1B), pbs_tmrsh(8B)). ``pbs/tm_program.py`` starts the same tasks on the nodes in use, with the
environment, by which an attempt's processes are recognised on other nodes.
"""

from __future__ import annotations

from whesl.managers.resource.launcher_shims.nodes_in_use import Nodes

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS = ("pbsdsh", "pbs_tmrsh")
# The variable with the path of the job's whole node file, where PBS_NODEFILE names the nodes in use.
WHOLE = "WHESL_PBS_NODEFILE"


def tasks(
    name: str, argv: Sequence[str], environ: Mapping[str, str], lines: Sequence[str]
) -> list[str] | None:
    """Return the arguments of ``tm_program.py``; None where the real command has to report an error.

    Args:
        name: the launcher: ``pbsdsh`` or ``pbs_tmrsh``.
        argv: the launcher's arguments.
        environ: the caller's environment.
        lines: the lines of the job's whole node file.
    """
    nodes = Nodes(environ)
    found = _dsh(argv) if name == "pbsdsh" else _tmrsh(argv)
    usable = [node for node in nodes.active if node in lines]
    if found is None or not usable:
        return None
    options, command = found
    if "h" in options:
        chosen = nodes.translate([options["h"]])
    elif "n" in options:
        chosen = usable[int(options["n"]) :][:1]
    else:
        # Copies are dealt to the nodes in turn, beginning with the first node.
        count = int(options.get("c", len(usable)))
        chosen = [usable[index % len(usable)] for index in range(count)]
    if not chosen or not command:
        return None
    table = " ".join(f"{lines.index(node)}={node}" for node in chosen)
    letters = "".join(letter for letter in "sov" if letter in options)
    return [f"--{name}={letters}", table, *command]


def _dsh(argv: Sequence[str]) -> tuple[dict[str, str], list[str]] | None:
    """Return pbsdsh's options with values, and the command; parsed as getopt(3) parses ``c:n:h:svo``."""
    options: dict[str, str] = {}
    words = list(argv)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in "svo":
                options[letter] = ""
                continue
            if letter not in "cnh" or not (letters or words):
                return None
            value = letters or words.pop(0)
            if letter != "h" and not (value.isascii() and value.isdecimal()):
                return None
            options[letter], letters = value, ""
    return options, words


def _tmrsh(argv: Sequence[str]) -> tuple[dict[str, str], list[str]] | None:
    """Return pbs_tmrsh's host and command; ``-n`` and ``-l`` (a user, always the caller) are ignored."""
    words, host = list(argv), ""
    while words:
        word = words[0]
        if word == "-n":
            words.pop(0)
        elif word.startswith("-l"):
            del words[: 2 if word == "-l" else 1]
        elif word.startswith("-"):
            return None
        elif host:
            break
        else:
            host = words.pop(0)
    return ({"h": host}, words) if host else None
