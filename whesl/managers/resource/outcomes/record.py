"""The outcome of a job, in one form for all resource managers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import msgspec

from whesl.managers.resource.command_call import captured
from whesl.model.errors import WheslError

_TIMEOUT = 35.0  # seconds for one command
Run = Callable[..., str]  # runs one command, given as arguments; returns what it prints; raises WheslError


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A job's outcome, as its resource manager reports it.

    Attributes:
        state: the job's state in Slurm's words (COMPLETED, FAILED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL,
            PREEMPTED, CANCELLED, RUNNING, PENDING).
        status: exit status as a shell gives it; None where it is not known.
        node: the node that failed; None where the manager names none.
        told: the report in the manager's own words, for people.
        files: paths of the job's output; some may not exist.
        globs: glob patterns of further files of the job's output.
        since: no file that was written before this time, in seconds since the epoch, is the job's; infinity
            for a job that never began.
        hidden: why further files of the job's output may exist; empty where none is likely.
        text: output that the manager keeps itself; None where it keeps none.
    """

    state: str
    status: int | None = None
    node: str | None = None
    told: str = ""
    files: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    since: float = 0.0
    hidden: str = ""
    text: str | None = None


def run_command(*command: str) -> str:
    """Run a command of a resource manager and return what it prints.

    Raises:
        WheslError: the command is not installed, does not answer, or fails.
    """
    try:
        done = captured(command, timeout=_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WheslError(f"{command[0]} does not answer: {error}") from error
    if done.returncode:
        words = done.stderr.strip().splitlines()
        raise WheslError(words[0] if words else f"{command[0]} ended with {done.returncode}")
    return done.stdout
