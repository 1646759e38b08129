"""Locks a directory of checkpoints for one coordinator, since two programs would use the same numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whesl.managers import resource
from whesl.model.errors import UsageError, WheslError
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError, LockError, Owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NAME = ".lock"


def take(directory: Path, log: Callable[[str], None]) -> int:
    """Take a directory's lock and return its descriptor for ``takeover_lock.release``; -1 without a lock.

    Args:
        directory: the directory of checkpoints.
        log: called with a line of text where the file system does not support such a lock.

    Raises:
        UsageError: another coordinator seems to hold the lock.
        OSError: the lock could not be examined.
    """
    path = str(directory / _NAME)
    job, restarts = _job()
    owner = takeover_lock.owned(job=job, restarts=restarts)
    try:
        return takeover_lock.take(path, owner)
    except HeldError as error:
        held = error.owner
    except LockError:
        log(f"{directory} is on a file system without hard links: a second program there is not noticed")
        return -1
    if _is_over(held, owner):
        descriptor = takeover_lock.break_lock(path, held, owner)
        if descriptor is not None:
            return descriptor
    raise _refusal(directory, held)


def refuse_held(directory: Path) -> None:
    """Raise UsageError where another coordinator holds a directory's lock, before anything is started."""
    try:
        held = takeover_lock.holder(str(directory / _NAME))
    except OSError:
        return  # the coordinator takes the lock itself, and reports the error
    job, restarts = _job()
    if held is not None and not _is_over(held, Owner(job=job, restarts=restarts)):
        raise _refusal(directory, held)


def _refusal(directory: Path, held: Owner) -> UsageError:
    kind, _, number = held.job.partition(":")
    job = f", job {number} of {kind}" if number else ""
    return UsageError(
        f"{directory} has the checkpoints of another program: process {held.pid} on"
        f" {held.host or 'an unknown host'}{job}",
        hint="--dir names a directory of this program's own; where that process is gone for sure, remove"
        f" {directory / _NAME}",
    )


def _job() -> tuple[str, int]:
    """Return the job that this process runs in and its number of restarts; ("", 0) outside of a job."""
    try:
        given = resource.current_allocation(os.environ).describe()
    except WheslError:
        return "", 0
    return (f"{given.rjms}:{given.job_id}", given.restart_count) if given.job_id else ("", 0)


def _is_over(held: Owner, by: Owner) -> bool:
    """Return whether the job that holds a lock has surely ended, for a lock held on another host."""
    if held.here or not held.job:
        return False
    if held.job == by.job:
        return held.restarts < by.restarts
    kind, _, number = held.job.partition(":")
    try:
        record = resource.scheduler(kind).jobs([number]).get(number)
    except (WheslError, OSError):
        return False
    return record is None or record.state.ended
