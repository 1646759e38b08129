"""Finds mentions of replaced nodes in a task's variables, arguments and script.

A variable that was exported before ``whesl exec`` (``MASTER_ADDR=n01``), or a word that the caller's shell
put into the command, keeps a node's name or address after the node was replaced. A program that reads it
looks for its peer on the wrong node. Mentions are reported, not rewritten: only the user knows what a word
means.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from whesl.managers.resource.launcher_shims.launcher_options import parse_mpi, parse_srun
from whesl.model.hostlist import expand

# Variables that WHESL, resource managers, MPI libraries and shells set themselves.
_OWN = re.compile(r"(WHESL|SLURM|SLURMD|FLUX|SSH|PMI|PMIX|OMPI|PRTE)_\w+|HOST|HOSTNAME|_")
# Variables that srun sets in its steps to its own host, which is the script's host.
_LAUNCHER = re.compile(r"SLURM_(?:LAUNCH_NODE_IPADDR|SRUN_COMM_HOST)")
# An assignment of the script's own host: MASTER_ADDR=$(hostname), --master_addr $SLURMD_NODENAME.
OWN_HOST = re.compile(
    r"""(?:\w+=|--?[\w-]+[=\x20])["']?
        (?:\$\(\s*hostname\b[^)]*\)|`\s*hostname\b[^`]*`|\$\{?(?:HOSTNAME|SLURMD_NODENAME|SLURM_TOPOLOGY_ADDR)\b\}?)""",
    re.VERBOSE,
)
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.])"
)
_LOOKUP = 1.0  # seconds to wait for name servers at most
_LIST = re.compile(r"[\w.-]+\[[0-9,-]+\][\w.-]*")
_LONGEST = 120  # the most characters of a word in a mention


def addresses(nodes: Collection[str]) -> frozenset[str]:
    """Return the nodes' network addresses, without loopback addresses.

    Returns only the addresses that name servers report within a second.
    """
    found: set[str] = set()

    def look() -> None:
        for node in nodes:
            with contextlib.suppress(OSError):
                found.update(str(each[4][0]) for each in socket.getaddrinfo(node, None))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(_LOOKUP)
    return frozenset(each for each in [*found] if not ipaddress.ip_address(each).is_loopback)


def mentions(
    environment: Mapping[str, str],
    command: Sequence[str],
    swapped: Mapping[str, str],
    script: bytes = b"",
    script_host: str = "",
    lookup: Callable[[Collection[str]], Collection[str]] = addresses,
) -> tuple[str, ...]:
    """Return the mentions of replaced nodes, such as ``MASTER_ADDR=n01`` or ``argument --host=n01``.

    Options of launchers are left out: the shims translate the nodes in them.

    Args:
        environment: the attempt's environment.
        command: the attempt's command and arguments.
        swapped: the present node of each replaced node.
        script: the text of the task's script, where it is known.
        script_host: the node on which the script runs, replaced or not.
        lookup: returns nodes' addresses; called only when a word looks like an address.
    """
    if not swapped:
        return ()
    words = "\n".join((*command, script.decode(errors="replace"))) if script_host in swapped else ""
    told_here = (*_LAUNCHER.findall(words), *OWN_HOST.findall(words))
    launcher = [f"{name} ({script_host})" for name in dict.fromkeys(told_here)]
    # A node's name means the host alone, before a domain, and after a scheme or a user (tcp://n01:29500). In
    # a path it means a directory.
    own = (*(value for name, value in environment.items() if not _OWN.fullmatch(name)), *_own_words(command))
    numeric = lookup(swapped) if any(map(_ADDRESS.search, own)) else ()
    names = "|".join(re.escape(name) for name in sorted((*swapped, *numeric), key=len, reverse=True))
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
    """Return a command's words without a launcher's own options, which its shim translates."""
    launcher = command[0].rpartition("/")[2] if command else ""
    if launcher == "srun":
        return parse_srun(list(command[1:])).rest
    if launcher in ("mpirun", "mpiexec"):
        # The launcher's MPI is unknown: the reading with fewer words of the program counts.
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
    except ValueError:  # a word in brackets that is no host list
        return ()
