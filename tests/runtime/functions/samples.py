"""Functions that tests call in processes of their own."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import whesl


@whesl.task
def told(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return what a function's process sees."""
    return {
        "args": args,
        "kwargs": kwargs,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "group": os.getpgid(0),
        "cwd": str(Path.cwd()),
        "environment": dict(os.environ),
        "stdin": sys.stdin.read(),
    }


class OddError(Exception):
    """Says itself how it is made again, wrongly."""

    def __reduce__(self) -> Any:
        return OddError, (), {"lock": threading.Lock()}


class PlainError(ValueError):
    """Comes back as it is."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.code = code


def deeper(what: str) -> Any:
    """Raise or return something that is hard to give back."""
    if what == "plain":
        raise PlainError("three", 3)
    if what == "odd":
        raise OddError("odd 4")
    if what == "interrupt":
        raise KeyboardInterrupt
    return threading.Lock()


@whesl.task
def raising(what: str) -> Any:
    """Raise or return what ``deeper`` does."""
    return deeper(what)


@whesl.task
def dying(how: str) -> None:
    """End the process without a result."""
    if how == "exit":
        os._exit(7)
    if how == "well":
        os._exit(0)
    if how == "segfault":
        ctypes.string_at(0)
    os.kill(os.getpid(), signal.SIGKILL)


def count(place: Path) -> int:
    """Return how often this was called before, in whatever process."""
    with place.open("a") as file:
        file.write("x")
        return file.tell() - 1


@whesl.task(
    attempts=[{"arguments": {"batch": 16}, "environment": {"MODE": "safe ${x}"}}, {"arguments": {"batch": 8}}]
)
def smaller(place: Path, batch: int = 32) -> tuple[int, str, int]:
    """Fail for large batches, once by an exception and once by a death."""
    number = count(place)
    if number == 0:
        raise MemoryError(batch)
    if number == 1:
        os._exit(9)
    return batch, os.environ["MODE"], number


@whesl.task(retry_on=OSError, retries=1)
def flaky(place: Path, error: BaseException) -> int:
    """Raise at the first call."""
    number = count(place)
    if number == 0:
        raise error
    return number


@whesl.task(outputs=lambda path, **_: path, retries=1)
def writing(path: Path, *, place: Path) -> str:
    """Write its file at the second call only."""
    if count(place):
        path.write_text("here")
    return "returned"


@whesl.task(inputs=lambda path: [path], outputs=lambda path: f"{path}.out", retries=0)
def converting(path: Path) -> None:
    """Leave an output that is older than its input."""
    Path(f"{path}.out").write_text("old")
    os.utime(f"{path}.out", (1, 1))


@whesl.task(silence=1, retries=0)
def silent() -> None:
    """Print once, and nothing more."""
    print("begun", flush=True)
    time.sleep(300)


@whesl.task(no_progress=3, retries=1)
def stalling(place: Path) -> int:
    """Get no further at the first call, and say so all the time."""
    number = count(place)
    while number == 0:
        whesl.progress(4)
        time.sleep(0.2)
    return number


@whesl.task
def outer(number: int) -> tuple[int, int, int]:
    """Call another protected function."""
    inner = told(number)
    return inner["args"][0], inner["pid"], os.getpid()


class Shape:
    """Has a method that runs elsewhere."""

    def __init__(self, side: int) -> None:
        self.side = side

    @whesl.task
    def area(self, times: int = 1) -> int:
        """Return its area."""
        return self.side**2 * times

    @staticmethod
    @whesl.task
    def twice(number: int) -> int:
        """Return a number's double."""
        return number * 2


@whesl.task
def waiting(started: Path) -> None:
    """Say that it runs, with its process's number, and wait for its end."""
    started.with_suffix(".part").write_text(str(os.getpid()))
    started.with_suffix(".part").rename(started)
    time.sleep(300)
