"""Heartbeats and timed sections of a program's ranks.

Each rank has a watcher, a process of its own: it also speaks for a rank that is stopped, or whose library
holds the interpreter's lock. Rules look for its lines on standard error (library ``heartbeat``).
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from whesl.model.launchers import RANK_VARIABLES

_LIMIT = 1800.0
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "heartbeat_watch.py")  # noqa: PTH100, PTH118, PTH120


class _Watcher:
    """The watcher of this process."""

    def __init__(self) -> None:
        rank = next((os.environ[name] for name in RANK_VARIABLES if os.environ.get(name)), "0")
        read, self._pipe = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _PROGRAM, rank, socket.gethostname()],
            stdin=read,
            stdout=subprocess.DEVNULL,
        )
        os.close(read)
        os.set_blocking(self._pipe, False)  # a watcher that does not read never holds its rank up
        self._limit, self._told = 0.0, 0.0
        self.sections: list[tuple[str, float]] = []

    def heartbeat(self, limit: float) -> None:
        now = time.monotonic()
        if limit == self._limit and now - self._told < min(limit / 10, 1.0):
            return
        self._limit, self._told = limit, now
        if not self.sections:
            self.tell()

    def tell(self) -> None:
        """Tell the watcher what may take how long from now on."""
        name, limit = self.sections[-1] if self.sections else ("", self._limit)
        with contextlib.suppress(OSError):  # it is gone or busy
            os.write(self._pipe, f"{limit:g} {' '.join(name.split())}\n".encode())

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._pipe)


_watcher: _Watcher | None = None


def heartbeat(timeout: float = _LIMIT) -> None:
    """Say that this rank gets on; cheap enough for an inner loop.

    The first call starts the rank's watcher. Where no other call comes within the limit, it says so, with the
    rank and its node. It ends with this process.

    Args:
        timeout: seconds until the next heartbeat has to come; 0 for no limit any more.

    Raises:
        ValueError: the limit is negative.
    """
    if not timeout >= 0:
        raise ValueError(f"timeout has to be seconds, 0 or more, not {timeout}")
    _own().heartbeat(timeout)


@contextlib.contextmanager
def section(name: str, timeout: float) -> Iterator[None]:
    """Give a part of the program a limit of its own, in place of the one between two heartbeats.

    Heartbeats in it do not prolong it. A section inside of it has its own time, after which the outer one's
    begins anew.

    Args:
        name: for people, such as "checkpoint".
        timeout: seconds that all of it may take.

    Raises:
        ValueError: the limit is not positive.
    """
    if not timeout > 0:
        raise ValueError(f"timeout has to be seconds, more than 0, not {timeout}")
    watcher = _own()
    watcher.sections.append((name, timeout))
    watcher.tell()
    try:
        yield
    finally:
        watcher.sections.pop()
        watcher.tell()


def _own() -> _Watcher:
    global _watcher
    if _watcher is None:
        _watcher = _Watcher()
    return _watcher


def _forked() -> None:
    """Let go of the watcher of the process that this one is a fork of: it would not see that one's end."""
    global _watcher
    if _watcher is not None:
        _watcher.close()
        _watcher = None


os.register_at_fork(after_in_child=_forked)
