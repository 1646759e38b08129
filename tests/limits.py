"""How long a test may take, and what it waits for: longer, the busier the machine is.

Such a limit ends what hangs. One of a minute was reached beside a load of 20, where nothing hung.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

from whesl.testing.waiting import BUSY, busy

# Seconds: a shorter wait for a process is what its test is about.
_LONG = 20.0
_communicate = subprocess.Popen.communicate
_wait = subprocess.Popen.wait


def crowd() -> float:
    """Return how many processes there are for each core now, one at the least."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def late(seconds: float) -> float:
    """Return how long silence has to last to be one: longer where even a living process is late."""
    return seconds * max(1.0, crowd() / BUSY)


def _patient_communicate(
    self: subprocess.Popen[Any],
    input: Any = None,  # noqa: A002 - as callers name it
    timeout: float | None = None,
) -> Any:
    if timeout is None or timeout < _LONG:
        return _communicate(self, input, timeout)
    tries = 0
    while True:
        try:
            # What was read is kept, and what was given is not to be given again.
            return _communicate(self, input if tries == 0 else None, timeout)
        except subprocess.TimeoutExpired:
            tries += 1
            if tries >= busy():
                raise


def _patient_wait(self: subprocess.Popen[Any], timeout: float | None = None) -> int:
    if timeout is None or timeout < _LONG:
        return _wait(self, timeout)
    tries = 0
    while True:
        try:
            return _wait(self, timeout)
        except subprocess.TimeoutExpired:
            tries += 1
            if tries >= busy():
                raise


def stretch() -> None:
    """Let this process wait for others as long as the machine makes it necessary."""
    subprocess.Popen.communicate = _patient_communicate  # type: ignore[method-assign] # the same signature
    subprocess.Popen.wait = _patient_wait  # type: ignore[method-assign] # the same signature
