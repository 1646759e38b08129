"""The documentation's site is built, and a link that leads nowhere is an error of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def built(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "docs_site.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.costly
def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    done = built("--out", str(tmp_path / "site"))
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        assert (tmp_path / "site" / page.relative_to(ROOT).with_suffix(".html")).is_file()
    assert (tmp_path / "site" / "search" / "search_index.json").stat().st_size > 100_000


@pytest.mark.costly
def test_a_dead_link_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[there](nowhere.md) and [below](#nothing)\n")
    text = (ROOT / "mkdocs.yml").read_text()
    (tmp_path / "mkdocs.yml").write_text(text[: text.index("nav:")].replace("build/site-pages", "docs"))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr and "#nothing" in done.stderr
