"""TOML files of tables, each row of a known form; all errors of a file at once, with their lines."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from whesl.model.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

Form = TypeVar("Form", bound=msgspec.Struct)

_UNITS = {"": 1.0, "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kKMGT]?B?)\s*")
_TABLE = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?")
_KEY = re.compile(r"\s*([\w-]+)\s*=")


class Document:
    """A file's tables, and what was found wrong in it so far.

    Args:
        path: for messages.
        text: TOML.
        hint: what would be accepted.

    Raises:
        UsageError: it is no TOML.
    """

    def __init__(self, path: str, text: str, hint: str) -> None:
        self.path, self._hint = path, hint
        self.errors: list[tuple[int, str]] = []
        try:
            self.values: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"line (\d+)", str(error))
            where = f":{line.group(1)}" if line else ""
            raise UsageError(f"{path}{where}: no TOML: {error}", hint=hint) from None
        self._lines = _lines(text)

    def wrong(self, message: str, table: str = "", number: int = 0, key: str = "") -> None:
        """Note an error at a key of a table, or at the table where the key is not there."""
        line = self._lines.get((table, number, key)) or self._lines.get((table, number, "")) or 1
        self.errors.append((line, message))

    def row(self, form: type[Form], given: Any, table: str = "", number: int = 0) -> Form | None:
        """Return one table as a record; each of its errors is noted, and None returned where there is one."""
        before = len(self.errors)
        if not isinstance(given, dict):
            self.wrong(f"{table}: a table is needed", table, number)
            return None
        fields = {field.name: field for field in msgspec.structs.fields(form)}
        values = {}
        for key, value in given.items():
            if key not in fields:
                known = ", ".join(fields)
                self.wrong(f"{key!r} is not known here; known are {known}", table, number, key)
                continue
            try:
                values[key] = msgspec.convert(value, fields[key].type)
            except msgspec.ValidationError as error:
                said = str(error).partition(" - at")[0]
                self.wrong(f"{key}: {said[:1].lower()}{said[1:]}", table, number, key)
        for field in fields.values():
            if field.required and field.name not in given:
                self.wrong(f"{field.name} is missing", table, number)
        return form(**values) if len(self.errors) == before else None

    def rows(self, form: type[Form], table: str) -> list[Form | None]:
        """Return the rows of an array of tables, None for one with errors."""
        given = self.values.get(table, [])
        if not isinstance(given, list):
            self.wrong(f"{table} has to be written as [[{table}]]", table)
            return []
        return [self.row(form, row, table, number) for number, row in enumerate(given)]

    def check(self) -> None:
        """Raise UsageError with all errors in the order of their lines, if there are any."""
        if self.errors:
            lines = [f"{self.path}:{line}: {message}" for line, message in sorted(self.errors)]
            raise UsageError("\n".join(lines), hint=self._hint)


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


def _lines(text: str) -> dict[tuple[str, int, str], int]:
    """Return the line of each key of each table."""
    found: dict[tuple[str, int, str], int] = {}
    counts: dict[str, int] = {}
    table, number = "", 0
    for line, content in enumerate(text.splitlines(), start=1):
        if match := _TABLE.match(content):
            table = match.group(1)
            number = counts.get(table, 0)
            counts[table] = number + 1
            found.setdefault((table, number, ""), line)
        elif match := _KEY.match(content):
            found.setdefault((table, number, match.group(1)), line)
    return found
