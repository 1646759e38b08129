"""Tables as data, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whesl.files.whole_file import write_text

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results.

    Attributes:
        name: base name of the table's files, in lower case with hyphens.
        title: a title of one line.
        columns: names of the columns, with units.
        rows: rows of cells, each as long as ``columns``; None is an empty cell.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


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
