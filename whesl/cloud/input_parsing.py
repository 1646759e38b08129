"""Texts of users' files, and sizes as they stand in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_UNITS = {"": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kKMGT]?B?)\s*")


def read_text(path: Path) -> str:
    """Return a file's text. Raises UsageError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None


def size(value: float | str) -> float:
    """Return bytes: a number, or a text such as ``28.2 MB`` (1 MB is 1e6 bytes). Raises ValueError."""
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = match.group(2).upper() if match else ""
        if not match or (unit and f"{unit.rstrip('B')}B" not in _UNITS):
            raise ValueError(f"{value!r} is no size; accepted are bytes, or 28.2 MB, 14.5 GB")
        return float(match.group(1)) * _UNITS[f"{unit.rstrip('B')}B" if unit else ""]
    if not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is no size; accepted are bytes from 0, or 28.2 MB, 14.5 GB")
    return float(value)
