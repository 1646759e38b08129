"""TOML files with a known form; what is wrong in one is said with its line."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TypeVar

import msgspec

from whesl.model.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

Form = TypeVar("Form")


def read(path: Path, form: type[Form], hint: str) -> tuple[Form, str]:
    """Read a file.

    Args:
        path: the file.
        form: a msgspec Struct.
        hint: what would be accepted.

    Returns:
        What it says, and its text.

    Raises:
        UsageError: it cannot be read, is no TOML, or says what is not known.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no TOML: byte {error.start} is not UTF-8", hint=hint) from error
    try:
        return msgspec.convert(tomllib.loads(text), form), text
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: no TOML: {error}", hint=hint) from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}{line_of(text, str(error))}: {error}", hint=hint) from error


def line_of(text: str, message: str) -> str:
    """Return ``:LINE`` of the first line whose key a message names: an unknown field, else its path's end."""
    keys = [line.partition("=")[0].strip(" []") for line in text.splitlines()]
    unknown = re.findall(r"field `(\w+)`", message)
    words = [*unknown, *reversed(re.findall(r"\w+", message))]
    found = next((word for word in words if word in keys), None)
    return "" if found is None else f":{keys.index(found) + 1}"
