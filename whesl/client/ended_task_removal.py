"""Finds, measures and removes the directories of ended tasks.

A directory is removed only if its task is known to be over and no process holds its lock, both at the moment
of the removal. A task of unknown state keeps its directory.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import msgspec

from whesl.files import decode_errors
from whesl.model.states import TaskState
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError

_BLOCK = 512  # bytes; the unit of st_blocks (stat(2))
# Seconds in which a beginning task has removed the old result but may not have told its coordinator yet.
BEGINNING = 600.0
_HELD = "its isolator runs"


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """A task's directory.

    ``size`` is bytes on the disk; ``changed`` is the time of the last write, seconds since the epoch. ``why``
    says why the directory has to stay, empty when its task is over. ``reported``: whether a coordinator has
    all records of the task's journal.
    """

    path: Path
    task: str
    size: int = 0
    files: int = 0
    changed: float = 0.0
    why: str = ""
    reported: bool = False


def look(path: Path, states: Mapping[str, TaskState]) -> Leftover:
    """Measure a task's directory and find out whether the task is over.

    Args:
        path: the directory.
        states: the states of all tasks that the coordinator knows, by id.

    Unreadable files are not counted.
    """
    directory = TaskDir(path)
    task = _name_of(directory)
    state = states.get(task)
    size = count = 0
    changed = 0.0
    for entry in _below(path):
        with contextlib.suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            size += found.st_blocks * _BLOCK
            if not entry.is_dir(follow_symlinks=False):
                count += 1
                changed = max(changed, found.st_mtime)
    return Leftover(
        path=path,
        task=task,
        size=size,
        files=count,
        changed=changed,
        why=_standing(directory, state, held=directory.owner() is not None),
        reported=state is not None,
    )


def _name_of(directory: TaskDir) -> str:
    """Return the id of a directory's task; without a record in it, the directory's name."""
    path, job = directory.path, decode_errors.load(directory.job_file, Job)
    return job.setup.task.id if job is not None else f"{unquote(path.parent.name)}/{unquote(path.name)}"


def standing(*, held: bool, state: TaskState | None, result: Result | None, since: float = math.inf) -> str:
    """Return why a task's directory has to stay, empty when the task is over. Pure.

    Args:
        held: whether a process holds the task's lock.
        state: the task's state in the coordinator, None for an unknown task.
        result: the result that the task's isolator left at its end, None without one.
        since: seconds since the task was last begun.
    """
    if held:
        return _HELD
    if state is not None and not state.final:
        return f"it is {state.value}"
    if result is not None:
        return "" if result.state.final else f"its isolator left it {result.state.value}"
    return "" if state is not None and since > BEGINNING else "no end of it is known"


def _standing(directory: TaskDir, state: TaskState | None, *, held: bool) -> str:
    since = math.inf
    with contextlib.suppress(OSError):
        since = time.time() - directory.job_file.stat().st_mtime
    result = decode_errors.load(directory.result_file, Result)
    return standing(held=held, state=state, result=result, since=since)


def remove(path: Path, state: TaskState | None) -> str:
    """Remove a task's directory if its task is still over; return why it stays, empty when it is removed.

    Files that show that the task is over are removed last, so that an interrupted removal can be continued.
    The task's lock is held meanwhile: the start of a task of the same name is refused.

    Args:
        path: the directory.
        state: the task's state in the coordinator, None for an unknown task.

    Raises OSError when a file in it cannot be removed.
    """
    directory = TaskDir(path)
    try:
        lock = directory.lock()
    except HeldError:
        return _HELD
    try:
        why = _standing(directory, state, held=False)
        if why:
            return why
        last = (directory.job_file, directory.result_file, directory.lock_file)
        with os.scandir(path) as entries:
            for entry in entries:
                if Path(entry.path) not in last:
                    _drop(entry)
        for file in last:
            file.unlink(missing_ok=True)
        path.rmdir()
    finally:
        takeover_lock.release(lock)
    return ""


def _drop(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
    else:
        Path(entry.path).unlink(missing_ok=True)


def _below(path: Path) -> Iterator[os.DirEntry[str]]:
    """Yield all entries below a directory; symbolic links are yielded but not followed."""
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(Path(entry.path))
    except OSError:
        return
