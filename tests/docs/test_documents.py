"""The documents say what is so: every specification in them is correct, every page that is named exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whesl.cli.commands import COMMANDS
from whesl.language import parse
from whesl.language.result import render_all

ROOT = Path(__file__).resolve().parents[2]
INSIDE = sorted((ROOT / "docs" / "design").glob("*.md"))
LAB = sorted((ROOT / "docs" / "lab").glob("*.md"))
CLOUD = sorted((ROOT / "docs" / "cloud").glob("*.md"))
PLACEMENT = sorted((ROOT / "docs" / "placement").glob("*.md"))
TESTING = sorted((ROOT / "docs" / "testing").glob("*.md"))
MANAGERS = sorted((ROOT / "docs" / "managers").glob("*.md"))
RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *INSIDE,
    *LAB,
    *CLOUD,
    *PLACEMENT,
    *TESTING,
    *MANAGERS,
    *RESULTS,
]
# What a reader takes in at one go: lines of a page.
LONGEST = {
    "CHANGELOG.md": 30,
    "CONTRIBUTING.md": 200,
    "docs/architecture.md": 165,
    "docs/benchmarks.md": 60,  # what was measured, and how, is in docs/results
    "docs/dependencies.md": 60,
    "docs/cloud/forecast.md": 90,
    "docs/lab/checkpoints.md": 60,
    **{f"docs/design/{page.name}": 155 for page in INSIDE},
}


def anchors(page: Path) -> set[str]:
    """Return what links may name in a page: its headings, as GitHub and GitLab make anchors of them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        other = page.parent / target if target else page
        assert other.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(other), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    """Each `folder/module.py` of a page is there, from the root, the package or a room on."""
    for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|esl|sh|g4))`", page.read_text()):
        places = (ROOT, ROOT / "whesl", *(ROOT / "whesl").iterdir())
        assert any((place / path).exists() for place in places), f"{page.name}: {path}"


def test_modules_that_are_named_exist() -> None:
    """Each `room.module.name` of a page, a comment or a docstring is there."""
    rooms = "|".join(path.parent.name for path in (ROOT / "whesl").glob("*/__init__.py"))
    named = re.compile(rf"(?:`|whesl\.)((?:{rooms})\.\w+\.\w+)(?![\w-])")
    for file in (*PAGES, *(ROOT / "whesl").rglob("*.py")):
        for name in named.findall(file.read_text()):
            assert _is_there(name), f"{file.relative_to(ROOT)}: {name}"


def _is_there(name: str) -> bool:
    place, parts = ROOT / "whesl", name.split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and (module := place / f"{parts[0]}.py").exists():
        return len(parts) == 1 or re.search(rf"\b{parts[1]}\b", module.read_text()) is not None
    return not parts or ((place / "__init__.py").exists() and parts[0] in (place / "__init__.py").read_text())


def test_these_pages_stay_short() -> None:
    for name, most in LONGEST.items():
        lines = (ROOT / name).read_text().splitlines()
        assert len(lines) <= most, name
        assert not [line for line in lines if len(line) > 120 and not line.startswith("|")], name


def test_every_design_page_is_listed() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    for design in INSIDE:
        assert f"](design/{design.name})" in page, design.name


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
