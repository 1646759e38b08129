"""Waiting for a condition up to a time limit, with pauses in proportion to the cost of a check."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

# Least and greatest pause between two checks, seconds, and the pause in multiples of a check's processor
# time: a check that starts a process or reads a journal costs a hundred times one of a file's name.
LEAST = 0.01
MOST = 1.5
PAUSE = 19
# Least factor of a time limit, relative to the time on a machine where nothing else runs.
BUSY = 3
# Greatest delay in noticing the end of a long wait, as a fraction of the wait.
LATE = 0.02


def busy() -> float:
    """Return the factor of a time limit now: the processes for each core, ``BUSY`` at the least."""
    return max(float(BUSY), os.getloadavg()[0] / (os.cpu_count() or 1))


def looks(patience: float) -> Iterator[None]:
    """Yield for each check of the caller until the time is over, and once more then; pause after each check.

    Args:
        patience: the time limit on a machine that is not busy, seconds.
    """
    began = now = time.monotonic()
    while now < began + busy() * patience:
        before = _spent()
        yield
        time.sleep(min(max(LEAST, PAUSE * (_spent() - before), LATE * (now - began)), MOST))
        now = time.monotonic()
    yield


def until(
    condition: Callable[[], Any], what: str, patience: float, meanwhile: Callable[[], object] = lambda: None
) -> Any:
    """Call a condition until its result is true and return that; AssertionError when it takes too long.

    Args:
        condition: returns the result, something false to go on waiting.
        what: a description of the condition, for the error.
        patience: the time limit on a machine that is not busy, seconds.
        meanwhile: called before each call of the condition.
    """
    for _ in looks(patience):
        meanwhile()
        if result := condition():
            return result
    raise AssertionError(f"did not happen within {busy() * patience:g} s: {what}")


def _spent() -> float:
    """Return the processor time of this process and of its ended children, in seconds."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
