"""Waiting for something to become true, bounded."""

from __future__ import annotations

from pathlib import Path

from whesl.testing.waiting import looks, until

__all__ = ["looks", "until", "written"]


def written(path: Path) -> str:
    """Return the lines of a file, or nothing yet: a shell makes a file first and writes it then."""
    text = path.read_text() if path.exists() else ""
    return text if text.endswith("\n") else ""
