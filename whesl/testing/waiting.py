"""Waiting for something to become true: bounded, and at a cost in proportion to a look's."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

# Seconds between two looks, and how many times the processor time of a look is paused after it: what starts
# a process or reads a journal costs a hundred times as much as a look at a file's name.
LEAST = 0.01
MOST = 1.5
PAUSE = 19
# What has to come is waited for so many times as long as it may take where nothing else runs.
BUSY = 3
# The end of a long wait is seen late by at most this part of it.
LATE = 0.02


def looks(patience: float) -> Iterator[None]:
    """Yield until the time is over, and once more then, with a pause after each look of the caller's.

    Args:
        patience: in seconds of a machine that is not busy.
    """
    began = now = time.monotonic()
    while now < began + BUSY * patience:
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
        condition: whose result is wanted.
        what: is waited for.
        patience: in seconds of a machine that is not busy.
        meanwhile: is called before each call of the condition.
    """
    for _ in looks(patience):
        meanwhile()
        if result := condition():
            return result
    raise AssertionError(f"did not happen within {BUSY * patience:g} s: {what}")


def _spent() -> float:
    """Return the processor time of this process and of those that it has waited for, in seconds."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
