"""The menu's page in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cloud.samples import CLUSTER, PRICES, complete, oai, stage, workflow
from whesl.cloud import page
from whesl.cloud.core import plan_menu, stage_speed
from whesl.cloud.core.plan_records import HOUR, Workflow

pytest.importorskip("selenium", reason="selenium is in the extra 'test'")
from tests.report.browser import FAINT, LOOKS, TOO_WIDE, Browser, started  # noqa: F401 - a fixture


def case(flow: Workflow) -> plan_menu.Case:
    return plan_menu.Case(
        workflow=flow,
        profile=complete(flow),
        prices=PRICES,
        forecast=plan_menu.constant([20, 40, 60], 0.0),
        paces=stage_speed.paces(flow, complete(flow), PRICES, CLUSTER),
        start=0.0,
        notes=("assumed: <b>all</b> of it",),
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    long = workflow(*oai(2000).stages, stage("a-stage-with-a-very-long-name-" * 4, 3, [], 5))
    made = case(long)
    path = tmp_path_factory.mktemp("menu") / "menu.html"
    offers = plan_menu.menu(made, [6 * HOUR, 24 * HOUR], courses=20)
    path.write_text(page.html(made, offers, 0.9), encoding="utf-8")
    return path


@LOOKS
def test_the_menu_in_a_browser(browser: Browser, written: Path, width: int, scheme: str) -> None:
    browser.show(written, width=width, scheme=scheme)
    browser.picture(written.parent / f"{width}-{scheme}.png")
    assert browser.complaints() == []
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(FAINT) == []
    # A picture of the nodes and one of the stages for each deadline, with bars that can be seen.
    boxes = browser.ask(
        "return [...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width)"
    )
    assert len(boxes) == 2 * (1 + 6)
    assert all(250 < box <= width for box in boxes)
    bars = browser.ask(
        "return [...document.querySelectorAll('rect')].map(r => r.getBoundingClientRect())"
        ".filter(b => b.width > 0 && b.height > 0).length"
    )
    assert bars >= 6 + 6
    # A stage's bar stands below the hours in which it runs.
    stages, axis = browser.ask(
        "const box = (s) => { const b = s.getBoundingClientRect(); return [b.left, b.right]; };"
        "const every = (what) => [...document.querySelectorAll(what)].map(box);"
        "return [every('svg .window'), every('svg .axis')[0]]"
    )
    assert min(left for left, _ in stages) == pytest.approx(axis[0], abs=1)
    assert all(right <= axis[1] + 1 for _, right in stages)
    rows = browser.ask("return document.querySelectorAll('tbody tr').length")
    assert rows == 2


def test_names_are_shown_as_they_are(written: Path) -> None:
    text = written.read_text()
    assert "assumed: &lt;b&gt;all&lt;/b&gt; of it" in text
    assert "<script" not in text
    assert 'href="http' not in text
