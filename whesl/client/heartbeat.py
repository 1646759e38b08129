"""Heartbeats and timed sections of a program's ranks.

Each rank has a watcher, a process of its own, which also reports a rank that is stopped, or whose library
holds the interpreter's lock. Rules look for the watcher's lines on standard error (library ``heartbeat``).
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from whesl.model.launcher_programs import RANK_VARIABLES

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
        os.set_blocking(self._pipe, False)  # a watcher that does not read never blocks its rank
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
        """Send the name and the limit of the present section to the watcher."""
        name, limit = self.sections[-1] if self.sections else ("", self._limit)
        with contextlib.suppress(OSError):  # the watcher has ended or is busy
            os.write(self._pipe, f"{limit:g} {' '.join(name.split())}\n".encode())

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._pipe)


_watcher: _Watcher | None = None


def heartbeat(timeout: float = _LIMIT) -> None:
    """Report that this rank makes progress; cheap enough for an inner loop.

    The first call starts the rank's watcher. If no further call comes within the limit, the watcher reports
    that, with the rank and its node. The watcher ends with this process.

    Args:
        timeout: seconds within which the next heartbeat has to come; 0 for no further limit.

    Raises:
        ValueError: the limit is negative.
    """
    if not timeout >= 0:
        raise ValueError(f"timeout has to be seconds, 0 or more, not {timeout}")
    _own().heartbeat(timeout)


@contextlib.contextmanager
def section(name: str, timeout: float) -> Iterator[None]:
    """Give a section of the program a time limit of its own, in place of the one between two heartbeats.

    Heartbeats inside the section do not extend its limit. An inner section has its own limit; after its end
    the outer section's limit begins anew.

    Args:
        name: the section's name for people, such as "checkpoint".
        timeout: seconds that the whole section may take.

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
    """In a fork, close the pipe to the parent's watcher, which otherwise misses the parent's end."""
    global _watcher
    if _watcher is not None:
        _watcher.close()
        _watcher = None


os.register_at_fork(after_in_child=_forked)
