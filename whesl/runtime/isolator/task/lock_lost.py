"""The end of an isolator whose task another host has taken over (``runtime.locking.takeover_watch``).

Another host takes a task over when the resource manager reports this host as dead. The lock is read anew
before each record is written, and every few seconds: an isolator that has lost it ends its task's processes
on this host, writes nothing more, and ends. Agents on other nodes end theirs when they no longer hear of the
isolator.
"""

from __future__ import annotations

import logging

from whesl.model.errors import WheslError
from whesl.runtime.isolator.core.task_setup import Setup, token_prefix
from whesl.runtime.node_agent.fencing import attempt_processes

LOG = logging.getLogger(__name__)


class LockLostError(WheslError):
    """Another isolator has taken the task over."""

    exit_code = 76  # EX_PROTOCOL of sysexits.h; the keeper knows it


def give_up(setup: Setup, runner: int | None) -> None:
    """Kill a task's processes on this host, which another one runs anew.

    Args:
        setup: the task's.
        runner: its attempt's; None for none.

    Raises LockLostError always.
    """
    found = attempt_processes.kill_all(token_prefix(setup), runner)
    LOG.error("%d processes of %s were killed here", found.count, setup.task.id)
    raise LockLostError(
        f"the lock of {setup.task.id} was taken over: another run of it has begun",
        hint="the resource manager had called this host dead, or had ended this run of the job",
    )
