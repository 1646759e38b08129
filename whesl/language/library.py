"""The pattern library: ESL files of the package, for ``INCLUDE "name"``."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

DIRECTORY = Path(__file__).parent / "library"
SUFFIX = ".esl"


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Return the names of the shipped libraries, sorted."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob(f"*{SUFFIX}")))


def having(exception: str) -> tuple[str, ...]:
    """Return the libraries that declare an exception of this name."""
    declared = re.compile(rf"^DECLARE EXCEPTION {re.escape(exception)} ", re.MULTILINE)
    return tuple(name for name, text in _texts() if declared.search(text))


@lru_cache(maxsize=1)
def _texts() -> tuple[tuple[str, str], ...]:
    return tuple((name, place(name).read_text("utf-8")) for name in names())


def is_path(name: str) -> bool:
    """Whether a name in ``INCLUDE`` is the path of a file, not the name of a library."""
    return "/" in name or name.endswith(SUFFIX)


def place(name: str) -> Path:
    """Return the path of a library's file, also for a library that does not exist."""
    return DIRECTORY / f"{name}{SUFFIX}"


def shown(name: str) -> str:
    """Return the name of a library's file in findings and evidence."""
    return f"<{name}>"


def is_shown(file: str) -> bool:
    """Whether a file's name in findings is that of a library (see ``shown``)."""
    return file.startswith("<") and file.endswith(">")
