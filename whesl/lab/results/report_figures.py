"""Figures as data, and as SVG and PNG in colours that can be distinguished on light and dark backgrounds.

An SVG draws text and axes in the page's text colour, so one file serves both backgrounds; a PNG has its own
background. Files contain no dates, so equal numbers give equal bytes.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from whesl.files.whole_file import write_bytes, write_text

# Each colour has a contrast of at least 3 to white and to the dark page's #181f28 (WCAG 2.1).
COLOURS = ("#3b7fc4", "#c96a12", "#2b8f63", "#d04545", "#8f6bc7", "#94713f", "#c2589f", "#6e7f90")
_LETTERS = 75  # width of a legend, in characters
_AXIS = 38  # width of the vertical axis's title, in characters
_MARKERS = "osD^vPX*"
_INK = "#010203"  # placeholder for the text's colour until the file is written
_SVG = "http://www.w3.org/2000/svg"
_STANDALONE = "svg{color:#17202b}@media (prefers-color-scheme:dark){svg{color:#e7ecf3}}"
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "grid.color", "xtick.color", "ytick.color")
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "whesl",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "legend.frameon": False,
    "text.parse_math": False,
}


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


def write_figure(out: Path, figure: Figure) -> tuple[Path, Path]:
    """Write OUT/NAME.svg and OUT/NAME.png; return both paths.

    Args:
        out: the directory of results.
        figure: the figure.

    Raises:
        WheslError: a file cannot be written.
    """
    vector, raster = out / f"{figure.name}.svg", out / f"{figure.name}.png"
    root = inline(figure)
    style = ElementTree.Element(f"{{{_SVG}}}style")
    style.text = _STANDALONE
    root.insert(0, style)
    write_text(vector, ElementTree.tostring(root, encoding="unicode") + "\n")
    write_bytes(raster, _drawn(figure, "png", "#17202b"))
    return vector, raster


def inline(figure: Figure) -> ElementTree.Element:
    """Return a figure as an ``svg`` element for a page, without styles, scripts or links."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(_drawn(figure, "svg", _INK))  # noqa: S314  # drawn here, not received
    for parent in list(root.iter()):
        for child in [*parent.findall(f"{{{_SVG}}}metadata"), *parent.findall(f"{{{_SVG}}}style")]:
            parent.remove(child)
    for element in root.iter():
        for key, value in _presentation(element.attrib.pop("style", "")):
            element.set(key, value)
        for key in ("fill", "stroke"):
            if element.get(key) == _INK:
                element.set(key, "currentColor")
        # Identifiers have to be unique in a page with several figures.
        if "id" in element.attrib:
            element.set("id", f"{figure.name}-{element.attrib['id']}")
        for key, value in element.attrib.items():
            if "#" in value and (key.endswith("href") or value.startswith("url(#")):
                element.set(key, value.replace("#", f"#{figure.name}-", 1))
    for key in ("width", "height"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", figure.title)
    root.set("stroke-linejoin", "round")
    return root


def _presentation(style: str) -> list[tuple[str, str]]:
    """Return a style as SVG attributes; the pages' content security policy forbids inline styles."""
    found = []
    for part in filter(None, (part.strip() for part in style.split(";"))):
        key, _, value = part.partition(":")
        key, value = key.strip(), value.strip()
        if key == "font":
            size = re.search(r"([\d.]+)px", value)
            found += [("font-size", size.group(1) if size else "11"), ("font-family", "inherit")]
            if "bold" in value:
                found.append(("font-weight", "bold"))
        else:
            found.append((key, value))
    return found


def _drawn(figure: Figure, form: str, ink: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import NullFormatter

    settings: Any = {**_SETTINGS, **dict.fromkeys(_INKED, ink), "grid.alpha": 0.15}
    with mpl.rc_context(settings):
        canvas = Canvas(figsize=(5.8, 3.5), layout="constrained")
        FigureCanvasAgg(canvas)
        axes: Any = canvas.add_subplot()
        axes.grid(visible=True, axis="y" if figure.kind == "bars" else "both", linewidth=0.7)
        if figure.kind == "bars":
            _bars(axes, figure.series)
        else:
            for number, series in enumerate(figure.series):
                _line(axes, figure.kind, series, number)
        for place, label in figure.marks:
            axes.axvline(place, color=ink, linewidth=1, linestyle=":")
            axes.annotate(
                label, (place, 1), xycoords=("data", "axes fraction"), rotation=90, va="top", fontsize=9
            )
        for name in figure.log:
            axis = axes.xaxis if name == "x" else axes.yaxis
            (axes.set_xscale if name == "x" else axes.set_yscale)("log")
            # Powers of ten are written out, since texts are not parsed as mathematics.
            axis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(figure.x)
        axes.set_ylabel(textwrap.fill(figure.y, _AXIS))
        if len(figure.series) > 1 or (figure.series and figure.series[0].label):
            longest = max(len(series.label) for series in figure.series)
            columns = max(1, min(len(figure.series), 4, _LETTERS // (longest + 6)))
            canvas.legend(loc="outside upper left", ncols=columns, fontsize=10)
        file = io.BytesIO()
        if form == "svg":
            canvas.savefig(file, format=form, facecolor="none", metadata={"Date": None})
        else:
            canvas.savefig(file, format=form, facecolor="#ffffff", dpi=160, metadata={"Software": None})
    return file.getvalue()


def _line(axes: Any, kind: str, series: Series, number: int) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
    dash = "--" if series.dashed else "-"
    if kind == "steps":
        axes.step(series.x, series.y, where="post", color=colour, linestyle=dash, label=series.label)
    else:
        style = "" if kind == "points" else dash
        few = marker if kind == "points" or len(series.x) <= 40 else ""
        look = {"marker": few, "linestyle": style, "color": colour, "markersize": 5}
        axes.plot(series.x, series.y, label=series.label, **look)
    if series.low:
        axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.18, linewidth=0)


def _bars(axes: Any, all_series: Sequence[Series]) -> None:
    groups = list(dict.fromkeys(str(name) for series in all_series for name in series.x))
    width = 0.8 / max(1, len(all_series))
    for number, series in enumerate(all_series):
        places = [groups.index(str(name)) + width * (number + 0.5) - 0.4 for name in series.x]
        colour = COLOURS[number % len(COLOURS)]
        hatch = "//" if series.dashed else None
        axes.bar(places, series.y, width * 0.92, color=colour, label=series.label, hatch=hatch)
        if series.low:
            below = [max(0.0, y - low) for y, low in zip(series.y, series.low, strict=True)]
            above = [max(0.0, high - y) for y, high in zip(series.y, series.high, strict=True)]
            ink = axes.xaxis.label.get_color()
            axes.errorbar(
                places, series.y, yerr=[below, above], fmt="none", ecolor=ink, elinewidth=1, capsize=3
            )
    axes.axhline(0, color=axes.xaxis.label.get_color(), linewidth=0.8)
    axes.set_xticks(range(len(groups)), groups)
    if sum(map(len, groups)) > 70:
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set_ha("right")
