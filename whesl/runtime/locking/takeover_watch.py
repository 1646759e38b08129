"""A lock, looked at for as long as its owner lives: another host may have taken it over."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from whesl.runtime.locking import takeover_lock

EVERY = 5.0  # seconds: each look is a call to a file system that thousands of daemons may share


class Guard:
    """Looks at a lock.

    Args:
        path: the lock's file.
        descriptor: the lock, held by this process.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = str(path)
        self._epoch = takeover_lock.epoch_of(descriptor)
        with contextlib.suppress(OSError):  # the disk is full now, and may have room later
            takeover_lock.spare(self._path, self._epoch)
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
        self.lost = self.lost or takeover_lock.lost(self._path, self._epoch)
        return self.lost

    def close(self) -> None:
        """Look no more."""
        self._over.set()
