"""A command's results as the files of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whesl.lab.results.jobs_parquet_and_summary_json import write_summary
from whesl.lab.results.report_figures import Figure, write_figure
from whesl.lab.results.report_page import Page, write_page
from whesl.lab.results.report_tables import Table, write_table


def write_results(
    out: Path,
    tables: Iterable[Table],
    figures: Iterable[Figure],
    summary: Mapping[str, Any] | None = None,
    page: Page | None = None,
) -> None:
    """Write results; the page is written last, so that its presence shows that all files are complete.

    Args:
        out: the folder, made where it does not exist.
        tables: each is written as Markdown and CSV.
        figures: each is written as SVG and PNG.
        summary: the content of ``summary.json``; None writes none.
        page: the content of ``index.html``; None writes none.

    Raises:
        WheslError: a file cannot be written.
    """
    for table in tables:
        write_table(out, table)
    for figure in figures:
        write_figure(out, figure)
    if summary is not None:
        write_summary(out, summary)
    if page is not None:
        write_page(out / "index.html", page)
