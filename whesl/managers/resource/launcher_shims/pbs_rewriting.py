"""``pbsdsh`` and ``pbs_tmrsh`` on the nodes in use. Pure; standard library only.

Both start tasks by PBS's task manager on nodes of the whole job, without the environment of their caller. In
their place comes ``pbs/tm_program.py``: it starts the same tasks on the nodes in use, and hands them the
environment, by which an attempt's processes are known on other nodes. pbsdsh(1B), pbs_tmrsh(8B).
"""

from __future__ import annotations

from whesl.managers.resource.launcher_shims.nodes_in_use import Nodes

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS = ("pbsdsh", "pbs_tmrsh")
# The file of all of the job's nodes, where PBS_NODEFILE names that of those in use.
WHOLE = "WHESL_PBS_NODEFILE"


def tasks(
    name: str, argv: Sequence[str], environ: Mapping[str, str], lines: Sequence[str]
) -> list[str] | None:
    """Return the arguments of ``tm_program.py``; None where the command itself has to say what is wrong.

    Args:
        name: ``pbsdsh`` or ``pbs_tmrsh``.
        argv: its arguments.
        environ: the caller's.
        lines: the names in the file of all of the job's nodes.
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
        # Copies go round, beginning with the first node.
        count = int(options.get("c", len(usable)))
        chosen = [usable[index % len(usable)] for index in range(count)]
    if not chosen or not command:
        return None
    table = " ".join(f"{lines.index(node)}={node}" for node in chosen)
    # pbsdsh itself ends with 0 however its tasks end.
    return [*(["--status=0"] if name == "pbsdsh" else []), table, *command]


def _dsh(argv: Sequence[str]) -> tuple[dict[str, str], list[str]] | None:
    """Return options with a value and the command, as getopt(3) takes ``c:n:h:svo``."""
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
                continue
            if letter not in "cnh" or not (letters or words):
                return None
            value = letters or words.pop(0)
            if letter != "h" and not (value.isascii() and value.isdecimal()):
                return None
            options[letter], letters = value, ""
    return options, words


def _tmrsh(argv: Sequence[str]) -> tuple[dict[str, str], list[str]] | None:
    """Return the host and the command; ``-n`` says nothing, ``-l`` names a user, who is the caller."""
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
