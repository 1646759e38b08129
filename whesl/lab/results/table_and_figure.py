"""What results are made of, apart from how they are shown: tables and figures as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: of its files, in lower case with hyphens.
        title: one line for people.
        columns: with their units.
        rows: as long as ``columns`` each; None is an empty cell.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Series:
    """One line, set of points or set of bars of a figure.

    Attributes:
        label: as in the legend.
        x: numbers, or names of groups of bars.
        y: as long as ``x``.
        low, high: ends of an interval around each ``y``; empty for none.
        dashed: drawn dashed: what a document printed beside what was measured, for example.
    """

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure.

    Attributes:
        name: of its files, in lower case with hyphens.
        title: one line for people; what is to be seen in it.
        x: the horizontal axis, with its unit.
        y: the vertical axis, with its unit.
        series: drawn in the order of the legend.
        kind: lines with marks, points, steps, or bars in groups.
        log: which axes are logarithmic: "", "x", "y" or "xy".
        marks: vertical lines: (x, label).
    """

    name: str
    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: Literal["line", "points", "steps", "bars"] = "line"
    log: Literal["", "x", "y", "xy"] = ""
    marks: Sequence[tuple[float, str]] = field(default=())
