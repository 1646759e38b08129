"""Processes of virtual nodes, found in /proc by descent and by environment."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from whesl.managers.resource import command_call
from whesl.managers.resource.embedded.environment import CLUSTER, NODE
from whesl.model.errors import TransientError
from whesl.runtime.locking import procfs

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


class Process(NamedTuple):
    """One line of /proc/PID/stat. ``started`` (clock ticks since boot) distinguishes reused ids.

    ``thread``: id of the thread under which /proc shows the environment; not ``pid`` when the main thread has
    ended before others.
    """

    pid: int
    state: str
    parent: int
    session: int
    started: int
    thread: int = 0


def look(pid: int) -> Process | None:
    """Return the process with an id, None when there is none. Raises OSError when /proc cannot be read."""
    fields = procfs.status_fields(pid)
    if not fields:
        return None
    thread, state = procfs.living_thread(pid, fields)
    return Process(pid, state, int(fields[1]), int(fields[3]), int(fields[19]), thread)


def all_processes() -> dict[int, Process]:
    """Return every process of this machine that can be seen."""
    found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return {process.pid: process for process in found if process is not None}


def variables(pid: int, names: Iterable[str]) -> dict[str, str]:
    """Return the named variables of the environment that a process was started with; {} when unreadable.

    Args:
        pid: the process's (or thread's) id.
        names: names of the variables.
    """
    entries = (procfs.content(f"/proc/{pid}/environ") or b"").split(b"\0")
    wanted = {name.encode(): name for name in names}
    pairs = (entry.partition(b"=") for entry in entries)
    return {wanted[name]: os.fsdecode(value) for name, _, value in pairs if name in wanted}


def children(pid: int) -> list[int]:
    """Return the ids of a process's children, whichever of its threads started them."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        # The process has ended meanwhile, or the kernel lacks CONFIG_PROC_CHILDREN.
        if look(pid) is not None and not os.path.exists(f"/proc/{pid}/task/{pid}/children"):  # noqa: PTH110
            return [process.pid for process in all_processes().values() if process.parent == pid]
    return found


def descendants(roots: Iterable[int]) -> list[int]:
    """Return the living processes at and below ``roots``, parents first."""
    found: dict[int, None] = {}
    frontier = list(roots)
    while frontier:
        pid = frontier.pop()
        if pid in found:
            continue
        process = look(pid)
        if process is not None and process.state not in "ZX":
            found[pid] = None
        frontier += children(pid)
    return list(found)


def become_subreaper() -> None:
    """Let orphans below this process become its children, so that descent finds all processes of a node.

    Raises OSError.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def of_node(cluster: str, node: str, daemon: int | None) -> set[int]:
    """Return the ids of a node's living processes, without its daemon and this process.

    Args:
        cluster: the cluster's directory.
        node: the node's name.
        daemon: the node daemon's process id, when it lives.
    """
    found = set(descendants([daemon])) if daemon is not None else set()
    everything = all_processes()
    for pid, process in everything.items():
        marks = variables(process.thread, (CLUSTER, NODE))
        if marks.get(CLUSTER) == cluster and marks.get(NODE) == node:
            found.add(pid)
    found |= set(descendants(found))
    alive = {pid for pid in found if pid in everything and everything[pid].state not in "ZX"}
    return alive - {os.getpid(), daemon}


def crash(cluster: str, node: str, daemon: int | None, *, patience: float = 10.0) -> int:
    """Kill a node's processes like a power cut, without a report. Returns the number of killed processes.

    The daemon is stopped first, so that it neither reports nor starts anything, and killed last, so
    that descent finds all processes. This process is spared, even if it runs on the node.

    Args:
        cluster: the cluster's directory.
        node: the node's name.
        daemon: the node daemon's process id, when it lives.
        patience: seconds in which all processes have to die.

    Raises TransientError when a process does not die in time.
    """
    if daemon is not None:
        command_call.send(daemon, signal.SIGSTOP)
    killed: set[int] = set()

    def kill_rest() -> bool:
        left = of_node(cluster, node, daemon)
        for pid in left:
            command_call.send(pid, signal.SIGKILL)
        killed.update(left)
        return not left

    until(kill_rest, patience, f"processes of {node} do not die")
    if daemon is not None:
        command_call.send(daemon, signal.SIGKILL)
        killed.add(daemon)
        last = daemon
        until(lambda: not ((left := look(last)) and left.state not in "ZX"), patience, f"{node} does not die")
        # Kill also the processes that the daemon was starting when it was stopped.
        daemon = None
        until(kill_rest, patience, f"processes of {node} do not die")
    return len(killed)


def freeze(cluster: str, node: str, daemon: int, *, patience: float = 10.0) -> None:
    """Stop all processes of a node with SIGSTOP, its daemon first. Raises TransientError.

    Args:
        cluster: the cluster's directory.
        node: the node's name.
        daemon: process id of the node's daemon.
        patience: seconds in which all processes have to stop.
    """
    command_call.send(daemon, signal.SIGSTOP)
    told: set[int] = set()

    def stopped() -> bool:
        # A shell that waits in vfork(2) for a stopped child is in state D and stops only after the child.
        running = [
            pid
            for pid in of_node(cluster, node, daemon)
            if (p := look(pid)) and p.state not in ("TtZXD" if pid in told else "TtZX")
        ]
        for pid in running:
            command_call.send(pid, signal.SIGSTOP)
        told.update(running)
        return not running

    until(stopped, patience, f"processes of {node} do not stop")


def thaw(cluster: str, node: str, daemon: int) -> None:
    """Continue a node's stopped processes with SIGCONT, its daemon last.

    Args:
        cluster: the cluster's directory.
        node: the node's name.
        daemon: process id of the node's daemon.
    """
    for pid in of_node(cluster, node, daemon):
        command_call.send(pid, signal.SIGCONT)
    command_call.send(daemon, signal.SIGCONT)


def until(done: Callable[[], bool], patience: float, complaint: str) -> None:
    """Wait until a condition holds.

    Args:
        done: tells whether the condition holds.
        patience: seconds after which TransientError is raised.
        complaint: the text of that error.
    """
    deadline = time.monotonic() + patience
    while not done():
        if time.monotonic() > deadline:
            raise TransientError(complaint)
        time.sleep(0.01)
