"""Probes of the WHESL home's file system: locks, links, renames and fsync, also between hosts."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from whesl.doctor.host_and_home import HOME, home_path
from whesl.doctor.probe_runner import Finding, State, ask
from whesl.managers.resource import manager_table
from whesl.runtime.locking import lock_scope, takeover_lock

# Seconds for the job of one node to run; also the seconds until its file has to be visible here.
COMPUTE_LIMIT = 60.0
SEEN_LIMIT = 10.0
_GUARDED = "daemons are told apart by records of their owners instead (docs/design/locks.md)"
# This program runs on a compute node, with the interpreter of agents.
_FAR = """\
import fcntl, json, os, sys
place = sys.argv[1]
told = {"host": os.uname().nodename, "content": open(place + "/here").read()}
for name in ("flock", "lockf"):
    with open(place + "/" + name, "r+b") as file:
        try:
            getattr(fcntl, name)(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            told[name] = "granted"
        except OSError as error:
            told[name] = "held" if error.errno in (11, 13) else error.strerror
with open(place + "/.there", "w") as file:
    file.write("there")
    os.fsync(file.fileno())
os.rename(place + "/.there", place + "/there")
print(json.dumps(told))
"""


def files() -> list[Finding]:
    """Try locks, hard links, renames and fsync in the home, or in the place where it will be made."""
    try:
        with _scratch() as place:
            found = [_locks(place)]
            for name, check in (("hard links", _links), ("rename", _renames), ("fsync", _syncs)):
                found += _tried(name, lambda check=check: check(place))  # type: ignore[misc]  # bound now
            return found
    except OSError as error:
        return [_finding("locks", State.FAILED, f"nothing can be written to {_place()}: {error.strerror}")]


def compute() -> list[Finding]:
    """Try the home between this host and a compute node, in a job of one node."""
    launcher = _launcher()
    if launcher is None:
        return [_finding("compute node", State.MISSING, "not tried: neither srun nor flux is on PATH")]
    with _scratch() as place, contextlib.ExitStack() as held:
        (place / ".here").write_text("here")
        (place / ".here").replace(place / "here")
        for name, lock in (("flock", fcntl.flock), ("lockf", fcntl.lockf)):
            file = held.enter_context((place / name).open("w"))
            with contextlib.suppress(OSError):
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        answer = ask(*launcher, sys.executable, "-c", _FAR, str(place), limit=COMPUTE_LIMIT)
        if answer is None or answer.status != 0:
            why = "no answer" if answer is None else answer.why
            advice = "does that node see the home, and this interpreter? is a node free?"
            return [_finding("compute node", State.FAILED, f"{launcher[0]}: {why}", advice)]
        return _between(json.loads(answer.output.strip().splitlines()[-1]), _seen(place / "there"))


def pointer() -> list[Finding]:
    """Say how to try the home between this host and a compute node; nothing without a resource manager."""
    if _launcher() is None:
        return []
    detail = "not tried; whesl doctor --compute does it, in a job of one node"
    return [_finding("compute node", State.MISSING, detail)]


def _launcher() -> tuple[str, ...] | None:
    known = [one.once for one in reversed(manager_table.BUILT_IN.values()) if one.once]
    return next((words for words in known if shutil.which(words[0])), None)


def _between(told: dict[str, str], seen: float | None) -> list[Finding]:
    """Return findings on a compute node's view, and on the seconds until this host saw that node's file."""
    found = []
    if told["content"] != "here" or seen is None:
        detail = f"what {told['host']} has written is not seen here within {SEEN_LIMIT:.0f} s"
        found.append(_finding("compute node", State.FAILED, detail, "is it the same file system there?"))
    else:
        detail = f"{told['host']} and this host see each other's files (after {seen:.1f} s)"
        found.append(_finding("compute node", State.OK, detail))
    apart = [f"{name}: {told[name]}" for name in ("flock", "lockf") if told[name] != "held"]
    if apart:
        detail = f"do not hold between {told['host']} and this host ({', '.join(apart)}); {_GUARDED}"
        found.append(_finding("locks there", State.WARN, detail))
    else:
        found.append(_finding("locks there", State.OK, f"hold between {told['host']} and this host"))
    return found


def _seen(path: Path) -> float | None:
    began = time.monotonic()
    while time.monotonic() < began + SEEN_LIMIT:
        with contextlib.suppress(OSError):
            if path.read_text() == "there":
                return time.monotonic() - began
        time.sleep(0.05)
    return None


def _locks(place: Path) -> Finding:
    told, lacking = [], []
    for name, lock in (("flock", fcntl.flock), ("fcntl", fcntl.lockf)):
        with (place / "lock").open("w") as file:
            try:
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                told.append(name)
            except OSError as error:
                kind = "none" if error.errno in takeover_lock.UNSUPPORTED else "failed"
                lacking.append(f"{name}: {kind} ({error.strerror})")
    mount = lock_scope.mount_of(str(place))
    if lacking:
        advice = "Lustre: mount option flock; NFS: lockd, or version 4"
        return _finding("locks", State.WARN, f"{', '.join(lacking)}; {_GUARDED}", advice)
    if mount.local_options:
        detail = f"{', '.join(mount.local_options)}: they hold on each host for itself; {_GUARDED}"
        return _finding("locks", State.WARN, detail, "have it mounted without that option")
    known = mount.scope is lock_scope.Scope.EVERYWHERE
    where = "" if known else f"; whether {mount.kind} holds them between hosts is not known"
    return _finding("locks", State.OK, f"{' and '.join(told)} ({mount.kind}){where}")


def _links(place: Path) -> str:
    (place / "one").write_text("")
    os.link(place / "one", place / "two")
    with contextlib.suppress(FileExistsError):
        os.link(place / "one", place / "two")
        return "a name can be made twice"
    return ""


def _renames(place: Path) -> str:
    (place / "old").write_text("old")
    (place / "new").write_text("new")
    (place / "new").replace(place / "old")
    return "" if (place / "old").read_text() == "new" else "a file that was replaced is read as it was"


def _syncs(place: Path) -> str:
    with (place / "synced").open("w") as file:
        file.write("x")
        file.flush()
        os.fsync(file.fileno())
    return ""


def _tried(name: str, check: Callable[[], str]) -> list[Finding]:
    try:
        wrong = check()
    except OSError as error:
        wrong = error.strerror or str(error)
    if not wrong:
        return []
    advice = "set WHESL_HOME to a directory of your own on another file system that nodes share"
    return [_finding(name, State.FAILED, wrong, advice)]


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Make a temporary directory in the home, or in the place where the home will be made."""
    place = Path(tempfile.mkdtemp(prefix=".whesl-doctor-", dir=_place()))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _place() -> Path:
    home = home_path()
    return next(place for place in (home, *home.parents) if place.is_dir() or place == place.parent)


def _finding(name: str, state: State, detail: str, advice: str = "") -> Finding:
    return Finding(group=HOME, name=name, state=state, detail=detail, advice=advice)
