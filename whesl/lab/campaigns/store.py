"""Result files of a campaign's finished cells, one file per cell, each written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from whesl import __version__
from whesl.files.whole_file import write_text
from whesl.lab.campaigns.plan import Cell
from whesl.lab.results.jobs_parquet_and_summary_json import as_json


class Result(msgspec.Struct, frozen=True):
    """The result of a finished cell.

    Attributes:
        key: the cell's key.
        version: version of WHESL that ran the cell.
        measures: measured numbers by name.
        seconds: run time of the simulation, in seconds.
    """

    key: str
    version: str
    measures: dict[str, float | int | bool | str | None]
    seconds: float = 0.0


def _path_of(out: Path, cell: Cell) -> Path:
    """Return the path of a cell's result file."""
    return out / "cells" / cell.key[:2] / f"{cell.key}.json"


def load(out: Path, cell: Cell) -> Result | None:
    """Return a cell's result; None if the cell is unfinished or was run by another version of WHESL.

    Args:
        out: the directory of results.
        cell: the cell.
    """
    try:
        found = msgspec.json.decode(_path_of(out, cell).read_bytes(), type=Result)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if (found.key, found.version) == (cell.key, __version__) else None


def keep(out: Path, cell: Cell, measures: dict[str, Any], seconds: float) -> Result:
    """Write a cell's result file and return the result.

    Args:
        out: the directory of results.
        cell: the cell.
        measures: measured numbers by name.
        seconds: run time of the simulation, in seconds.

    Raises:
        WheslError: the file cannot be written.
    """
    text = as_json(
        {"key": cell.key, "version": __version__, "measures": measures, "seconds": round(seconds, 3)}
    )
    write_text(_path_of(out, cell), text)
    return msgspec.json.decode(text, type=Result)
