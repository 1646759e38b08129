"""Commands whose reader has gone, or whose output stands on a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alike import alike
from whesl.cli.broken_pipe import READER_GONE

ROOT = Path(__file__).resolve().parents[2]
WHESL = [sys.executable, "-m", "whesl"]
SPECIFICATION = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION QUOTA JOB_LEVEL JOB [*]
EXCEPTION DETECTION QUOTA LOG "Disk quota exceeded" stdout
EXCEPTION RECOVERY STEP QUOTA JOB JOB.REPLACE
"""


@pytest.fixture
def closed() -> Iterator[int]:
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.fixture
def full() -> Iterator[int]:
    """A file that has no room for anything."""
    file = os.open("/dev/full", os.O_WRONLY)
    yield file
    os.close(file)


def words(command: str, directory: Path) -> list[str]:
    path = directory / "rules.esl"
    path.write_text(SPECIFICATION)
    return [*WHESL, *(str(path) if word == "FILE" else word for word in command.split())]


def end(command: list[str], output: int) -> tuple[int, str]:
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


COMMANDS = ["check FILE", "check --json FILE", "compile FILE", "nodes --json", "status --json"]


@pytest.mark.costly
@pytest.mark.parametrize("command", alike(COMMANDS, run=2))
def test_a_reader_that_has_gone(command: str, tmp_path: Path, closed: int) -> None:
    """Quiet, and no status that says something about a specification."""
    assert end(words(command, tmp_path), closed) == (READER_GONE, "")


@pytest.mark.costly
@pytest.mark.parametrize("command", alike(COMMANDS, run=2))
def test_no_room_for_the_output(command: str, tmp_path: Path, full: int) -> None:
    status, said = end(words(command, tmp_path), full)
    assert status == 1
    # Which disk is full, the error does not say: the home may be it as well.
    hint = "make room where WHESL_HOME lies ("
    assert said.startswith(f"whesl: No space left on device (ENOSPC)\n  hint: {hint}")


@pytest.mark.costly
@pytest.mark.parametrize("kind", alike(["closed", "full"]))
def test_a_workflow_does_not_depend_on_who_reads_of_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    output: int = request.getfixturevalue(kind)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nsleep 1\necho told > result\n")
    run = [*words("run", tmp_path), str(script), "-e", str(tmp_path / "rules.esl"), "--rjms", "local"]
    done = subprocess.run(
        run, cwd=tmp_path, stdout=output, stderr=subprocess.PIPE, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "result").read_text() == "told\n"


def test_a_terminal_without_colours(tmp_path: Path) -> None:
    """NO_COLOR (https://no-color.org) is heeded where there would be colours."""
    code = (
        "import sys\n"
        "from whesl.cli.broken_pipe import Screen\n"
        "Screen(force_terminal=True).print('[red]word[/red]')\n"
    )
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    shown = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**plain, "TERM": "xterm", **more},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for more in ({}, {"NO_COLOR": "1"})
    ]
    assert "\x1b[31m" in shown[0]
    assert "\x1b[31m" not in shown[1]
    assert "word" in shown[1]
