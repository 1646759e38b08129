"""Modules of other interpreters on PYTHONPATH, or files of such names beside the user, are not imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = """DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*] LIMIT 2 ELSE FAIL
EXCEPTION DETECTION CRASH EXIT CODE 3
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
PROGRAM = """import os, json, sys
import msgspec  # the user's own, whatever WHESL has
print(msgspec.MINE, os.environ["PYTHONPATH"])
sys.exit(0 if int(os.environ["WHESL_RESTART_COUNT"]) else 3)
"""
# As whoever installs it calls it, and as a module, which has the current directory in front.
CALLS = ([str(Path(sys.executable).with_name("whesl"))], [sys.executable, "-m", "whesl"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    for name in ("msgspec", "click", "zmq", "psutil", "antlr4", "tomli"):
        text = "raise ImportError('built for another Python')" if name != "msgspec" else "MINE = 'theirs'"
        (tmp_path / f"{name}.py").write_text(text + "\n")
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "program.py").write_text(PROGRAM)
    yield tmp_path
    _whesl(tmp_path, CALLS[0], ".", "coordinator", "stop")


def _whesl(place: Path, call: list[str], path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "WHESL_HOME": str(place / "home"), "PYTHONPATH": path}
    return subprocess.run(
        [*call, *arguments],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.costly
@pytest.mark.parametrize(
    ("call", "path"), [(CALLS[0], ".:"), (CALLS[1], "{place}")], ids=["script", "module"]
)
def test_a_task_recovers_and_its_program_has_the_user_s_modules(
    place: Path, call: list[str], path: str
) -> None:
    path = path.format(place=place)
    started = _whesl(place, call, path, "coordinator", "start")
    assert started.returncode == 0, started.stderr
    done = _whesl(place, call, path, "exec", "-e", "rules.esl", "--", sys.executable, "program.py")
    assert (done.returncode, done.stdout) == (0, f"theirs {path}\n" * 2), done.stderr


def test_an_installation_that_is_reached_by_pythonpath_alone_is_found(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    code = "import whesl; whesl.begin(); import sys, beside; print(sys.path[0])"
    (tmp_path / "beside.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{root}:{tmp_path}"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == f"{root}\n"
