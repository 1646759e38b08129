"""Whether a Flux instance is another job's than this process's: a job inherits FLUX_URI from its submitter.

Standard library only: programs that take checkpoints load this module.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from whesl.managers.resource.manager_table import BUILT_IN, ID

_LOCAL = "local://"
_IDS = {name for one in BUILT_IN.values() if (name := one.tells.get(ID))}


def broker(uri: str) -> int:
    """Return the process id of the broker that listens at a URI; 0 for one in another PID namespace.

    Args:
        uri: the instance's address, of a socket on this host.

    Raises OSError when no broker listens.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        probe.connect(uri.removeprefix(_LOCAL))
        # unix(7): for a client, the credentials are those of the process that called listen(2).
        pid: int = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        return pid


def of_another_job(environ: Mapping[str, str], pid: int) -> bool:
    """Whether a broker runs in another job than a process with this environment, for sure.

    Args:
        environ: the environment of this process.
        pid: the broker's process id; 0 for an unknown one.

    A job of Flux may carry the id of the outer job that it was submitted from; its broker is an ancestor of
    this process.
    """
    if pid == 0:
        return False
    theirs = _environment(pid)
    ids = [(environ.get(name), theirs.get(name)) for name in _IDS]
    return any(ours and their and ours != their for ours, their in ids) and pid not in _ancestors()


def elsewhere(environ: Mapping[str, str]) -> bool:
    """Whether FLUX_URI names an instance of another job, for sure; False where nothing is known of it.

    Args:
        environ: the environment of this process.
    """
    uri = environ.get("FLUX_URI", "")
    if not uri.startswith(_LOCAL) or not any(map(environ.get, _IDS)):
        return False
    try:
        return of_another_job(environ, broker(uri))
    except OSError:
        return False


def _environment(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty where it is another user's."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    return dict(os.fsdecode(entry).partition("=")[::2] for entry in text.split(b"\0"))


def _ancestors() -> set[int]:
    """Return this process and all processes that it descends from."""
    found, pid = set[int](), os.getpid()
    while pid and pid not in found:
        found.add(pid)
        try:
            # proc_pid_stat(5): the parent is the second field behind the name, which may have any character.
            pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            break
    return found
