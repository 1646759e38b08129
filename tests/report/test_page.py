"""The report as a page: what is in it, and that nothing of a log becomes more than text."""

from __future__ import annotations

import base64
import hashlib
import os
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.records import home
from tests.report.story import HOSTILE, told
from whesl.cli.inspect.report import report as command
from whesl.model.errors import UsageError, WheslError
from whesl.model.printable import visible
from whesl.report import page
from whesl.report.timeline import FOLD, MOST, Scale

_VOID = {"meta"}


class Reader(HTMLParser):
    """Reads a page as a browser would: elements with attributes, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.style = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.text += data

    def count(self, tag: str, **wanted: str) -> int:
        return sum(
            name == tag and all(attributes.get(key) == value for key, value in wanted.items())
            for name, attributes in self.tags
        )


def safe(text: str) -> Reader:
    """Return the page, read; it may hold nothing that is run or fetched."""
    found = Reader(text)
    assert found.open == []
    for tag, attributes in found.tags:
        assert tag not in (
            "script",
            "iframe",
            "object",
            "img",
            "link",
            "base",
            "form",
            "use",
            "foreignObject",
        )
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "style", "xlink:href", "srcdoc")
            assert name != "href" or value.startswith("#e")
    return found


def test_what_a_page_tells() -> None:
    found = safe(page.html(told(9)))
    words = " ".join(found.text.split())
    line = "write: No space left on device"
    for wanted in (line, "byte 4096", "n07", "DISKFULL", "recovered", "paused", "NODE.REPLACE of n07"):
        assert wanted in words
    assert "7 of 9 tasks completed, 1 failed, 1 not ended yet. 3 exceptions, 1 recovered in place." in words
    assert found.count("div", **{"class": "row completed"}) == 7
    assert found.count("rect", **{"class": "run"}) == 6 + 2 + 1 + 1, "attempts, and the one of the legend"
    targets = {attributes["id"] for _, attributes in found.tags if "id" in attributes}
    links = [attributes["href"][1:] for tag, attributes in found.tags if tag == "a"]
    assert set(links) == {"e1", "e2", "e3"} <= targets
    assert len(links) == 6, "from the picture and from the table"


def test_the_policy_names_the_style_by_its_digest() -> None:
    found = safe(page.html(told(1)))
    (policy,) = (a["content"] for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(found.style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "url(" not in found.style.replace("url(#", ""), "nothing is fetched"


def test_a_hostile_log_line_stays_text() -> None:
    text = page.html(told(9, line=HOSTILE))
    found = safe(text)
    assert "<script>alert('x')</script> ␛[31mred␛[0m ␀ �gnp.exe </pre></style>" in found.text
    for sign in "\x1b\x00\u202e":
        assert sign not in text


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_is_safe(line: str, name: str) -> None:
    found = safe(page.html(msgspec.structs.replace(told(3, line=line), workflow=name)))
    assert visible(line.rstrip("\n")) in found.text.replace("\r\n", "\n")


def test_nothing_ran_yet() -> None:
    found = safe(page.html(msgspec.structs.replace(told(2), began=None, until=None)))
    assert "timeline" not in {attributes.get("class") for _, attributes in found.tags}


@pytest.mark.costly
def test_a_thousand_tasks_are_folded_up() -> None:
    """Those to which something happened stand there; the others are one row for each step until asked for."""
    result = told(1000, every=50)
    text = page.html(result)
    found = safe(text)
    assert len(text) < 1_500_000
    assert found.count("svg", role="group") == 20
    assert found.count("path", **{"class": "density"}) == 4
    assert len(result.tasks) > FOLD
    many = safe(page.html(told(4 * MOST + 400, every=10**6)))
    assert "more: whesl report --json has all" in many.text


@pytest.mark.parametrize("length", [0.001, 0.3, 2, 17, 59, 61, 3599, 3601, 90_000, 10**6, 10**8])
def test_marks_on_the_axis(length: float) -> None:
    ticks = Scale(100.0, 100.0 + length).ticks()
    assert 2 <= len(ticks) <= 8
    assert len({text for _, text in ticks}) == len(ticks)
    assert all(0 <= place <= 100 for place, _ in ticks)


def test_the_command_writes_files(tmp_path: Path) -> None:
    environment = {**os.environ, "WHESL_HOME": str(home(tmp_path, coordinator=True))}
    target, other = tmp_path / "w.html", tmp_path / "w.md"
    words = ["w", "--html", str(target), "--markdown", str(other)]
    run = CliRunner().invoke(command, words, env=environment, catch_exceptions=False)
    assert run.stdout == ""
    assert safe(target.read_text()).count("h1") == 1
    assert other.read_text().startswith("# w\n")
    run = CliRunner().invoke(command, ["w", "--html", "-"], env=environment, catch_exceptions=False)
    assert run.stdout.startswith("<!DOCTYPE html>")
    with pytest.raises(UsageError, match="only one"):
        CliRunner().invoke(command, ["w", "--html", "-", "--json"], env=environment, catch_exceptions=False)
    with pytest.raises(WheslError, match="cannot write"):
        CliRunner().invoke(
            command, ["w", "--html", str(target / "x")], env=environment, catch_exceptions=False
        )
