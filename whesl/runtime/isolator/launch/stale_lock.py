"""The stale lock of a task that runs again while another host holds the lock of the earlier run.

The earlier isolator may live and not know yet: its end is awaited. Or its host is dead, and the file server
keeps the dead client's lock (NFS: until the client's lease is over, or the client reboots). The lock names
its owner; the resource manager tells whether that owner can still live.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import Enum

from whesl.managers import resource
from whesl.managers.resource.port import AllocationInfo, Scheduler
from whesl.model.errors import WheslError
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.locking.takeover_lock import Owner

# Seconds until the isolator of a job's earlier run has ended: the coordinator tells it of the new run, or the
# resource manager kills it, and either may be away for a while.
HANDOVER = 60.0
_LOOK = 0.2
_ASK = 2.0  # seconds between two questions to the resource manager


class Fate(Enum):
    """The state of a lock's owner by the resource manager."""

    DEAD = "dead"  # the owner's host is down, or its job has ended
    # The owner's run of the job has ended, and the job runs again here; the isolator may not know.
    SUPERSEDED = "superseded"
    ALIVE = "alive"
    UNKNOWN = "unknown"


def fate(owner: Owner, info: AllocationInfo, scheduler: Callable[[str], Scheduler]) -> Fate:
    """Ask the resource manager for the state of an owner on another host.

    Args:
        owner: the lock's owner.
        info: the description of this job's allocation.
        scheduler: returns the interface to a resource manager from outside a job.
    """
    name, _, job = owner.job.partition(":")
    if not job or name != info.rjms:
        return Fate.UNKNOWN
    superseded = job == info.job_id and owner.restarts < info.restart_count
    try:
        outer = scheduler(name)
        states = {record.name: record.state for record in outer.nodes()}
        known = {node.partition(".")[0]: state for node, state in states.items()}
        state = states.get(owner.host, known.get(owner.host.partition(".")[0]))
        if state is NodeState.DOWN:
            return Fate.DEAD
        if superseded:
            return Fate.SUPERSEDED
        record = outer.jobs([job]).get(job)
    except WheslError:
        return Fate.SUPERSEDED if superseded else Fate.UNKNOWN
    if record is None:
        # Either the job is forgotten, or it belongs to another cluster with the same home, whose hosts are
        # unknown here.
        return Fate.DEAD if state is not None else Fate.UNKNOWN
    if record.state.ended or record.batch_host_lost:
        return Fate.DEAD
    return Fate.ALIVE if record.restarts == owner.restarts else Fate.SUPERSEDED


def present(
    directory: TaskDir,
    setup: Setup,
    info: AllocationInfo,
    scheduler: Callable[[str], Scheduler] = resource.submitted_to,
) -> Owner | None:
    """Return the living owner of a task's lock, None when there is none; break the lock of a dead owner.

    The isolator of this job's earlier run may live: its end is awaited, up to HANDOVER, unless its host is
    down. After that, Slurm's report that the run has ended counts, and the isolator finds its lock lost.

    Args:
        directory: the task's directory.
        setup: the setup of this call.
        info: the description of this job's allocation.
        scheduler: returns the interface to a resource manager from outside a job.

    Raises TaskDirError when the lock cannot be read.
    """
    deadline = time.monotonic() + HANDOVER
    ask = 0.0
    found = Fate.UNKNOWN
    told = False
    while (owner := directory.owner()) is not None:
        same_job = bool(info.job_id) and owner.job == f"{info.rjms}:{info.job_id}"
        if owner.here or not owner.host or (same_job and owner.claim == setup.claim):
            return owner
        now = time.monotonic()
        if now >= ask:
            found, ask = fate(owner, info, scheduler), now + _ASK
        if found is Fate.DEAD or (found is Fate.SUPERSEDED and now >= deadline):
            if directory.break_lock(owner, setup):
                sys.stderr.write(f"whesl: the lock of {owner} was taken over: {_WHY[found]}\n")
            continue
        if found is Fate.ALIVE or not same_job or now >= deadline:
            return owner
        if not told:
            told = True
            sys.stderr.write(f"whesl: waiting for the end of claim {owner.claim} on {owner.host}\n")
        time.sleep(_LOOK)
    return None


_WHY = {
    Fate.DEAD: "the resource manager calls its host down or its job ended",
    Fate.SUPERSEDED: "the resource manager has ended that run of this job",
}
