"""Tables and figures as data, independent of the output format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Series:
    """One line, set of points or set of bars of a figure.

    Attributes:
        label: the label in the legend.
        x: horizontal positions, or names of the groups of bars.
        y: values, as many as ``x``.
        low, high: ends of an interval around each ``y``; empty for no intervals.
        dashed: whether the line is dashed, as for a document's printed values beside measured values.
    """

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of results.

    Attributes:
        name: base name of the figure's files, in lower case with hyphens.
        title: a title of one line that describes the content.
        x: label of the horizontal axis, with the unit.
        y: label of the vertical axis, with the unit.
        series: the lines, sets of points or sets of bars, in the order of the legend.
        kind: lines with marks, points, steps, or bars in groups.
        log: the logarithmic axes: "", "x", "y" or "xy".
        marks: (x, label) of each vertical line.
    """

    name: str
    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: Literal["line", "points", "steps", "bars"] = "line"
    log: Literal["", "x", "y", "xy"] = ""
    marks: Sequence[tuple[float, str]] = field(default=())
