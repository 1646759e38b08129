"""Processes of an attempt that cannot run on this node."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from whesl.model.launcher_programs import NO_RANKS, is_rank
from whesl.runtime.node_agent.fencing.attempt_processes import Process, environment_of, read

WAITING_FOR = 0.4
WAITING_LOOKS = 3
# States in which a process cannot run (proc_pid_stat(5)). A debugger's stop (t) is not the node's fault.
_STUCK = {"T": "stopped", "D": "waiting inside the kernel"}
# The resource manager's processes above a step's tasks, which pass on output and end of the tasks.
_ABOVE_TASKS = frozenset({"slurmstepd", "flux-shell"})


def stuck(
    look: Callable[[], list[Process]],
    *,
    states: Mapping[str, str] = _STUCK,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Return a text on processes that cannot run: stopped by a signal, or always waiting inside the kernel.

    A process that reads or writes much often waits inside the kernel; a process that never returns (from a
    dead disk, file system or device) waits there at each of several looks. Takes ``WAITING_FOR`` seconds at
    most, and no time when no process is stopped or waits.

    Args:
        look: returns an attempt's processes.
        states: the kernel's letters of states in which a process cannot run, each with a word for people.
        wait: sleeps for a number of seconds.

    Returns one line, empty when all processes can run, including the resource manager's processes above them.
    """
    suspects = {(process.pid, process.started, process.state): process for process in _with_parents(look())}
    suspects = {key: process for key, process in suspects.items() if process.state in states}
    for _ in range(WAITING_LOOKS - 1):
        if not suspects:
            return ""
        wait(WAITING_FOR / (WAITING_LOOKS - 1))
        again = {(process.pid, process.started, process.state) for process in _with_parents(look())}
        suspects = {key: process for key, process in suspects.items() if key in again}
    told = []
    for state, words in states.items():
        names = [f"{process.name} ({process.pid})" for process in suspects.values() if process.state == state]
        if names:
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            told.append(f"{words} (state {state}): {', '.join(names[:4])}{more}")
    return "; ".join(told)


def of_ranks(look: Callable[[], list[Process]]) -> tuple[str, str]:
    """Return a text on the ranks that run, and one on those that a signal has stopped; empty for none.

    Args:
        look: returns an attempt's processes.
    """

    def ranks() -> list[Process]:
        found = (process for process in look() if process.name not in NO_RANKS)
        return [process for process in found if is_rank(environment_of(process.shown_by) or b"")]

    stopped = stuck(ranks, states={"T": _STUCK["T"]})
    running = sum(process.state != "T" for process in ranks())
    return f"{running} processes of ranks run" if running else "", stopped


def _with_parents(found: list[Process]) -> list[Process]:
    parents = {process.parent for process in found} - {process.pid for process in found}
    above = [process for pid in sorted(parents) if (process := read(pid)) is not None]
    return found + [process for process in above if process.name in _ABOVE_TASKS]
