"""The task's lock, looked at for as long as an isolator lives: another host may have taken it over.

That is done when the resource manager calls this host dead. Before anything is written down, and so before
anything is done, and every few seconds besides, the lock is read anew: an isolator that has lost it ends its
task's processes here, writes nothing more, and ends. Agents on other nodes end theirs when they hear of it no
more.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from whesl.isolator import processes
from whesl.isolator.setup import Setup, token_prefix
from whesl.locking import locks
from whesl.model.errors import WheslError

LOG = logging.getLogger(__name__)
EVERY = 5.0  # seconds: each look is a call to a file system that thousands of tasks may share


class LockLostError(WheslError):
    """Another isolator has taken the task over."""

    exit_code = 76  # EX_PROTOCOL of sysexits.h; the keeper knows it


class Guard:
    """Looks at a lock.

    Args:
        path: the lock's file.
        descriptor: the lock, held by this process.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = str(path)
        self._epoch = locks.epoch_of(descriptor)
        with contextlib.suppress(OSError):  # there is no room, and may be some when it is needed
            locks.spare(self._path, self._epoch)
        self._over = threading.Event()
        self.lost = False

    def watch(self, wake: Callable[[], object]) -> None:
        """Look every few seconds, in a thread of its own, which a dead file system may hold up.

        Args:
            wake: called when the lock is lost.
        """

        def look() -> None:
            while not self.lost and not self._over.wait(EVERY):
                self.look()
            if self.lost:
                wake()

        threading.Thread(target=look, name="lock", daemon=True).start()

    def look(self) -> bool:
        """Whether the lock is lost, by a look at it now."""
        self.lost = self.lost or locks.lost(self._path, self._epoch)
        return self.lost

    def close(self) -> None:
        """Look no more."""
        self._over.set()


def give_up(setup: Setup, runner: int | None) -> None:
    """Kill a task's processes on this host, which another one runs anew.

    Args:
        setup: the task's.
        runner: its attempt's; None for none.

    Raises LockLostError always.
    """
    found = processes.kill_all(token_prefix(setup), runner)
    LOG.error("%d processes of %s were killed here", found.count, setup.task.id)
    raise LockLostError(
        f"the lock of {setup.task.id} was taken over: another run of it has begun",
        hint="the resource manager had called this host dead, or had ended this run of the job",
    )
