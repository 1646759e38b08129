"""Output files of a campaign: all cells as Parquet and CSV, means over replicates, figures and a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whesl.lab.campaigns.plan import Campaign, Cell
from whesl.lab.campaigns.store import Result
from whesl.lab.results.jobs_parquet_and_summary_json import write_parquet
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_folder import write_results
from whesl.lab.results.report_page import Lines, Page, Section
from whesl.lab.results.report_tables import Table, write_table

# Largest number of figures on a page; the tables show the remaining measures.
_MOST_FIGURES = 12


@dataclass(frozen=True, slots=True)
class Group:
    """Replicates of one combination of parameters: mean and half-width of the 95 % interval by measure."""

    kind: str
    varied: dict[str, Any]
    count: int
    mean: dict[str, float]
    half: dict[str, float]


def write(
    out: Path, campaign: Campaign, cells: Sequence[Cell], results: dict[str, Result], errors: Sequence[str]
) -> None:
    """Write all output files of a campaign; their content depends on the cells alone.

    Args:
        out: the directory of results.
        campaign: the campaign as read from its file.
        cells: the campaign's cells in the file's order.
        results: results of the finished cells, by key.
        errors: error messages of the failed cells, by key.

    Raises:
        WheslError: a file cannot be written.
    """
    done = [cell for cell in cells if cell.key in results]
    _write_cells(out, done, results)
    groups = [_group(members, results, varied) for members, varied in _grouped(campaign, done)]
    tables = [
        _table(campaign, kind, [group for group in groups if group.kind == kind]) for kind in _kinds(groups)
    ]
    figures = [figure for kind in _kinds(groups) for figure in _figures(kind, groups)]
    summary = {
        "name": campaign.name,
        "seed": campaign.seed,
        "cells": len(cells),
        "finished": len(done),
        "errors": list(errors),
        "groups": [
            {"kind": g.kind, **g.varied, "replicates": g.count, "mean": g.mean, "half_interval": g.half}
            for g in groups
        ],
    }
    sections = [Section("Means over replicates", [_HOW, *tables]), Section("Figures", figures)]
    if errors:
        sections.append(Section("Not run", [Lines(list(dict.fromkeys(errors)))]))
    said = f"{len(done)} of {len(cells)} simulations finished" + (
        f", {len(errors)} could not run." if errors else "."
    )
    facts = [f"seed {campaign.seed}", f"{len(groups)} combinations"]
    page = Page("WHESL lab: campaign", campaign.name, said, "warn" if errors else "good", facts, (), sections)
    write_results(out, tables, figures, summary, page)


_HOW = "± is half of the 95 % confidence interval over replicates (Student's t); the same seeds in all rows."


def _kinds(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(group.kind for group in groups))


def _write_cells(out: Path, cells: Sequence[Cell], results: dict[str, Result]) -> None:
    """Write one row per cell; the value of a parameter or measure that the cell lacks is empty."""
    rows = [
        {"kind": c.kind, "replicate": c.replicate, "seed": c.seed, **c.shown, **results[c.key].measures}
        for c in cells
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    write_parquet(out / "results.parquet", columns)
    write_table(
        out, Table("results", "All simulations", names, [[_cell(row.get(n)) for n in names] for row in rows])
    )


def _column(values: list[Any]) -> Any:
    """Return the values as an array of one type; values of mixed types become text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and None not in values:
        return np.array(values, dtype=np.int64)
    if kinds <= {int, float}:
        return np.array([math.nan if value is None else float(value) for value in values])
    if kinds <= {bool} and None not in values:
        return np.array(values, dtype=np.bool_)
    return np.array(["" if value is None else str(_cell(value)) for value in values])


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _grouped(campaign: Campaign, cells: Sequence[Cell]) -> list[tuple[list[Cell], dict[str, Any]]]:
    """Return the cells grouped by equal parameters, each group with the values of the varied parameters."""
    varied = {name for part in campaign.part for name in part.over}
    for name in {name for part in campaign.part for name in part.fixed}:
        values = {str(part.fixed.get(name)) for part in campaign.part}
        if len(values) > 1:
            varied.add(name)
    groups: dict[str, tuple[list[Cell], dict[str, Any]]] = {}
    for cell in cells:
        own = {name: value for name, value in cell.shown.items() if name in varied}
        groups.setdefault(f"{cell.kind} {cell.shown}", ([], own))[0].append(cell)
    return list(groups.values())


