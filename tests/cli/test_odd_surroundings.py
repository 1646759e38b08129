"""Commands where the current directory is gone, or no file may be written."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.cli.test_foreign_modules import CALLS, RULES

if TYPE_CHECKING:
    from pathlib import Path


def _told(place: Path, script: str) -> str:
    (place / "rules.esl").write_text(RULES)
    environment = {**os.environ, "WHESL_HOME": str(place / "home"), "WHESL": CALLS[0][0], "PLACE": str(place)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=place, env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done
    return done.stderr


def test_a_current_directory_that_was_removed_is_told_of(tmp_path: Path) -> None:
    script = (
        'mkdir gone && cd gone && rmdir "$PLACE/gone" && exec "$WHESL" exec -e "$PLACE/rules.esl" -- true'
    )
    assert _told(tmp_path, script) == (
        "whesl: the current directory was removed\n  hint: change to one that is there (cd), and try again\n"
    )


def test_a_limit_of_files_sizes_is_told_with_its_size(tmp_path: Path) -> None:
    told = _told(tmp_path, f'ulimit -f 1; exec "$WHESL" exec -e rules.esl -- {sys.executable} -c 0')
    assert told.endswith(": no file may grow beyond 1024 bytes\n  hint: ulimit -f unlimited\n"), told


def test_children_s_ends_are_seen_where_the_caller_ignores_them() -> None:
    """Below a daemon that ignores SIGCHLD, each command of Slurm that failed had the status 0."""
    script = (
        "import contextlib, signal, subprocess; from whesl.cli import main\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "with contextlib.suppress(SystemExit): main(['--version'])\n"
        "print(subprocess.run(['false']).returncode)"
    )
    words = [sys.executable, "-c", script]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.endswith("\n1\n")
