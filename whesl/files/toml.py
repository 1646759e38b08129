"""TOML files of a known form: all errors of a file are reported at once, each with its line."""

from __future__ import annotations

import enum
import math
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from whesl.model.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


Form = TypeVar("Form", bound=msgspec.Struct)

_TABLE = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?")
_KEY = re.compile(r"\s*([\w-]+)\s*=")
_SHOWN = 40  # characters of a value that is not accepted


class Document:
    """A file's values, and what was found wrong with them so far.

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
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            line = re.search(r"line (\d+)", str(error))
            where = f":{line.group(1)}" if line else ""
            raise UsageError(f"{path}{where}: no TOML: {error}", hint=hint) from None
        self._lines = _lines(text)

    def wrong(self, message: str, table: str = "", number: int = 0, key: str = "") -> None:
        """Note an error at a key of a table, or at the table where the key is not there.

        Args:
            message: what is wrong, and what would be accepted.
            table: its name, with those around it (``cloud.ec2``); empty for the file itself.
            number: which one of an array of tables, from 0.
            key: of the table.
        """
        outer, _, last = table.rpartition(".")
        places = ((table, number, key), (table, number, ""), (outer, 0, last))
        line = next((self._lines[place] for place in places if place in self._lines), 1)
        self.errors.append((line, message))

    def whole(self, form: type[Form]) -> Form:
        """Return the file as a record. Raises UsageError with all that is wrong in it."""
        found = self.row(form, self.values)
        self.check()
        assert found is not None
        return found

    def row(self, form: type[Form], given: Any, table: str = "", number: int = 0) -> Form | None:
        """Return one table as a record; each of its errors is noted, and None returned where there is one.

        Args:
            form: the record; fields that are records, or lists of them, are tables of their own.
            given: the table's values.
            table, number: as of ``wrong``.
        """
        before = len(self.errors)
        if not isinstance(given, dict):
            self.wrong(f"{table}: a table is needed", table, number)
            return None
        fields = {field.name: field for field in msgspec.structs.fields(form)}
        values = {}
        for key, value in given.items():
            if key in fields:
                values[key] = self._value(fields[key].type, value, table, number, key)
                continue
            close = get_close_matches(key, fields, 1)
            hint = f"{close[0]!r} is meant?" if close else f"known are {', '.join(fields)}"
            self.wrong(f"{key!r} is not known here; {hint}", table, number, key)
        for field in fields.values():
            if field.required and field.name not in given:
                where = f"{table}.{field.name}".lstrip(".")
                shown = {"": field.name, "one": f"[{where}]", "many": f"[[{where}]]"}[_tables(field.type)]
                self.wrong(f"{shown} is missing", table, number)
        return form(**values) if len(self.errors) == before else None

    def rows(self, form: type[Form], table: str) -> list[Form | None]:
        """Return the rows of an array of tables, None for one with errors; all errors are noted.

        Args:
            form: the record of one row.
            table: the array's name; an array that the file does not have has no rows.
        """
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

    def _value(self, kind: Any, value: Any, table: str, number: int, key: str) -> Any:
        inner = f"{table}.{key}".lstrip(".")
        for option in _options(kind):
            if isinstance(value, dict) and _is_form(option):
                return self.row(option, value, inner)
            part = get_args(option)
            if isinstance(value, list) and get_origin(option) in (list, tuple) and _is_form(part[0]):
                return get_origin(option)(self.row(part[0], item, inner, n) for n, item in enumerate(value))
        found, said = converted(value, kind, key)
        if said:
            self.wrong(said, table, number, key)
        return found


def converted(value: Any, kind: Any, key: str, *, strict: bool = True) -> tuple[Any, str]:
    """Return a value of a type, and what is wrong with it: empty where it is accepted.

    Args:
        value: as the file has it.
        kind: the type.
        key: for the message.
        strict: whether a number in quotes is refused where a number is wanted.
    """
    try:
        found = msgspec.convert(value, kind, strict=strict)
        said = "" if _finite(found) else "expected a finite number"
    except msgspec.ValidationError as error:
        found, said = None, str(error).partition(" - at")[0]
    if not said:
        return found, ""
    known = [str(name) for option in _options(kind) for name in _names(option)]
    said = f"known are {', '.join(known)}" if known else f"{said[:1].lower()}{said[1:]}"
    shown = repr(value) if len(repr(value)) <= _SHOWN else f"{repr(value)[:_SHOWN]}..."
    return found, f"{key} is {shown}: {said}"


def _names(kind: Any) -> tuple[Any, ...]:
    """Return the values of an enumeration, none for another type."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return tuple(one.value for one in kind)
    return tuple(repr(one) for one in get_args(kind)) if get_origin(kind) is Literal else ()


def load(path: Path, hint: str, *, largest: int = 16 << 20) -> Document:
    """Read a file.

    Args:
        path: the file.
        hint: what would be accepted.
        largest: bytes that it may have.

    Raises:
        UsageError: it cannot be read, or is no TOML.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no TOML: byte {error.start} is not UTF-8", hint=hint) from error
    if len(content) > largest:
        raise UsageError(f"{path} is larger than {largest >> 20} MiB", hint=hint)
    return Document(str(path), text, hint)


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_form(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _tables(kind: Any) -> str:
    """Return whether a field's value is written as ``one`` table or as ``many``; empty for a value."""
    for option in _options(kind):
        if _is_form(option):
            return "one"
        if get_origin(option) in (list, tuple) and _is_form(get_args(option)[0]):
            return "many"
    return ""


def _finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


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
