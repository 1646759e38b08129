"""A task's workspace as one file, packed after the task's script and unpacked where another task reads it.

Steps of a study name no files, so a step may read the whole workspaces of the steps before it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tarfile
import time
from pathlib import Path

from whesl.model.errors import WheslError
from whesl.runtime.locking import takeover_lock

ARCHIVES = ".workspaces"  # directory below the data, hidden from a study's own patterns
SUFFIX = ".tar"
ROOT = "@whesl-data@"  # placeholder in a script for the directory of the data
_MARK = ".whesl-workspace"  # file that names the run of the task that has left the directory
_PATIENCE = 600.0


def archive(directory: str) -> str:
    """Return the name of the file that a workspace is packed into."""
    return f"{ARCHIVES}/{directory}{SUFFIX}"


def directory(name: str) -> str | None:
    """Return the workspace of an archive, None for another file."""
    if not name.startswith(f"{ARCHIVES}/") or not name.endswith(SUFFIX):
        return None
    return name[len(ARCHIVES) + 1 : -len(SUFFIX)]


def write_script(script: str, data: Path, place: Path) -> Path:
    """Write a task's script into its workspace, with the data's directory filled in; return its path.

    Args:
        script: the script's text.
        data: the directory of the data.
        place: the workspace.
    """
    path = place / ".whesl-script"
    path.write_text(script.replace(ROOT, str(data)))
    path.chmod(0o700)
    return path


def pack(data: Path, name: str, mark: str) -> None:
    """Pack a workspace.

    Links that lead out of the workspace, and entries that are neither file nor directory, are left out.

    Args:
        data: the directory of all workspaces.
        name: name of the archive, from ``archive``.
        mark: text that identifies this run of the task.
    """
    inside = directory(name)
    assert inside is not None
    place, target = data / inside, data / name
    (place / _MARK).write_text(mark)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{secrets.token_hex(4)}")

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if member.issym() or member.islnk():
            there = os.path.normpath(Path(member.name).parent / member.linkname)
            if Path(member.linkname).is_absolute() or there.startswith(".."):
                return None
        elif not member.isfile() and not member.isdir():
            return None
        return member

    with tarfile.open(fresh, "w") as packed:
        packed.add(place / _MARK, _MARK)
        for path in sorted(place.iterdir()):
            if path.name != _MARK:
                packed.add(path, path.name, filter=kept)
    fresh.replace(target)


def unpack(data: Path, name: str) -> None:
    """Unpack a workspace into the directory of all workspaces; the workspace of another run is replaced.

    Of several executors that do so at once, one unpacks and the others wait.

    Args:
        data: the directory of all workspaces.
        name: the archive's name.

    Raises:
        WheslError: the archive cannot be read, or the workspace cannot be written.
    """
    inside = directory(name)
    assert inside is not None
    place, source = data / inside, data / name
    try:
        with tarfile.open(source) as packed:
            first = packed.next()
            file = packed.extractfile(first) if first is not None and first.name == _MARK else None
            if file is None:
                raise WheslError(f"{source} is no workspace")
            mark = file.read().decode()
            if _left_by(place) == mark:
                return
            lock = _locked(source.with_name(f"{source.name}.lock"))
            try:
                if _left_by(place) != mark:
                    _replace(packed, place)
            finally:
                takeover_lock.release(lock)
    except (OSError, tarfile.TarError) as error:
        raise WheslError(f"{source} cannot be unpacked: {error}") from None


def _left_by(place: Path) -> str | None:
    try:
        return (place / _MARK).read_text()
    except OSError:
        return None


def _locked(path: Path) -> int:
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            return takeover_lock.take(str(path), takeover_lock.owned())
        except takeover_lock.HeldError:
            if time.monotonic() >= limit:
                raise
        time.sleep(0.1)


def _replace(packed: tarfile.TarFile, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = (place.with_name(f".{place.name}.{secrets.token_hex(4)}") for _ in range(2))
    fresh.mkdir()
    packed.extractall(fresh, filter="data")
    with contextlib.suppress(FileNotFoundError):
        place.rename(old)
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)
