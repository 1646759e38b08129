"""A task that runs again while the lock of its earlier run is held, on another host.

The earlier isolator may live on and not have heard yet: it is waited for. Or its host is dead, and the file
server keeps the lock of a client that will never give it back (NFS: until its lease is over, or it boots
again). The lock names its owner; the resource manager tells whether that owner can still live.
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

# How long the isolator of a job's earlier start may take to hear that the job runs again, seconds: it is told
# by the coordinator, or killed by the resource manager, and either may be away for a while.
HANDOVER = 60.0
_LOOK = 0.2
_ASK = 2.0  # between two questions to the resource manager


class Fate(Enum):
    """What the resource manager knows of a lock's owner."""

    DEAD = "dead"  # its host is down, or its job has ended
    SUPERSEDED = "superseded"  # its job has ended that run, and runs again here; the isolator may not know
    ALIVE = "alive"
    UNKNOWN = "unknown"


def fate(owner: Owner, info: AllocationInfo, scheduler: Callable[[str], Scheduler]) -> Fate:
    """Ask the resource manager for an owner on another host.

    Args:
        owner: who holds the lock.
        info: what this job was given.
        scheduler: returns a resource manager's outer face.
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
        # The job is forgotten, or it is one of another cluster with the same home, whose hosts this one does
        # not know.
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
    """Return who runs a task now, None when nobody does; a dead host's lock is taken from it.

    The isolator of this job's earlier run may live: its end is waited for, up to HANDOVER, unless its host
    is down. After that Slurm's report that the run has ended counts, and the isolator finds its lock lost.

    Args:
        directory: the task's.
        setup: of this call.
        info: what the resource manager gave.
        scheduler: returns a resource manager's outer face.

    Raises TaskDirError when the lock cannot be looked at.
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
