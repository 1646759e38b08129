"""Waiting for something to become true, bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def written(path: Path) -> str:
    """Return the lines of a file, or nothing yet: a shell makes a file first and writes it then."""
    text = path.read_text() if path.exists() else ""
    return text if text.endswith("\n") else ""


def until(
    condition: Callable[[], Any], what: str, patience: float, meanwhile: Callable[[], object] = lambda: None
) -> Any:
    """Call a condition until its result is true and return that; fail after so many seconds.

    Args:
        condition: whose result is wanted.
        what: is waited for.
        patience: in seconds.
        meanwhile: is called before each call of the condition.
    """
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        meanwhile()
        if result := condition():
            return result
        time.sleep(0.01)
    raise AssertionError(f"did not happen: {what}")