def _group(cells: list[Cell], results: dict[str, Result], varied: dict[str, Any]) -> Group:
    measures = [results[cell.key].measures for cell in cells]
    mean, half = {}, {}
    for name in dict.fromkeys(name for one in measures for name in one):
        given = [one.get(name) for one in measures]
        numbers = [float(value) for value in given if isinstance(value, (int, float))]
        if not numbers:
            continue
        mean[name] = math.fsum(numbers) / len(numbers)
        if len(numbers) > 1:
            deviation = math.sqrt(math.fsum((x - mean[name]) ** 2 for x in numbers) / (len(numbers) - 1))
            from scipy.special import stdtrit  # quantiles of Student's t; few commands need them

            half[name] = float(stdtrit(len(numbers) - 1, 0.975)) * deviation / math.sqrt(len(numbers))
    return Group(cells[0].kind, varied, len(cells), mean, half)


def _table(campaign: Campaign, kind: str, groups: Sequence[Group]) -> Table:
    varied = list(dict.fromkeys(name for group in groups for name in group.varied))
    measures = list(dict.fromkeys(name for group in groups for name in group.mean))
    columns = [*varied, "replicates"]
    for name in measures:
        columns += [name, f"± {name}"] if any(group.half.get(name) for group in groups) else [name]
    rows = [
        [
            *(_cell(group.varied.get(name)) for name in varied),
            group.count,
            *(
                (group.half if column.startswith("± ") else group.mean).get(column.removeprefix("± "))
                for column in columns[len(varied) + 1 :]
            ),
        ]
        for group in groups
    ]
    return Table(f"means-{kind}", f"{campaign.name}: {kind}", columns, rows)


def _figures(kind: str, groups: Sequence[Group]) -> list[Figure]:
    """Return one figure per measure that differs between groups: lines over a varied number, else bars."""
    own = [group for group in groups if group.kind == kind]
    names = list(dict.fromkeys(name for group in own for name in group.varied))
    along = next(
        (n for n in names if len(_numbers(own, n)) > 2 and len(_numbers(own, n)) == len(_values(own, n))),
        None,
    )
    figures = []
    for measure in dict.fromkeys(name for group in own for name in group.mean):
        values = {group.mean.get(measure) for group in own}
        if len(values) < 2:
            continue
        lines: dict[str, list[tuple[Any, float, float]]] = {}
        for group in own:
            if measure in group.mean:
                rest = {n: v for n, v in group.varied.items() if n != (along or names[-1])}
                label = ", ".join(_short(v) if isinstance(v, str) else f"{n} {v}" for n, v in rest.items())
                place = group.varied[along] if along else _short(group.varied.get(names[-1]))
                lines.setdefault(label, []).append((place, group.mean[measure], group.half.get(measure, 0.0)))
        series = [_series(label, points) for label, points in lines.items()]
        figures.append(
            Figure(
                f"{kind}-{measure.replace('_', '-')}",
                f"{kind}: {measure.replace('_', ' ')}",
                along or names[-1],
                measure.replace("_", " "),
                series,
                kind="line" if along else "bars",
            )
        )
    return figures[:_MOST_FIGURES]


def _series(label: str, points: Sequence[tuple[Any, float, float]]) -> Series:
    if not isinstance(points[0][0], str):
        points = sorted(points)
    x, y, half = ([point[i] for point in points] for i in range(3))
    if not any(half):
        return Series(label, x, y)
    low, high = ([value + sign * width for value, width in zip(y, half, strict=True)] for sign in (-1, 1))
    return Series(label, x, y, low, high)


def _short(value: Any) -> str:
    """Return a value as a label of a figure; a file's name loses its directory and suffixes."""
    text = str(value)
    return text.rpartition("/")[2].removesuffix(".xz").removesuffix(".gz").removesuffix(".swf")


def _values(groups: Sequence[Group], name: str) -> set[Any]:
    return {_cell(group.varied[name]) for group in groups if name in group.varied}


def _numbers(groups: Sequence[Group], name: str) -> set[float]:
    found = _values(groups, name)
    return {float(v) for v in found if isinstance(v, (int, float)) and not isinstance(v, bool)}
