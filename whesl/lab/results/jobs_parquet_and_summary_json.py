"""The files of one run: its jobs as Parquet, and its input, settings and results as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from whesl.files.whole_file import whole, write_text


class Ragged(NamedTuple):
    """A column of lists: row i holds ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: NDArray[Any]
    values: NDArray[Any]


def write_jobs(
    out: Path, columns: Mapping[str, NDArray[Any] | Ragged], metadata: Mapping[str, str] | None = None
) -> Path:
    """Write OUT/jobs.parquet with one row for each job.

    Args:
        out: the directory of results.
        columns: arrays of equal length, in order: job, submit, start, end (seconds), processors, nodes
            (``Ragged`` if the nodes' identities are known), attempts, killed, ...
        metadata: texts stored in the file: policy, log, seed.

    Returns:
        The file's path.

    Raises:
        WheslError: the file cannot be written.
    """
    return write_parquet(out / "jobs.parquet", columns, metadata)


def write_parquet(
    path: Path, columns: Mapping[str, NDArray[Any] | Ragged], metadata: Mapping[str, str] | None = None
) -> Path:
    """Write columns as a Parquet file with zstd compression.

    Args:
        path: the file.
        columns: arrays of equal length, by column name.
        metadata: texts stored in the file.

    Returns:
        The file's path.

    Raises:
        WheslError: the file cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    def column(values: NDArray[Any] | Ragged) -> Any:
        if isinstance(values, Ragged):
            return pa.LargeListArray.from_arrays(
                pa.array(values.offsets, pa.int64()), pa.array(values.values)
            )
        return pa.array(values)

    table = pa.table({name: column(values) for name, values in columns.items()})
    if metadata:
        table = table.replace_schema_metadata(dict(metadata))
    with whole(path) as file:
        parquet.write_table(table, file, compression="zstd")
    return path


def write_summary(out: Path, summary: Mapping[str, Any]) -> Path:
    """Write OUT/summary.json: a run's input, settings and results.

    Args:
        out: the directory of results.
        summary: strings, numbers (Python's or NumPy's), lists and mappings; nan and inf become null.

    Returns:
        The file's path.

    Raises:
        WheslError: the file cannot be written.
    """
    path = out / "summary.json"
    write_text(path, as_json(summary))
    return path


def as_json(value: Any) -> str:
    """Return a value as JSON with an indent of two and a final newline; nan and inf become null."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False) + "\n"


def plain(value: Any) -> Any:
    """Return a value converted to JSON's types, from NumPy's numbers and arrays, tuples and named tuples."""
    if isinstance(value, dict) or hasattr(value, "keys"):
        return {str(key): plain(value[key]) for key in value.keys()}  # noqa: SIM118  # any mapping
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)
