"""The page in a real browser: it renders, fits, can be read, and keeps its own policy.

The pictures are left in the test's directory (``--basetemp``) to be looked at.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.story import HOSTILE, told
from whesl.report import overview_forms, page
from whesl.report.overview import overview

pytest.importorskip("selenium", reason="selenium is in the extra 'test'")
from tests.report.browser import FAINT, LOOKS, TOO_WIDE, Browser, started  # noqa: F401 - a fixture

_GROUND = "return getComputedStyle(document.documentElement).backgroundColor"

pytestmark = pytest.mark.costly  # a browser is started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page.html(told(12, line=f"{HOSTILE} {'/very/long/path' * 30}")), encoding="utf-8")
    return path


@LOOKS
def test_it_renders(browser: Browser, report: Path, width: int, scheme: str) -> None:
    browser.show(report, width=width, scheme=scheme)
    browser.picture(report.with_name(f"{width}-{scheme}.png"))
    assert browser.complaints() == []
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(FAINT) == []
    names = browser.ask("return [...document.querySelectorAll('.timeline .name')].map(e => e.textContent)")
    assert sorted(names) == sorted(row.task.partition("/")[2] for row in told(12).tasks)
    ground = "rgb(244, 246, 249)" if scheme == "light" else "rgb(16, 21, 27)"
    assert browser.ask(_GROUND) == ground, "the page's own style is in force"


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.variant)])
def test_the_overview_of_some_days_fits(browser: Browser, tmp_path: Path, width: int) -> None:
    """Its table was wider than the page, and ran over its frame."""
    result = told(12, line=f"{HOSTILE} {'/very/long/path' * 30}")
    assert result.until is not None
    path = tmp_path / "overview.html"
    path.write_text(overview_forms.html(overview([result], 0.0, result.until)), encoding="utf-8")
    browser.show(path, width=width, scheme="light")
    browser.picture(tmp_path / f"{width}.png")
    assert browser.ask("return document.querySelectorAll('tbody tr').length") > 0
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(FAINT) == []


@pytest.mark.parametrize("width", [pytest.param(390, marks=pytest.mark.variant), 1280])
def test_the_picture_is_where_the_times_are(browser: Browser, report: Path, width: int) -> None:
    browser.show(report, width=width, scheme="light")
    bars = browser.ask(
        "return [...document.querySelectorAll('.timeline .row:not(.axis) > svg')].map(s => {"
        " const all = s.getBoundingClientRect();"
        " return [...s.querySelectorAll('.run')].map(r => r.getBoundingClientRect())"
        ".map(r => [(r.left - all.left) / all.width, (r.right - all.left) / all.width, r.height])})"
    )
    result = told(12)
    assert result.began is not None
    assert result.until is not None
    length = result.until - result.began
    expected = [
        [(run.started - result.began, run.ended - result.began) for run in row.runs if run.ended is not None]
        for row in sorted(result.tasks, key=lambda row: row.started or 0.0)
    ]
    for shown, runs in zip(bars, expected, strict=True):
        assert len(shown) == len(runs)
        for (left, right, height), (begin, end) in zip(shown, runs, strict=True):
            assert left == pytest.approx(begin / length, abs=0.01)
            assert right == pytest.approx(end / length, abs=0.01)
            assert height > 8


def test_a_mark_leads_to_its_exception(browser: Browser, tmp_path: Path) -> None:
    """Also where there are so many that they are closed at first."""
    path = tmp_path / "many.html"
    path.write_text(page.html(told(60, every=3)), encoding="utf-8")
    browser.show(path, width=1280, scheme="light")
    shown = "return document.querySelector('#e7').checkVisibility({contentVisibilityAuto: true})"
    assert browser.ask(shown) is False
    mark = "document.querySelector('.timeline a[href=\"#e7\"]')"
    browser.ask(f"{mark}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert browser.ask(shown) is True
    assert browser.complaints() == []


def test_on_paper(browser: Browser, tmp_path: Path) -> None:
    """What is folded on a screen cannot be unfolded on paper: evidence is printed."""
    path = tmp_path / "many.html"
    path.write_text(page.html(told(60, every=3)), encoding="utf-8")
    browser.show(path, width=800, scheme="dark", media="print")
    assert browser.ask(_GROUND) == "rgb(255, 255, 255)"
    assert browser.ask("return document.querySelector('#e7').getBoundingClientRect().height") > 20


def test_a_thousand_tasks(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "thousand.html"
    path.write_text(page.html(told(1000, every=50)), encoding="utf-8")
    for width in (390, 1280):
        browser.show(path, width=width, scheme="light")
        browser.picture(tmp_path / f"{width}.png")
        assert browser.ask(TOO_WIDE) == []
        names = "[...document.querySelectorAll('.timeline .name')]"
        assert browser.ask(f"return {names}.filter(e => e.checkVisibility()).length") == 20 + 4
    assert browser.complaints() == []
