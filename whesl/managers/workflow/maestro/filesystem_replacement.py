"""Maestro on a full disk: later workspaces go to another disk, and Maestro's own files stay writable.

Maestro creates a task's workspace when it submits the task (``os.makedirs`` unless the path exists), and
writes the script into it. A link to a directory, made in the workspace's place beforehand, is an existing
path: the script and all files of the task are written through the link. Maestro rewrites ``status.csv`` and
``<study>.pkl`` at each look, and a full disk ends its conductor then (OSError). Maestro opens both files by
name, so links in their place lead to WHESL's directory.
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
# Parts of the reserve: the first is freed when the disk is full, the others for restarted conductors.
_PARTS = 4
_PROBE_BYTES = 4096
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def replace_filesystem(
    workflow: Workflow, arguments: Mapping[str, Any], failed: str, configuration: Configuration
) -> Configuration:
    """Create later tasks' workspaces below a new root, and links to them in the places that Maestro uses.

    Args:
        workflow: the whole workflow.
        arguments: ``filesystem`` (the new root, or a list of candidates, of which the first with room
            counts), ``defaultpath`` (the old prefix; the study's root unless it is below the prefix),
            ``min_free`` (bytes).
        failed: the id of the task that raised the exception, whose own workspace exists and is left to its
            isolator.
        configuration: the task's present configuration.

    Returns the configuration unchanged: later tasks reach the new root through the links, and the failed task
    is moved by its own JOB step, which copies its files. Existing workspaces stay; a second call recognises
    the links and creates missing ones. Raises RefusedError when no candidate can be used.
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
    """Create one task's workspace at ``target``, and a link to it in the place that Maestro uses."""
    place = Path(task.workspace)
    if os.path.lexists(place):
        return
    try:
        _make_private(new, target)
        _make_private(str(root), str(place.parent))
        with contextlib.suppress(FileExistsError):
            # Maestro has created the workspace meanwhile, and keeps it.
            place.symlink_to(target)
    except OSError as error:
        kind = TransientError if error.errno in _FULL else RefusedError
        raise kind(
            f"the workspace of {task.id} cannot be made at {target}: {error.strerror} ({error.filename})",
            hint="the task's own recovery goes on when there is room",
        ) from None


def _make_private(trusted: str, path: str) -> None:
    """Create the directories of ``path`` below ``trusted``; each has to be the user's own, and no link.

    Each directory is opened from its parent without following links, so that nobody can exchange it
    meanwhile. Raises RefusedError.
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
    """Keeps Maestro's own files writable while the study's disk is full.

    Callers call ``look`` repeatedly while Maestro runs, and ``close`` once after its end. No method raises:
    the study also runs without this protection.
    """

    def __init__(self, root: Path, directory: Path) -> None:
        self._root = root
        self._directory = directory / "bookkeeping"
        self._sheltered: set[str] = set()
        self._parts: int | None = None  # remaining parts of the reserve; None: there is no reserve yet

    def look(self) -> None:
        """Replace Maestro's new files by links, and keep the reserve up to date."""
        with contextlib.suppress(OSError):
            if not (self._root / "status.csv").exists():
                # Without status.csv, Maestro may still be removing an older run's directory.
                return
            for path in (self._root / "status.csv", *self._root.glob("*.pkl")):
                # <study>.study.pkl needs no link: Maestro writes it once, before the first status.
                if path.name not in self._sheltered and not path.name.endswith(".study.pkl"):
                    self._move(path)
            self._keep_reserve()

    def make_room(self) -> None:
        """Free a part of the reserve on a full disk, before Maestro writes all its scripts again."""
        if self._parts and self._full():
            self._keep(self._parts - 1)

    def close(self) -> None:
        """Move the files back to their places in the study, as far as the disk has room."""
        self._keep(0)
        for name in sorted(self._sheltered):
            place, real = self._root / name, self._directory / name
            beside = self._root / f".{name}.whesl"
            try:
                if place.is_symlink():
                    shutil.copy2(real, beside)
                    beside.replace(place)
            except OSError:
                # On a disk that is still full, the link stays, with the same content.
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
        """Reserve one mebibyte of disk space; free a part on a full disk, so that Maestro can write a script.

        A part is freed only once: running tasks may use it up, and a restarted conductor needs the other
        parts.
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
    """Whether a file of ``size`` bytes could be created; False only when the disk or the quota is full."""
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
