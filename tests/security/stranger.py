"""Another user of the same machine: functions run in a child that gave up being root."""

from __future__ import annotations

import encodings.idna  # noqa: F401  # host names need it, and the child reads no file of the interpreter any more
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

# Two users whom no real one is likely to be, so that nothing of this machine belongs to them.
VICTIM, STRANGER = 62_001, 62_002

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def start_as(user: int, work: Callable[[], Any], *, groups: tuple[int, ...] = ()) -> tuple[int, int]:
    """Start a function as another user, in a child; return its process id and where its result comes.

    The child is a fork, so the user needs no access to the interpreter or to the code.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    status = 1
    try:
        os.close(reader)
        os.setgroups(groups)
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        os.umask(0o022)
        try:
            answer = {"value": work()}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        os.write(writer, msgspec.json.encode(answer))
        status = 0
    finally:
        os._exit(status)


def result_of(started: tuple[int, int]) -> Any:
    """Return what a function gave that was started as another user; its error is a RuntimeError here."""
    pid, reader = started
    with open(reader, "rb") as pipe:  # noqa: PTH123  # a descriptor
        content = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with {status}"
    answer = msgspec.json.decode(content)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["value"]


@contextmanager
def crowd(user: int, size: int, connect: Callable[[], list[Any]]) -> Iterator[None]:
    """Keep open for the block what ``connect`` opens and returns, ``size`` in all, in another user's child.

    The error of a child that fails is raised before the block: nothing waits for it.
    """
    ready, release = os.pipe(), os.pipe()

    def stay() -> int:
        opened = connect()
        os.write(ready[1], b"x")
        os.read(release[0], 1)
        return len(opened)

    started = start_as(user, stay)
    os.close(ready[1])
    if os.read(ready[0], 1):
        try:
            yield
        finally:
            os.write(release[1], b"x")
    assert result_of(started) == size
    for descriptor in (ready[0], *release):
        os.close(descriptor)


def run_as(user: int, work: Callable[[], Any], *, groups: tuple[int, ...] = ()) -> Any:
    """Run a function as another user and return its result (as JSON makes it)."""
    return result_of(start_as(user, work, groups=groups))


@contextmanager
def open_place(mode: int = 0o755) -> Iterator[Path]:
    """A directory that every user can reach: what is closed in it was closed by the product."""
    place = Path(tempfile.mkdtemp(prefix="whesl-open-", dir="/tmp"))
    place.chmod(mode)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def everything(root: Path) -> list[Path]:
    """Return a path and all below it."""
    return [root, *sorted(root.rglob("*"))]


def reached_of(paths: list[str]) -> list[str]:
    """Return those of some paths that the caller can get anything out of or into, with how."""
    found = []
    for path in paths:
        for name, attempt in _ATTEMPTS.items():
            try:
                attempt(path)
            except OSError:
                continue
            found.append(f"{name} {path}")
    return found


def _connect(path: str) -> None:
    if not stat.S_ISSOCK(Path(path).stat().st_mode):
        raise OSError
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(5)
        channel.connect(path)


def _open(flags: int) -> Callable[[str], None]:
    def attempt(path: str) -> None:
        os.close(os.open(path, flags | os.O_NONBLOCK))

    return attempt


_ATTEMPTS: dict[str, Callable[[str], Any]] = {
    "read": _open(os.O_RDONLY),
    "write": _open(os.O_WRONLY | os.O_APPEND),
    "list": os.listdir,
    "make a file in": lambda path: os.close(os.open(f"{path}/planted", os.O_CREAT | os.O_WRONLY)),
    "connect to": _connect,
    "rename": lambda path: Path(path).rename(f"{path}.stolen"),
}
