"""Watches a held lock, since another host may take it over."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from whesl.runtime.locking import takeover_lock

EVERY = 5.0  # seconds between two checks of a file system that thousands of daemons may share


class Guard:
    """Watches a lock for the process that holds it.

    Args:
        path: the lock's file.
        descriptor: the lock, held by this process.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = str(path)
        self._epoch = takeover_lock.epoch_of(descriptor)
        with contextlib.suppress(OSError):  # a full disk may have space later
            takeover_lock.spare(self._path, self._epoch)
        self._over = threading.Event()
        self.lost = False

    def watch(self, wake: Callable[[], object]) -> None:
        """Check the lock every few seconds in a separate thread, which a dead file system may block.

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
        """Check now whether the lock is lost."""
        self.lost = self.lost or takeover_lock.lost(self._path, self._epoch)
        return self.lost

    def close(self) -> None:
        """Stop watching."""
        self._over.set()
