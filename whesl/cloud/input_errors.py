"""Reads users' files and sizes such as ``28.2 MB``, and collects the errors of several inputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from whesl.model.errors import UsageError, WheslError

T = TypeVar("T")

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
    """Return a size in bytes, from a number or a text such as ``28.2 MB`` (28.2e6). Raises ValueError."""
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = match.group(2).upper() if match else ""
        if not match or (unit and f"{unit.rstrip('B')}B" not in _UNITS):
            raise ValueError(f"{value!r} is no size; accepted are bytes, or 28.2 MB, 14.5 GB")
        return float(match.group(1)) * _UNITS[f"{unit.rstrip('B')}B" if unit else ""]
    if not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is no size; accepted are bytes from 0, or 28.2 MB, 14.5 GB")
    return float(value)


class Refusals:
    """The errors of several inputs, which are all checked before any error is reported."""

    def __init__(self) -> None:
        self._errors: list[WheslError] = []

    def of(self, read: Callable[[], T]) -> T | None:
        """Return a call's result; None where the call raises an error, which is collected."""
        try:
            return read()
        except WheslError as error:
            self._errors.append(error)
            return None

    def check(self) -> None:
        """Raise the collected errors, if any, as one error: UsageError where one of them is a UsageError."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            *others, last = self._errors
            usage = any(isinstance(error, UsageError) for error in self._errors)
            raise (UsageError if usage else WheslError)(
                "\n".join([*map(str, others), last.message]), hint=last.hint
            )
