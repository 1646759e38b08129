"""A campaign's finished cells: one file each, whole or absent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from whesl import __version__
from whesl.files.whole_file import write_text
from whesl.lab.results.result_writers import as_json

if TYPE_CHECKING:
    from pathlib import Path

    from whesl.lab.campaigns.plan import Cell


class Result(msgspec.Struct, frozen=True):
    """A finished cell.

    Attributes:
        key: the cell's.
        version: of WHESL.
        measures: numbers by name.
        seconds: how long it took.
    """

    key: str
    version: str
    measures: dict[str, float | int | bool | str | None]
    seconds: float = 0.0


def path_of(out: Path, cell: Cell) -> Path:
    """Return the path of a cell's file."""
    return out / "cells" / cell.key[:2] / f"{cell.key}.json"


def load(out: Path, cell: Cell) -> Result | None:
    """Return a cell's result; None where it has not finished, or did with another version."""
    try:
        found = msgspec.json.decode(path_of(out, cell).read_bytes(), type=Result)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if (found.key, found.version) == (cell.key, __version__) else None


def keep(out: Path, cell: Cell, measures: dict[str, Any], seconds: float) -> Result:
    """Write a cell's file.

    Raises:
        WheslError: it cannot be written.
    """
    text = as_json(
        {"key": cell.key, "version": __version__, "measures": measures, "seconds": round(seconds, 3)}
    )
    write_text(path_of(out, cell), text)
    return msgspec.json.decode(text, type=Result)
