"""Maestro and a full disk: workspaces to come go elsewhere, and its own bookkeeping stays writable.

Maestro makes a task's workspace when it submits the task (``os.makedirs`` unless the path exists) and
writes the script into it. A link to a directory, made beforehand where Maestro will look, is a path that
exists: the script and all that the task writes go through it. Maestro writes ``status.csv`` and
``<study>.pkl`` again at each look, and dies of a full disk there (OSError in the conductor); both are
opened by name, so links put in their place lead the writes to WHESL's directory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError, TransientError
from whesl.model.workflow import Task, Workflow

_RESERVE = ".whesl-reserve"
_RESERVE_BYTES = 1 << 20
_PARTS = 4  # parts of the reserve: one for the full disk, the others for restarted conductors
_PROBE_BYTES = 4096
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def replace_filesystem(
    workflow: Workflow, arguments: Mapping[str, Any], failed: str, configuration: Configuration
) -> Configuration:
    """Make the workspaces that are still to come in a new root, and link them where Maestro looks.

    Args:
        workflow: the whole workflow.
        arguments: ``filesystem`` (new root, or a list of candidates: the first with room),
            ``defaultpath`` (old prefix; the study's root when it is none of its parents), ``min_free``
            (bytes).
        failed: the id of the task that raised the exception; its own workspace exists and is left to its
            isolator.
        configuration: the task's present configuration.

    Returns the configuration as it is: tasks to come reach the new root through the links, and the failed
    task is moved by its own JOB step, which carries its files over. What exists already is left as it is; a
    second call finds its own links and makes what is missing. Raises RefusedError when no candidate can be
    used.
    """
    old = _old_prefix(str(arguments.get("defaultpath") or ""), workflow.root)
    new = _choose(arguments, old)
    for task in workflow.tasks:
        if task.id != failed and (task.workspace + "/").startswith(old + "/"):
            _place(task, Path(workflow.root), new + task.workspace[len(old) :], new)
    return configuration


def _old_prefix(given: str, root: str) -> str:
    prefix = given.rstrip("/")
    if prefix and (root + "/").startswith(prefix + "/"):
        return prefix
    return root


def _choose(arguments: Mapping[str, Any], old: str) -> str:
    given = arguments.get("filesystem")
    candidates = [str(item) for item in given] if isinstance(given, (list, tuple)) else [str(given or "")]
    need = int(arguments.get("min_free") or 0)
    reasons = []
    for candidate in candidates:
        path = candidate.rstrip("/")
        if not path.startswith("/") or ".." in path.split("/"):
            reasons.append(f"{candidate!r} is not an absolute path")
        elif os.path.normpath(path) == old:
            reasons.append(f"{path} is the full one itself")
        else:
            try:
                found = os.statvfs(path)
            except OSError as error:
                reasons.append(f"{path}: {error.strerror}")
                continue
            free = found.f_bavail * found.f_frsize
            if free > need:
                return os.path.normpath(path)
            reasons.append(f"{path} has {free} bytes free, {need} are needed")
    raise RefusedError(
        f"no other file system can be used: {'; '.join(reasons)}",
        hint='give a directory of yours with room as "filesystem"',
    )


def _place(task: Task, root: Path, target: str, new: str) -> None:
    """Make one task's workspace at ``target`` and a link to it where Maestro looks."""
    place = Path(task.workspace)
    if os.path.lexists(place):
        return
    try:
        _make_private(new, target)
        _make_private(str(root), str(place.parent))
        with contextlib.suppress(FileExistsError):
            # Maestro was faster: the workspace exists, and is its own.
            place.symlink_to(target)
    except OSError as error:
        kind = TransientError if error.errno in _FULL else RefusedError
        raise kind(
            f"the workspace of {task.id} cannot be made at {target}: {error.strerror} ({error.filename})",
            hint="the task's own recovery goes on when there is room",
        ) from None


def _make_private(trusted: str, path: str) -> None:
    """Make the directories of ``path`` below ``trusted``, each the user's and no link. Raises RefusedError.

    Each is opened without following links from the one above, so none can be exchanged meanwhile.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    directory = os.open(trusted, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in _below(trusted, path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=directory)
            try:
                inner = os.open(name, flags, dir_fd=directory)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise RefusedError(
                        f"{name} in {path} is a link or no directory; it is not followed"
                    ) from None
                raise
            os.close(directory)
            directory = inner
            found = os.fstat(directory)
            if found.st_uid != os.getuid() or found.st_mode & stat.S_IWOTH:
                raise RefusedError(
                    f"{name} in {path} belongs to another user or is open to all",
                    hint="choose a directory that only you can write to",
                )
    finally:
        os.close(directory)


def _below(trusted: str, path: str) -> Iterator[str]:
    relative = os.path.relpath(path, trusted)
    if relative != ".":
        yield from relative.split("/")


class Shelter:
    """Keeps Maestro's bookkeeping writable while the study's disk is full.

    ``look`` is called again and again while Maestro runs, ``close`` once after its end. Nothing here
    raises: a study without this shelter is a study as it was before.
    """

    def __init__(self, root: Path, directory: Path) -> None:
        self._root = root
        self._directory = directory / "bookkeeping"
        self._sheltered: set[str] = set()
        self._parts: int | None = None  # parts of the reserve that are left; None: not made yet

    def look(self) -> None:
        """Take the next steps that have become possible or necessary since the last call."""
        with contextlib.suppress(OSError):
            if not (self._root / "status.csv").exists():
                # Maestro may still be removing an older directory of this name.
                return
            for path in (self._root / "status.csv", *self._root.glob("*.pkl")):
                # <study>.study.pkl is written once, before the first status, and stays.
                if path.name not in self._sheltered and not path.name.endswith(".study.pkl"):
                    self._move(path)
            self._keep_reserve()

    def make_room(self) -> None:
        """Give a part of the reserve free if nothing else is: Maestro is about to write all its scripts."""
        if self._parts and self._full():
            self._keep(self._parts - 1)

    def close(self) -> None:
        """Put the files back where Maestro would have left them, as far as there is room."""
        self._keep(0)
        for name in sorted(self._sheltered):
            place, real = self._root / name, self._directory / name
            beside = self._root / f".{name}.whesl"
            try:
                if place.is_symlink():
                    shutil.copy2(real, beside)
                    beside.replace(place)
            except OSError:
                # Still no room: the link stays and shows the same content.
                beside.unlink(missing_ok=True)

    def _move(self, path: Path) -> None:
        if path.is_symlink():
            return
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        real = self._directory / path.name
        shutil.copy2(path, real)
        beside = self._root / f".{path.name}.whesl"
        beside.unlink(missing_ok=True)
        beside.symlink_to(real)
        beside.replace(path)
        self._sheltered.add(path.name)

    def _keep_reserve(self) -> None:
        """Hold one mebibyte; give a part free when nothing else is, so that Maestro can write a script.

        Only once: running tasks may take what is given, and a conductor that died of that wants room, too.
        """
        if self._parts is None:
            self._parts = _PARTS if _allocate(self._root / _RESERVE, _RESERVE_BYTES) else 0
        elif self._parts == _PARTS and self._full():
            self._keep(_PARTS - 1)

    def _full(self) -> bool:
        probe = self._root / f"{_RESERVE}-probe"
        room = _allocate(probe, _PROBE_BYTES)
        probe.unlink(missing_ok=True)
        return not room

    def _keep(self, parts: int) -> None:
        reserve = self._root / _RESERVE
        with contextlib.suppress(OSError):
            if parts:
                descriptor = os.open(reserve, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    os.ftruncate(descriptor, _RESERVE_BYTES // _PARTS * parts)
                finally:
                    os.close(descriptor)
            else:
                reserve.unlink(missing_ok=True)
        self._parts = parts


def _allocate(path: Path, size: int) -> bool:
    """Whether a file of ``size`` bytes could be made; False only when the disk or the quota is full."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _FULL:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            return False
    return True
