"""The pattern library: ESL files inside the package, which ``INCLUDE "name"`` brings in."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

DIRECTORY = Path(__file__).parent / "library"
SUFFIX = ".esl"


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Return the names of the shipped libraries, sorted."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob(f"*{SUFFIX}")))


def is_path(name: str) -> bool:
    """Whether ``INCLUDE`` means a file by this name, and no library."""
    return "/" in name or name.endswith(SUFFIX)


def place(name: str) -> Path:
    """Return the file of a library, which need not exist."""
    return DIRECTORY / f"{name}{SUFFIX}"


def shown(name: str) -> str:
    """Return how findings and evidence name a library's file."""
    return f"<{name}>"
