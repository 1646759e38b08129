"""The startup probe: whether an attempt's program runs, or only its launcher so far.

A rank is a process of the attempt outside the sessions of its runner and command, as the resource manager's
daemons start them, or one with a rank in its environment, as ``mpirun`` starts them on its own node. Where
the task names no launcher, any process that its runner has started is the program.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from whesl.files.regular_file import beginning
from whesl.model.launcher_programs import LAUNCHERS, NO_RANKS, is_rank
from whesl.runtime.isolator.core.events_and_commands import Event, ProgramSeen
from whesl.runtime.isolator.task.taskdir import Job
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.wire.blocking_call_worker import Worker

# Seconds between two looks: the first interval, and the longest.
FIRST_LOOK = 0.02
LONGEST = 1.0
# Number of a command's first words that may be its script, after an interpreter and its options.
_WORDS = 4
_SCRIPT = 1 << 18  # number of bytes of a script that are searched for a launcher
_LAUNCHERS = re.compile(rf"\b(?:{'|'.join(map(re.escape, LAUNCHERS))})\b")


def launches(job: Job) -> bool:
    """Whether a task names a launcher, so that the processes of its script itself are not the program."""
    words = (job.command[job.script],) if job.script else job.command[:_WORDS]
    texts = [*job.command]
    for word in words:
        # Where no script can be read, only the words of the command are searched.
        with contextlib.suppress(OSError, ValueError):
            texts.append(os.fsdecode(beginning(Path(job.workdir, word), _SCRIPT)))
    return bool(_LAUNCHERS.search(" ".join(texts)))


def runs_here(token: str, runner: int | None, *, launched: bool) -> bool:
    """Whether a process of an attempt's program is on this machine.

    Args:
        token: the attempt's token.
        runner: the process number of the attempt's runner, if it was started here.
        launched: whether the task names a launcher.
    """
    found: list[attempt_processes.Process] = []
    with contextlib.suppress(OSError):  # the probe looks again
        found = attempt_processes.of_attempt(token, runner)
    # The sessions of the runner and of the command that it has started.
    own = {runner, *(process.pid for process in found if process.parent == runner)}
    for process in found:
        if process.pid == runner or process.name in NO_RANKS:
            continue
        if not launched or process.session not in own:
            return True
        if is_rank(attempt_processes.environment_of(process.pid) or b""):
            return True
    return False


class Probe:
    """Looks for one attempt's program, on this node and through the agents of the other nodes.

    Args:
        job: the task.
        worker: the thread that reads this node's processes.
        ask: asks the agents to look for a token.
        feed: takes ``ProgramSeen``.
    """

    def __init__(
        self, job: Job, worker: Worker, ask: Callable[[str], None], feed: Callable[[Event], None]
    ) -> None:
        self._job = job
        self._worker = worker
        self._ask = ask
        self._feed = feed
        self._token = ""
        self._attempt = 0
        self._runner: int | None = None
        self._wait = FIRST_LOOK
        self.due: float | None = None

    @cached_property
    def _launched(self) -> bool:
        """Whether the task names a launcher; first read in the worker, after a restart."""
        return launches(self._job)

    def begin(self, attempt: int, token: str, runner: int | None) -> None:
        """Look for an attempt's program from now on, until it is seen.

        Args:
            attempt: the attempt's number.
            token: the attempt's token.
            runner: the process number of the attempt's runner, None when not known.
        """
        self._attempt, self._token, self._runner = attempt, token, runner
        self._wait = FIRST_LOOK
        self.due = time.monotonic() + self._wait

    def end(self) -> None:
        """Stop looking for the program."""
        self._token, self.due = "", None

    def poll(self, now: float) -> None:
        """Look for the program when a look is due."""
        if self.due is None or now < self.due:
            return
        self.due = None
        token, runner = self._token, self._runner
        self._ask(token)

        def then(seen: bool) -> None:
            if seen:
                self.seen(token, self._job.setup.own_node)
            elif token == self._token:
                self._wait = min(self._wait * 2, LONGEST)
                self.due = time.monotonic() + self._wait

        self._worker.submit(lambda: runs_here(token, runner, launched=self._launched), then)

    def seen(self, token: str, node: str) -> None:
        """Note that an attempt's program runs on a node, and stop looking.

        Args:
            token: the attempt's token.
            node: the node's name.
        """
        if token and token == self._token:
            self.end()
            self._feed(ProgramSeen(attempt=self._attempt, node=node))
