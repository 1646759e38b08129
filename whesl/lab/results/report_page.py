"""Results as one self-contained HTML file, without network access, scripts or fonts."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element

from whesl import __version__
from whesl.files.whole_file import write_text
from whesl.lab.results.report_figures import Figure
from whesl.lab.results.report_tables import Table, shown
from whesl.report import markup
from whesl.report.markup import el


@dataclass(frozen=True, slots=True)
class Lines:
    """A list of short texts."""

    lines: Sequence[str]


Part = str | Lines | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: paragraphs, lists, tables and figures below a heading."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page.

    Attributes:
        kind: the small text above the title, "WHESL lab: replay".
        title: the heading.
        verdict: the main finding in one or two sentences.
        tone: colour of the verdict.
        facts: short texts below the verdict.
        tiles: (name, value, note) of each highlighted number.
        sections: the sections below the tiles.
    """

    kind: str
    title: str
    verdict: str
    tone: Literal["good", "warn", "bad", "calm"]
    facts: Sequence[str]
    tiles: Sequence[tuple[str, str, str]]
    sections: Sequence[Section]


def write_page(path: Path, page: Page) -> None:
    """Write a page.

    Args:
        path: the file.
        page: the content of the page.

    Raises:
        WheslError: the file cannot be written.
    """
    write_text(path, html(page))


def html(page: Page) -> str:
    """Return a page as HTML; special characters in the page's texts are escaped."""
    header = el(
        "header",
        el("p", page.kind, class_="kicker"),
        el("h1", page.title),
        el("p", page.verdict, class_=f"verdict {page.tone}"),
        el("p", " · ".join(page.facts), class_="facts") if page.facts else None,
    )
    cells = (el("div", el("dt", n), el("dd", el("strong", v), el("span", m))) for n, v, m in page.tiles)
    tiles = el("dl", *cells, class_="tiles") if page.tiles else None
    main = el("main", header, tiles, *map(_section, page.sections))
    made = f"Made by WHESL {__version__} at {time.strftime('%Y-%m-%d %H:%M:%S')}."
    style = resources.files("whesl.lab.results").joinpath("report_page.css").read_text(encoding="utf-8")
    return markup.page(page.title, main, el("footer", el("p", made)), style=style)


def _section(section: Section) -> Element:
    children: list[Element] = []
    for figures, parts in itertools.groupby(section.parts, lambda part: isinstance(part, Figure)):
        made = [child for part in parts for child in _part(part)]
        # Consecutive figures stand side by side where there is room.
        children += [el("div", *made, class_="figures")] if figures and len(made) > 1 else made
    return el("section", el("h2", section.title), *children)


def _part(part: Part) -> Iterable[Element]:
    if isinstance(part, str):
        yield el("p", part)
    elif isinstance(part, Lines):
        yield el("ul", *(el("li", line) for line in part.lines), class_="plain")
    elif isinstance(part, Table):
        yield from _table(part)
    else:
        from whesl.lab.results.report_figures import inline

        drawn = inline(part)
        for element in drawn.iter():
            # HTML has no namespaces, so the names lose their namespace.
            element.tag = element.tag.rpartition("}")[2]
            for key in [key for key in element.attrib if key.startswith("{")]:
                element.set(key.rpartition("}")[2], element.attrib.pop(key))
        yield el("figure", el("figcaption", part.title), drawn)


def _table(table: Table) -> Iterable[Element]:
    """Yield a table that scrolls on its own if wider than the page; numbers are aligned to the right."""
    numbers = [
        all(
            isinstance(row[i], (int, float, type(None))) and not isinstance(row[i], bool)
            for row in table.rows
        )
        and any(row[i] is not None for row in table.rows)
        for i in range(len(table.columns))
    ]
    marked = [{"class_": "number"} if number else {} for number in numbers]
    head = el("tr", *(el("th", c, scope="col", **m) for c, m in zip(table.columns, marked, strict=True)))
    rows = (
        el("tr", *(el("td", shown(cell), **m) for cell, m in zip(row, marked, strict=True)))
        for row in table.rows
    )
    if table.title:
        yield el("h3", table.title)
    body = el("table", el("thead", head), el("tbody", *rows))
    yield el("div", body, class_="wide", role="region", aria_label=table.title or table.name, tabindex="0")
