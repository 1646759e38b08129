"""The documents say what is so: every specification in them is correct, every page that is named exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whesl.cli import COMMANDS
from whesl.esl import parse
from whesl.esl.diagnostics import render_all

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "tutorial.md"], ids=lambda page: page.name
)
def test_specifications_are_correct(page: Path) -> None:
    blocks = re.findall(r"```(?:esl)?\n(DECLARE .*?)```", page.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        result = parse(block, page.name)
        assert not result.diagnostics, result.diagnostics


def test_the_tutorial_shows_its_example() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    assert (ROOT / "examples" / "tutorial" / "rules.esl").read_text() in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    for name in re.findall(r"^\s*\$ whesl ([a-z]+)", page.read_text(), re.MULTILINE):
        assert name in COMMANDS, f"{page.name}: whesl {name}"


def test_the_tutorial_shows_the_finding_as_it_is() -> None:
    text = (ROOT / "examples" / "tutorial" / "rules.esl").read_text().replace("stdout", "stdot")
    page = (ROOT / "docs" / "tutorial.md").read_text()
    shown = re.search(r"\$ whesl check rules.esl\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    assert "\n".join(render_all(parse(text, "rules.esl"))) == shown.group(1).rstrip("\n")
