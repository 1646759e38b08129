"""Waiting for something to become true, bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def until(condition: Callable[[], Any], what: str, patience: float) -> Any:
    """Call a condition until its result is true and return that; fail after so many seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.01)
    raise AssertionError(f"did not happen: {what}")
