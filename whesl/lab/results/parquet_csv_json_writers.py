"""Writers of tables as Markdown and CSV, of jobs as Parquet, and of a run's results as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from whesl.files.whole_file import whole, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from whesl.lab.results.table_and_figure_records import Cell, Table


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


def write_table(out: Path, table: Table) -> tuple[Path, Path]:
    """Write OUT/NAME.md and OUT/NAME.csv, the CSV with full precision; return both paths.

    Args:
        out: the directory of results.
        table: the table.

    Raises:
        WheslError: a file cannot be written.
    """
    markdown_file, csv_file = out / f"{table.name}.md", out / f"{table.name}.csv"
    write_text(markdown_file, f"# {table.title}\n\n{markdown(table)}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    write_text(csv_file, text.getvalue())
    return markdown_file, csv_file


def markdown(table: Table) -> str:
    """Return a table as Markdown, without its title."""
    lines = [list(table.columns), *([shown(cell) for cell in row] for row in table.rows)]
    text = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in line)} |"
        for line in lines
    ]
    text.insert(1, f"|{' --- |' * len(table.columns)}")
    return "\n".join(text) + "\n"


def shown(cell: Cell) -> str:
    """Return a cell as readable text: numbers with four significant digits and commas between thousands."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return "-"
        if cell and abs(cell) < 0.001:
            return f"{cell:.3g}"
        return f"{cell:,.0f}" if abs(cell) >= 10000 else f"{cell:,.4g}"
    if hasattr(cell, "item"):
        return shown(cell.item())
    return cell
