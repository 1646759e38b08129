"""An attempt's processes on this machine: found by token, session and descent; signalled; killed.

Read from ``/proc`` (proc(5)) in one pass, because fencing repeats the pass until nothing is left and the
restarted program waits for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

TOKEN_VARIABLE = "WHESL_ATTEMPT_TOKEN"  # noqa: S105  # a name, not a secret
FENCE_TIMEOUT = 10.0
_NODE_NAME = b"\0SLURMD_NODENAME="
_LAUNCHERS = frozenset({"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prte", "flux"})


class Process(msgspec.Struct, frozen=True):
    """One process. ``started`` (clock ticks since boot) tells it from a later one with the same number."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    started: int
    name: str


def read(pid: int) -> Process | None:
    """Return a process, None when there is none."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name may contain anything, parentheses and spaces included: the last one ends it.
    before, _, after = content.rpartition(b")")
    fields = after.split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        state=fields[0].decode(),
        started=int(fields[19]),
        name=before.partition(b"(")[2].decode(errors="replace"),
    )


def alive(pid: int, started: int) -> bool:
    """Whether the very process that was started then still runs (a zombie does not)."""
    process = read(pid)
    return process is not None and process.started == started and process.state not in "ZX"


def everything() -> list[Process]:
    """Return all processes of this machine that are no zombies."""
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208  # strings
    return [process for process in found if process is not None and process.state not in "ZX"]


def of_attempt(
    token: str, session: int | None = None, *, spare: Iterable[int] = (), node: str = ""
) -> list[Process]:
    """Return the processes of an attempt on this machine.

    Args:
        token: the attempt's, as it stands in the processes' environment; or the beginning that all tokens of
            the task share, which ends in a full stop.
        session: the runner's process number, if it was started here.
        spare: processes that are never counted in (the caller's own).
        node: leave out what says of itself that it runs on another node (SLURMD_NODENAME): several
            nodes may live on one machine.

    A process counts by its environment, by the runner's session, or by being a descendant of one that counts:
    a program that clears its environment and makes a session of its own is still found.
    """
    end = "" if token.endswith(".") else "\0"
    wanted = f"\0{TOKEN_VARIABLE}={token}{end}".encode()
    spared = {os.getpid(), *spare}
    processes = {process.pid: process for process in everything() if process.pid not in spared}
    chosen = {
        pid
        for pid, process in processes.items()
        if (session is not None and process.session == session) or _holds(pid, wanted, node)
    }
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    frontier = list(chosen)
    while frontier:
        frontier = [child for pid in frontier for child in children.get(pid, ()) if child not in chosen]
        chosen.update(frontier)
    return [processes[pid] for pid in sorted(chosen)]


def _holds(pid: int, wanted: bytes, node: str) -> bool:
    try:
        environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return False  # another user's, or gone: neither can be the attempt's
    if wanted not in environment:
        return False
    told = environment.partition(_NODE_NAME)[2].partition(b"\0")[0] if node else b""
    return not told or told == node.encode()


def kill_all(
    token: str,
    session: int | None = None,
    *,
    spare: Iterable[int] = (),
    node: str = "",
    timeout: float = FENCE_TIMEOUT,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[int, list[Process]]:
    """Kill an attempt's processes until a pass over all processes finds none.

    SIGKILL also ends stopped ones. Between two passes a process may fork, so only an empty pass counts.

    Args:
        token, session, spare, node: as ``of_attempt``.
        timeout: seconds; a process that waits inside the kernel does not die before it comes back.
        clock: monotonic seconds.

    Returns how many were killed, and those that are left.
    """
    deadline = clock() + timeout
    killed: set[tuple[int, int]] = set()
    pause = 0.001
    while True:
        left = of_attempt(token, session, spare=spare, node=node)
        if not left or clock() > deadline:
            return len(killed - {(process.pid, process.started) for process in left}), left
        for process in left:
            send(process.pid, signal.SIGKILL)
            killed.add((process.pid, process.started))
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def end(token: str, session: int | None, *, patience: float = 2.0) -> None:
    """Ask an attempt to end, and wait a little: a launcher then ends its ranks on other nodes.

    Args:
        token, session: as ``of_attempt``.
        patience: seconds.
    """
    deadline = time.monotonic() + patience
    for process in of_attempt(token, session):
        send(process.pid, signal.SIGTERM)
    while time.monotonic() < deadline and any(p.pid != session for p in of_attempt(token, session)):
        time.sleep(0.02)


def send(pid: int, signum: int) -> None:
    """Send a signal; a process that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)


def signal_attempt(
    token: str, runner: int | None, signum: int, whom: str, spare: Iterable[int] = (), *, node: str = ""
) -> int:
    """Send a signal to an attempt and return to how many processes.

    Args:
        token: the attempt's.
        runner: the runner's process number, where it runs here.
        signum: the signal.
        whom: ``group`` is everything in the runner's process group, as a terminal or Slurm's time limit does
            it; ``main`` the task's own command only, as ``sbatch --signal=B:`` does it; ``catching`` every
            process that handles the signal, launchers excepted, since they pass it on to all their ranks.
        spare: processes that are left out.
        node: as for ``of_attempt``.
    """
    processes = of_attempt(token, runner, spare=spare, node=node)
    if whom == "group":
        chosen = [process for process in processes if process.group == runner and process.pid != runner]
    elif whom == "main":
        chosen = [process for process in processes if process.parent == runner]
    else:
        chosen = [
            process
            for process in processes
            if process.pid != runner and process.name not in _LAUNCHERS and _catches(process.pid, signum)
        ]
    for process in chosen:
        send(process.pid, signum)
    return len(chosen)


def _catches(pid: int, signum: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
    return bool(int(mask, 16) >> (signum - 1) & 1)
