"""Figures and pages of results, as files and in a real browser.

The pictures are left in the test's directory (``--basetemp``) to be looked at.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from whesl.lab.results import report_figures
from whesl.lab.results.report_figures import Figure, Series
from whesl.lab.results.report_page import Lines, Page, Section, write_page
from whesl.lab.results.report_tables import Table

pytest.importorskip("selenium", reason="selenium is in the extra 'test'")
from tests.report.browser import FAINT, LOOKS, TOO_WIDE, Browser, started  # noqa: F401 - a fixture

HOSTILE = "<script>alert('x')</script> & \"quoted\" $x_1$"
LINES = Figure(
    "wait",
    f"Mean waiting {HOSTILE}",
    "load",
    "mean waiting (min)",
    [
        Series("easy", [0.5, 0.7, 0.9], [10, 20, 60.0]),
        Series(HOSTILE, [0.5, 0.7, 0.9], [9, 18, 40.0], [8, 15, 30], [11, 21, 50]),
        Series("printed", [0.5, 0.9], [9, 44.0], dashed=True),
    ],
    marks=[(0.8, "today")],
)
BARS = Figure(
    "killed",
    "Jobs killed",
    "log",
    "jobs",
    [
        Series("fcfs", ["NASA", "SDSC & <co>"], [100.0, 200.0], [90, 180], [110, 220]),
        Series("easy", ["NASA", "SDSC & <co>"], [90.0, 150.0]),
    ],
    kind="bars",
)
TABLE = Table(
    "policies",
    "All policies",
    ("policy", "wait (s)", "killed", "note"),
    [("easy", 123.4567, 3, HOSTILE), ("fcfs", 99999.5, None, "/a/very/long/path" * 20)],
)
PAGE = Page(
    "WHESL lab: replay",
    HOSTILE,
    "12 % fewer node-hours are lost.",
    "good",
    ["3 weeks", "4 nodes"],
    [("jobs killed", "12", "of 300"), ("waiting", "3 min", "less")],
    [Section("Comparison", ["A paragraph.", LINES, TABLE, BARS, Lines(["first", HOSTILE])])],
)


def luminance(colour: str) -> float:
    """As in WCAG 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(v * w for v, w in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("ground", ["#ffffff", "#181f28"])
def test_colours_stand_out_on_light_and_on_dark(ground: str) -> None:
    for colour in report_figures.COLOURS:
        high, low = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3, colour


@pytest.mark.parametrize("figure", [LINES, BARS], ids=lambda figure: figure.name)
def test_a_figure_in_both_forms(tmp_path: Path, figure: Figure) -> None:
    vector, raster = report_figures.write_figure(tmp_path, figure)
    assert raster.read_bytes().startswith(b"\x89PNG")
    before = vector.read_bytes(), raster.read_bytes()
    text = before[0].decode()
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == figure.title
    assert "<script" not in text
    assert not re.search(r'(?:href|src)="(?!#)', text), "nothing is loaded"
    shown = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {series.label for series in figure.series} <= set(shown)
    report_figures.write_figure(tmp_path, figure)
    assert (vector.read_bytes(), raster.read_bytes()) == before, "the same numbers give the same bytes"


@pytest.mark.filterwarnings("error")
def test_logarithmic_axes_have_plain_numbers(tmp_path: Path) -> None:
    """Their labels were shown as the TeX that matplotlib writes powers of ten in."""
    line = Series("said", [0.0001, 0.001, 0.1], [0.001, 0.01, 0.1], dashed=True)
    vector, _ = report_figures.write_figure(tmp_path, Figure("log", "Said", "x", "y", [line], log="xy"))
    texts = [element.text for element in ElementTree.parse(vector).iter() if element.text]
    assert "0.001" in texts
    assert not [text for text in texts if "math" in text]


@pytest.mark.costly
@LOOKS
def test_a_page_in_a_browser(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    path = tmp_path / "index.html"
    write_page(path, PAGE)
    browser.show(path, width=width, scheme=scheme)
    browser.picture(tmp_path / f"{width}-{scheme}.png")
    assert browser.complaints() == []
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(FAINT) == []
    assert browser.ask("return document.querySelector('h1').textContent") == HOSTILE
    boxes = browser.ask(
        "return [...document.querySelectorAll('figure svg')]"
        ".map(s => [s.getBoundingClientRect().width, s.getBoundingClientRect().height])"
    )
    assert len(boxes) == 2
    assert all(300 < wide <= width and 150 < high < wide for wide, high in boxes)
    assert browser.ask("return document.querySelectorAll('td.number').length") == 4
    stroke = "return getComputedStyle(document.querySelector('figure svg [stroke=currentColor]')).stroke"
    assert browser.ask(stroke) == ("rgb(23, 32, 43)" if scheme == "light" else "rgb(231, 236, 243)")
