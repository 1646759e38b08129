"""What a task is still told of a node that another one has replaced. Pure.

A variable that was exported before ``whesl exec`` (``MASTER_ADDR=n01``), or a word that the caller's shell
put into the command, keeps a node's name after the node was replaced. A program that reads it looks for
its partner where none is. It is told, and not rewritten: only the user knows what the word means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from whesl.managers.resource.hostlist import expand
from whesl.managers.resource.launcher_shims.launcher_options import parse_mpi, parse_srun

# What WHESL and the resource managers tell of the nodes themselves, and the shell's own name for its host.
_OWN = re.compile(r"(WHESL|SLURM|SLURMD|FLUX|SSH|PMI|PMIX|OMPI|PRTE)_\w+|HOST|HOSTNAME|_")
# srun sets them in its steps, to where it runs itself: on the script's host, whichever nodes the ranks have.
_LAUNCHER = re.compile(r"SLURM_(?:LAUNCH_NODE_IPADDR|SRUN_COMM_HOST)")
_LIST = re.compile(r"[\w.-]+\[[0-9,-]+\][\w.-]*")
_LONGEST = 120  # characters that are shown of a word


def mentions(
    environment: Mapping[str, str],
    command: Sequence[str],
    swapped: Mapping[str, str],
    script: bytes = b"",
    script_host: str = "",
) -> tuple[str, ...]:
    """Return what names a replaced node, as ``MASTER_ADDR=n01`` or ``argument --host=n01``.

    Options of launchers are left out: the shims translate the nodes that they name.

    Args:
        environment: the attempt's.
        command: the attempt's, with its arguments.
        swapped: node that was replaced to the node in its place.
        script: the text of the task's script, where that is known.
        script_host: the node on which the script runs, replaced or not.
    """
    if not swapped:
        return ()
    words = "\n".join((*command, script.decode(errors="replace"))) if script_host in swapped else ""
    launcher = [f"{name} ({script_host})" for name in dict.fromkeys(_LAUNCHER.findall(words))]
    # A name stands for a host alone, before its domain and behind a scheme or a user: tcp://n01:29500. In a
    # path it is a directory.
    names = "|".join(re.escape(name) for name in sorted(swapped, key=len, reverse=True))
    named = re.compile(rf"(?:(?<![\w./-])|(?<=//))(?:{names})(?![\w-])")
    return (*_found(environment, command, named, frozenset(swapped)), *launcher)


def _found(
    environment: Mapping[str, str], command: Sequence[str], named: re.Pattern[str], replaced: frozenset[str]
) -> Iterator[str]:
    for name, value in environment.items():
        if not _OWN.fullmatch(name) and _names(value, named, replaced):
            yield f"{name}={value[:_LONGEST]}"
    for word in _own_words(command):
        if _names(word, named, replaced):
            yield f"argument {word[:_LONGEST]}"


def _own_words(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that no shim reads."""
    launcher = command[0].rpartition("/")[2] if command else ""
    if launcher == "srun":
        return parse_srun(list(command[1:])).rest
    if launcher in ("mpirun", "mpiexec"):
        # Of either MPI: what one takes for an option, the other takes for a word of the program.
        lines = (parse_mpi(list(command[1:]), kind) for kind in ("openmpi", "hydra"))
        return min((tuple(word for line in each for word in line.rest) for each in lines), key=len)
    return tuple(command)


def _names(value: str, named: re.Pattern[str], replaced: frozenset[str]) -> bool:
    return named.search(value) is not None or any(
        not replaced.isdisjoint(_expanded(found)) for found in _LIST.findall(value)
    )


def _expanded(text: str) -> tuple[str, ...]:
    try:
        return expand(text)
    except ValueError:  # brackets of something else
        return ()
