"""What a beginner types for ``whesl exec``, and what is said to it; nothing is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def call(directory: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "whesl", "exec", *words]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rules.esl", "--", "./app", "in put"), "whesl exec -e rules.esl -- ./app 'in put'"),
        (("--", "rules.esl"), "whesl exec -e rules.esl -- COMMAND ARGUMENTS"),
        (("./app", "--version"), "whesl exec -e rules.esl -- COMMAND ARGUMENTS"),
        (("--script", "nothere.sh"), "the script nothere.sh cannot be read: No such file or directory\n"),
        (("--workflow", "a/b", "--", "true"), "--workflow a/b: a workflow's name has no slash"),
    ],
    ids=["rules without -e", "rules alone", "its own options", "no script", "a slash"],
)
def test_slips(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    status, shown = call(tmp_path, *words)
    assert status == 2
    assert said in shown
