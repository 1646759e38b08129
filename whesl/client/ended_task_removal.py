"""What ended tasks leave in their directories: found, weighed and removed.

A directory is removed only when its task is known to be over, nobody holds its lock, and both still hold in
the moment of the removal. What cannot be told to be over stays.
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
# Seconds. A task that begins removes the old result first, and tells its coordinator later.
BEGINNING = 600.0
_HELD = "its isolator runs"


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """A task's directory.

    ``size`` is bytes on the disk; ``changed``, seconds since the epoch, of the last write to it.
    ``why`` says why it has to stay, empty when its task is over. ``reported``: whether a coordinator was told
    of all that its journal says.
    """

    path: Path
    task: str
    size: int = 0
    files: int = 0
    changed: float = 0.0
    why: str = ""
    reported: bool = False


def look(path: Path, states: Mapping[str, TaskState]) -> Leftover:
    """Weigh a task's directory and say whether its task is over.

    Args:
        path: the directory.
        states: of all tasks that the coordinator knows, by id.

    What cannot be read of it is not counted.
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
    """Return the id of the task whose directory this is; without a record of it, the directory's name."""
    path, job = directory.path, decode_errors.load(directory.job_file, Job)
    return job.setup.task.id if job is not None else f"{unquote(path.parent.name)}/{unquote(path.name)}"


def standing(*, held: bool, state: TaskState | None, result: Result | None, since: float = math.inf) -> str:
    """Say why a task's directory has to stay, nothing when the task is over. Pure.

    Args:
        held: whether a process holds its lock.
        state: what the coordinator knows of the task, None for nothing.
        result: what its isolator left at its end, None for nothing.
        since: how long ago the task was begun last, seconds.
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
    """Remove a task's directory if its task is still over; return why it stays, nothing when it is gone.

    What says that the task is over goes last, so that an interrupted removal can be taken up again. Its lock
    is held meanwhile: a task of the same name that starts just now is refused.

    Args:
        path: the directory.
        state: what the coordinator knows of its task, None for nothing.

    Raises OSError when something in it cannot be removed.
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
    """Yield all entries below a directory; symbolic links are entries and are not followed."""
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(Path(entry.path))
    except OSError:
        return
