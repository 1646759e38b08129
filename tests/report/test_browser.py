"""The page in a real browser: it renders, fits, can be read, and keeps its own policy.

The pictures are left in the test's directory (``--basetemp``) to be looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import in_ci
from tests.report.story import HOSTILE, told
from whesl.report import page
from whesl.testing.slurminstall import SlurmBedError, install

pytest.importorskip("selenium", reason="selenium is in the extra 'test'")
from tests.report.browser import Browser, chromium

# Text whose contrast with what is behind it is below what WCAG 2.1 asks for (level AA, 4.5).
_FAINT = """
const number = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = number(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const faint = [];
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || element.tagName === 'title') continue;
  const style = getComputedStyle(element);
  const front = number(element instanceof SVGElement ? style.fill : style.color);
  const [a, b] = [light(front), light(behind(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) faint.push(`${element.tagName} ${element.className} ${ratio.toFixed(2)}`);
}
return [...new Set(faint)];
"""
_GROUND = "return getComputedStyle(document.documentElement).backgroundColor"
_TOO_WIDE = """
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) return ['the page'];
return [...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.wide') && !e.closest('svg') && e.getBoundingClientRect().right > width + 1)
  .map(e => e.tagName + ' ' + e.className);
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        install(("browser",))
    except SlurmBedError as error:
        # A distribution may have no package of it; where CI could install one it has to run.
        if in_ci() and os.geteuid() == 0:
            pytest.fail(str(error))
        pytest.skip(str(error))
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page.html(told(12, line=f"{HOSTILE} {'/very/long/path' * 30}")), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_renders(browser: Browser, report: Path, width: int, scheme: str) -> None:
    browser.show(report, width=width, scheme=scheme)
    browser.picture(report.with_name(f"{width}-{scheme}.png"))
    assert browser.complaints() == []
    assert browser.ask(_TOO_WIDE) == []
    assert browser.ask(_FAINT) == []
    names = browser.ask("return [...document.querySelectorAll('.timeline .name')].map(e => e.textContent)")
    assert sorted(names) == sorted(row.task.partition("/")[2] for row in told(12).tasks)
    ground = "rgb(244, 246, 249)" if scheme == "light" else "rgb(16, 21, 27)"
    assert browser.ask(_GROUND) == ground, "the page's own style is in force"


@pytest.mark.parametrize("width", [390, 1280])
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
        assert browser.ask(_TOO_WIDE) == []
        names = "[...document.querySelectorAll('.timeline .name')]"
        assert browser.ask(f"return {names}.filter(e => e.checkVisibility()).length") == 20 + 4
    assert browser.complaints() == []
