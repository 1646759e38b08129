"""The processes of this machine, as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psutil


def running() -> Iterator[psutil.Process]:
    """Yield each process of this machine, also zombies and those of other users; any may end meanwhile.

    ``psutil.process_iter`` keeps its objects between calls. Where another process has got an id meanwhile,
    the object of the ended one tells of the new process, but refuses to send it a signal.
    """
    for pid in psutil.pids():
        with suppress(psutil.NoSuchProcess):
            yield psutil.Process(pid)
