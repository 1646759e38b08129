"""Fencing on the isolator's own node: an attempt's processes are killed, or their stacks read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec

from whesl.runtime.detect.hung_process_stacks import collect
from whesl.runtime.node_agent.fencing import attempt_processes, stuck_processes
from whesl.runtime.operations.relocation.named_and_open_files import open_for_writing

STACKS_LIMIT = 5.0


def kill(
    token: str,
    runner: int | None = None,
    *,
    steps: tuple[str, ...] = (),
    open_below: tuple[str, ...] = (),
    gentle: bool = False,
    patience: float = 0.0,
    launchers_ended: Callable[[], None] | None = None,
) -> attempt_processes.Killing:
    """Kill an attempt's processes on this node.

    Args:
        token, runner, steps, patience, launchers_ended: as for ``attempt_processes.kill_all``.
        open_below: directories below which files that are open for writing are noted first.
        gentle: send SIGTERM first, when only the launcher can end the ranks on other nodes.
    """
    files: dict[bytes, None] = {}
    with contextlib.suppress(OSError):
        pids = [process.pid for process in attempt_processes.of_attempt(token, runner)] if open_below else []
        for root in open_below:
            files.update(dict.fromkeys(open_for_writing(pids, root).paths))
    if gentle:
        attempt_processes.end(token, runner)
    done = attempt_processes.kill_all(
        token, runner, steps=steps, patience=patience, launchers_ended=launchers_ended
    )
    return msgspec.structs.replace(done, open_files=tuple(files))


def stacks(node: str, token: str, runner: int | None, *, of_ranks: bool = False) -> tuple[str, str]:
    """Return the stacks of an attempt's processes on this node as text, and the processes that cannot run.

    Args:
        node: this node's name.
        token: the attempt's token.
        runner: the process number of the attempt's runner, None when not known.
        of_ranks: only tell which ranks run, and which ones a signal has stopped.
    """
    if of_ranks:
        return stuck_processes.of_ranks(lambda: attempt_processes.of_attempt(token, runner, node=node))
    stuck = stuck_processes.stuck(lambda: attempt_processes.of_attempt(token, runner, node=node))
    pids = [process.pid for process in attempt_processes.of_attempt(token, runner)]
    where = f"on {node}:\n" if node else ""
    return where + collect(pids, timeout=STACKS_LIMIT - 1.0), stuck
