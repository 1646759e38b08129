"""The end of an isolator whose task another host has taken over (``runtime.locking.takeover_watch``).

Another host takes a task over when the resource manager reports this host as dead. The lock is read anew
before each record is written, and every few seconds: an isolator that has lost the lock ends its task's
processes on this host, writes nothing more, and ends. Agents on other nodes end the processes there when they
no longer hear of the isolator.
"""

from __future__ import annotations

import logging

from whesl.model.errors import WheslError
from whesl.runtime.isolator.core.task_setup import Setup, token_prefix
from whesl.runtime.node_agent.fencing import attempt_processes

LOG = logging.getLogger(__name__)


class LockLostError(WheslError):
    """Another isolator has taken the task over."""

    exit_code = 76  # EX_PROTOCOL of sysexits.h; the keeper knows this status


def give_up(setup: Setup, runner: int | None) -> None:
    """Kill a task's processes on this host, since another host runs the task anew.

    Args:
        setup: the task's setup.
        runner: the process number of the attempt's runner; None for none.

    Always raises LockLostError.
    """
    found = attempt_processes.kill_all(token_prefix(setup), runner)
    LOG.error("%d processes of %s were killed here", found.count, setup.task.id)
    raise LockLostError(
        f"the lock of {setup.task.id} was taken over: another run of it has begun",
        hint="the resource manager had called this host dead, or had ended this run of the job",
    )
