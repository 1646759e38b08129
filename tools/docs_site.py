"""Build the documentation as a site with a search: build/site/index.html.

python tools/docs_site.py [--out DIR]

Pages link to files of the repository beside ``docs/``. So all pages and the files that they link to are
copied to one tree, laid out as the repository is, of which mkdocs makes the site. mkdocs checks each link:
one that leads nowhere, also to a heading that is not there, is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "site-pages"
# A link's target in Markdown, without a heading; no address of another host.
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
# How an example is checked stands behind its language ("esl detection"), where mkdocs expects nothing.
_FENCE = re.compile(r"^(```\w+) .*$", re.MULTILINE)


def pages() -> list[Path]:
    """Return the Markdown files that are the site's pages."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [
        *found,
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "deploy/README.md")),
    ]


def linked(page: Path) -> Iterator[Path]:
    """Yield the files of the repository to which a page links and which are no pages."""
    for target in _LINK.findall(page.read_text()):
        file = (page.parent / target).resolve()
        if file.is_file() and file.suffix != ".md" and file.is_relative_to(ROOT):
            yield file


def copy(place: Path) -> None:
    """Make the tree of pages and of what they link to. Whatever was there before is removed."""
    shutil.rmtree(place, ignore_errors=True)
    for page in pages():
        for file in (page, *linked(page)):
            there = place / file.relative_to(ROOT)
            there.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".md":
                there.write_text(_FENCE.sub(r"\1", file.read_text()))
            else:
                shutil.copyfile(file, there)


def build(out: Path) -> int:
    """Build the site and return the status of mkdocs: 1 where a link leads nowhere or a page is left out."""
    copy(PAGES)
    # Not --quiet: mkdocs then counts no warnings, and --strict finds nothing.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    # The theme's makers advertise their next generator in twenty lines otherwise.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where the site is made")
    sys.exit(build(parser.parse_args().out.resolve()))
