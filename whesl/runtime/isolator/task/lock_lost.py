"""What an isolator does whose task another host has taken over (``runtime.locking.takeover_watch``).

That is done when the resource manager calls this host dead. Before anything is written down, and so before
anything is done, and every few seconds besides, the lock is read anew: an isolator that has lost it ends its
task's processes here, writes nothing more, and ends. Agents on other nodes end theirs when they hear of it no
more.
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
