"""docs/security.md names the tests that show what it says, and no security test is missing from it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def names_in(directory: Path) -> set[str]:
    return {
        name
        for path in directory.rglob("test_*.py")
        if path != Path(__file__).resolve()
        for name in re.findall(r"^\s*def (test_\w+)\(", path.read_text(), re.MULTILINE)
    }


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named <= names_in(ROOT / "tests")


def test_every_security_test_is_named() -> None:
    assert names_in(ROOT / "tests" / "security") <= set(re.findall(r"`(test_\w+)`", PAGE))


def test_every_module_that_is_named_exists() -> None:
    table = PAGE.partition("## What stops them")[2].partition("## What is accepted")[0]
    for module in re.findall(r"`(\w+/[\w/]+\.py)`", table):
        assert (ROOT / "whesl" / module).is_file(), module
