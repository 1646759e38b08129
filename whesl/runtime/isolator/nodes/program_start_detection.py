"""The startup probe: whether an attempt's program runs, or so far its launcher alone.

A rank is a process of the attempt outside the sessions of its runner and command, as the resource manager's
daemons start them, or one with a rank in its environment, as ``mpirun`` starts them on its own node. Where
the task names no launcher, whatever its runner has started is the program.
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
from whesl.model.launchers import NO_RANKS
from whesl.runtime.isolator.core.events_and_commands import Event, ProgramSeen
from whesl.runtime.isolator.nodes.blocking_call_worker import Worker
from whesl.runtime.isolator.task.taskdir import Job
from whesl.runtime.node_agent.fencing import attempt_processes

# Seconds between two looks: after the first, and at most.
FIRST_LOOK = 0.02
LONGEST = 1.0
# Words of a command that may be its script; an interpreter and its options may precede it.
_WORDS = 4
_SCRIPT = 1 << 18  # bytes of a script that are searched for a launcher
_LAUNCHERS = re.compile(r"\b(?:srun|flux|mpirun|mpiexec(?:\.\w+)?|orterun|prterun|prun|jsrun|aprun|ibrun)\b")
# Not set in a batch script: srun(1), flux-run(1), Open MPI's and MPICH's process environments. Slurm numbers
# the batch script's own step -5 (26.05), and that of an interactive shell in the same way (slurm.h).
_RANKS = re.compile(
    rb"\0(?:SLURM_STEP_ID=\d{1,9}\0|(?:FLUX_TASK_RANK|OMPI_COMM_WORLD_RANK|PMI_RANK|PMIX_RANK)=)"
)


def launches(job: Job) -> bool:
    """Whether a task names a launcher: then what its script does itself is not yet the program."""
    words = (job.command[job.script],) if job.script else job.command[:_WORDS]
    texts = [*job.command]
    for word in words:
        # The words of the command are searched alone where no script can be read.
        with contextlib.suppress(OSError, ValueError):
            texts.append(os.fsdecode(beginning(Path(job.workdir, word), _SCRIPT)))
    return bool(_LAUNCHERS.search(" ".join(texts)))


def runs_here(token: str, runner: int | None, *, launched: bool) -> bool:
    """Whether a process of an attempt's program is on this machine.

    Args:
        token: the attempt's.
        runner: its runner's process number, if it was started here.
        launched: whether the task names a launcher.
    """
    found: list[attempt_processes.Process] = []
    with contextlib.suppress(OSError):  # looked for again
        found = attempt_processes.of_attempt(token, runner)
    # The runner's, and that of the command that it has started.
    own = {runner, *(process.pid for process in found if process.parent == runner)}
    for process in found:
        if process.pid == runner or process.name in NO_RANKS:
            continue
        if not launched or process.session not in own:
            return True
        if is_rank(attempt_processes.environment_of(process.pid) or b""):
            return True
    return False


def is_rank(environment: bytes) -> bool:
    """Whether a process has the variables of a launcher's rank (as ``/proc/PID/environ`` has them)."""
    return _RANKS.search(b"\0" + environment + b"\0") is not None


class Probe:
    """Looks for one attempt's program, on this node and through the agents of the others.

    Args:
        job: the task.
        worker: where this node's processes are looked at.
        ask: has the agents look for a token.
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
        """Whether the task names a launcher: the worker reads its script, for a restart alone."""
        return launches(self._job)

    def begin(self, attempt: int, token: str, runner: int | None) -> None:
        """Look for an attempt's program from now on, until it is seen."""
        self._attempt, self._token, self._runner = attempt, token, runner
        self._wait = FIRST_LOOK
        self.due = time.monotonic() + self._wait

    def end(self) -> None:
        """Look no more."""
        self._token, self.due = "", None

    def poll(self, now: float) -> None:
        """Look, when it is time to."""
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
        """Take the news that an attempt's program runs on a node."""
        if token and token == self._token:
            self.end()
            self._feed(ProgramSeen(attempt=self._attempt, node=node))
