"""What a program prints does not drive the terminal, or the page, of who reads about it."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import HEAD
from whesl.runtime.coordinator.client.start import ensure_running

WHESL = [sys.executable, "-m", "whesl"]
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31m<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x9b31m\x08"
RULES = (
    HEAD
    + """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*]
EXCEPTION DETECTION CRASH MATCH "bad (?P<what>.*)" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
)
PROGRAM = f"""\
import os
if os.environ["WHESL_RESTART_COUNT"] == "0":
    print({"bad " + EVIL!r})
    raise SystemExit(1)
"""
SHOWN = [
    ("status",),
    ("events",),
    ("report", "evil"),
    ("report", "evil", "--markdown"),
    ("report", "evil", "--html"),
]
UNSEEN = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E)]


class Elements(HTMLParser):
    """The elements and attributes of a page, as a browser reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def said(*arguments: str, place: Path) -> str:
    done = subprocess.run(
        [*WHESL, *arguments],
        env={**os.environ, "COLUMNS": "400"},
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.costly
def test_nothing_a_program_prints_reaches_a_terminal_or_a_page(
    tmp_path: Path, whesl_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHESL_BIND", "127.0.0.1")
    whesl_home.mkdir(mode=0o700)
    ensure_running(whesl_home)
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "app.py").write_text(PROGRAM, encoding="utf-8", errors="surrogateescape")
    command = ("exec", "-e", "rules.esl", "--summary", "--workflow", "evil", "--step", "a")
    own = subprocess.run(
        [*WHESL, *command, "--", sys.executable, "app.py"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert own.returncode == 0, own.stderr
    assert "raised CRASH" in own.stderr
    said("nodes", "add", "n7", "--reason", EVIL, place=tmp_path)
    pages = {"exec --summary": own.stderr, "nodes": said("nodes", place=tmp_path)}
    for arguments in SHOWN:
        target = (str(tmp_path / f"page{arguments[-1]}"),) if arguments[-1].startswith("--") else ()
        pages[" ".join(arguments)] = said(*arguments, *target, place=tmp_path)
        if target:
            pages[" ".join(arguments)] += Path(target[0]).read_text()
    for name, text in pages.items():
        assert not [sign for sign in UNSEEN if sign in text], name
    reader = Elements()
    reader.feed(pages["report evil --html"])
    assert "main" in reader.names or "body" in reader.names
    assert not {"script", "img", "iframe", "object"} & reader.names
    assert not [name for name in reader.attributes if name.startswith("on")]
    assert sum("alert(1)" in text for text in pages.values()) >= 3, "it is shown, as text"
