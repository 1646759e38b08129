"""Probes of the machine and of the WHESL home: inotify, user namespaces, directories."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import msgspec
from inotify_simple import INotify, flags

from whesl.doctor.probe_runner import Finding, State, ask, one
from whesl.managers.resource.manager_table import SUBMITS
from whesl.model import home as places
from whesl.model.errors import WheslError
from whesl.runtime.coordinator.client.start import running
from whesl.runtime.coordinator.json_views import unreachable_managers
from whesl.runtime.locking.lock_scope import LOCAL, SHARED, mount_of

GROUP = "machine"
HOME = "files"
_INOTIFY = Path("/proc/sys/fs/inotify")
FEW_WATCHES = 1024
FEW_INSTANCES = 16
LITTLE_ROOM = 100 * 1024 * 1024
# File systems that several machines mount; other types may be shared too.
_SHARED = {*SHARED, "beegfs", "fhgfs", "pvfs2", "orangefs", "wekafs", "afs", "9p", "daos", "virtiofs"}


def inotify() -> list[Finding]:
    """Look at the limits of inotify, and try it."""
    watches, instances = (_limit(name) for name in ("max_user_watches", "max_user_instances"))
    limits = f"{_shown(watches)} watches, {_shown(instances)} instances for each user"
    try:
        with tempfile.TemporaryDirectory() as place:
            tried = INotify()
            try:
                tried.add_watch(place, flags.MODIFY)
            finally:
                tried.close()
    except OSError as error:
        return one(
            State.WARN,
            f"cannot be used ({error.strerror}); {limits}; logs are polled instead",
            "end what watches many files, or have fs.inotify.max_user_instances raised",
        )
    few = (watches is not None and watches < FEW_WATCHES) or (
        instances is not None and instances < FEW_INSTANCES
    )
    return one(
        State.WARN if few else State.OK,
        limits + ("; what does not fit is polled" if few else ""),
        "have fs.inotify.max_user_watches raised for many tasks on one node" if few else "",
    )


def _limit(name: str) -> int | None:
    try:
        return int((_INOTIFY / name).read_text())
    except (OSError, ValueError):
        return None


def _shown(limit: int | None) -> str:
    return "unknown" if limit is None else str(limit)


def namespaces() -> list[Finding]:
    """Try user namespaces, which only WHESL's own tests and demonstrations use."""
    answer = ask("unshare", "--user", "--map-root-user", "true")
    if answer is not None and answer.status == 0:
        return one(State.OK)
    why = "no unshare command" if answer is None else answer.why
    return one(State.MISSING, f"{why}; only tests with nodes and file systems of their own use them")


# Where WHESL keeps its files -------------------------------------------------------------------------


def home_path() -> Path:
    """Return the WHESL home, without making it."""
    return Path(places.chosen()).expanduser().absolute()


def home() -> list[Finding]:
    """Look at the WHESL home: its mode, its file system, its room."""
    path = home_path()
    present = next(place for place in (path, *path.parents) if place.exists() or place == place.parent)
    advice = f"set {places.VARIABLE} to a directory of your own that login and compute nodes share"
    if problem := _private(path) if present == path else _makeable(path, present):
        return one(State.FAILED, *problem)
    if problem := _private(places.keys(path)):
        return one(State.FAILED, *problem, name="keys")
    free = shutil.disk_usage(present).free
    kind = file_system(present)
    detail = f"{path} ({kind}), {free / 1e9:.1f} GB free"
    if present != path:
        detail += "; made at first use"
    if free < LITTLE_ROOM:
        return one(State.WARN, detail, f"make room: a full disk stops journals; or {advice}")
    if above := _exchangeable(present):
        return one(State.WARN, f"{detail}; other users can exchange it, since {above}", advice)
    cluster = any(map(shutil.which, SUBMITS))
    if kind in LOCAL and cluster and not os.environ.get("WHESL_LOCAL"):
        return one(State.WARN, f"{detail}; this is a file system of this machine alone", advice)
    return one(State.OK, detail)


def _private(path: Path) -> tuple[str, str] | None:
    """Return a defect of a directory of the home, with advice; None for no defect."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{path}: {error.strerror}", f"set {places.VARIABLE} to a directory of your own"
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is no directory", f"set {places.VARIABLE} to a directory of your own"
    if found.st_uid != os.geteuid():
        return f"{path} belongs to uid {found.st_uid}", f"set {places.VARIABLE} to a directory of your own"
    if mode & 0o077:
        return f"{path} is open to others (mode {mode:04o})", f"chmod 700 {path}"
    if not os.access(path, os.W_OK | os.X_OK):
        return f"{path} cannot be written to", f"chmod 700 {path}, or is its file system mounted read-only?"
    return None


def _exchangeable(path: Path) -> str:
    """Return why others could rename a directory and put another in its place, "" when they cannot."""
    for above in path.resolve().parents:
        try:
            found = above.stat()
        except OSError:
            continue
        if found.st_uid not in (0, os.geteuid()):
            return f"{above} belongs to uid {found.st_uid}"
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            return f"everybody can write into {above}"
    return ""


def _makeable(path: Path, present: Path) -> tuple[str, str] | None:
    if present.is_dir() and os.access(present, os.W_OK | os.X_OK):
        return None
    return f"{path} cannot be made below {present}", f"set {places.VARIABLE} to a directory of your own"


def file_system(path: Path) -> str:
    """Return the type of a path's file system, "?" when it is not known."""
    return mount_of(str(path)).kind


def interpreter() -> list[Finding]:
    """Check whether other nodes can start the interpreter that agents and shims run with."""
    import sys

    kind = file_system(Path(sys.executable))
    cluster = any(map(shutil.which, SUBMITS))
    if kind in _SHARED or not cluster or os.environ.get("WHESL_LOCAL"):
        return one(State.OK, f"{sys.executable} ({kind})")
    return one(
        State.WARN,
        f"{sys.executable} ({kind}): agents on other nodes start this very path",
        "install WHESL on a file system that the nodes share, or at the same path on each node",
    )


def coordinator() -> list[Finding]:
    """Check whether the coordinator runs; commands start it when they need it."""
    path = home_path()
    if not places.coordinator(path).is_dir():
        return one(State.OK, "never started; whesl run starts it")
    try:
        health = running(path, timeout=1.5)
    except (WheslError, OSError, msgspec.MsgspecError) as error:
        detail = f"cannot be asked: {error}"
        advice = "whesl coordinator stop, then start"
        return one(State.FAILED, detail, advice)
    if health is None:
        return one(State.OK, "does not run; whesl run starts it")
    detail = f"process {health.get('pid')} on {health.get('host')}, {health.get('tasks')} tasks"
    if silent := unreachable_managers(health):
        advice = "whesl cancel TASK ends a task whose job has surely ended; others wait for the manager"
        detail = f"{detail}; {'; '.join(silent)}"
        return one(State.WARN, detail, advice)
    return one(State.OK, detail)
