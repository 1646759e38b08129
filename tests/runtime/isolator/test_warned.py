"""What ``whesl exec`` says of doubtful rules: each time, from the cache too, and with ``--strict``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION BAD JOB_LEVEL JOB [run]
EXCEPTION DETECTION BAD %s
EXCEPTION RECOVERY STEP BAD JOB JOB.REPLACE
"""


def told(place: Path, *options: str) -> tuple[int, str, str]:
    """Return a task's exit status, its output and its errors."""
    words = [
        sys.executable,
        "-m",
        "whesl",
        "exec",
        "--no-summary",
        "--no-coordinator",
        "-e",
        "r.esl",
        *options,
    ]
    environment = {**os.environ, "WHESL_HOME": str(place / "home"), "HERE": str(place)}
    done = subprocess.run(
        [*words, "--", "echo", "ran"],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("detection", "said"),
    [
        ('LOG "fatal.*error" stderr', "r.esl:5: warning[ESL057]: LOG finds a text as it stands"),
        pytest.param(
            'LOG "fatal" file "/not/there/run.log"',
            "r.esl:5: warning[ESL081]: there is no directory /not/there",
            marks=pytest.mark.variant,
        ),
        pytest.param(
            'LOG "fatal" file "$NOT_THERE/run.log"',
            "the variable NOT_THERE is not defined",
            marks=pytest.mark.variant,
        ),
        ('OUTPUT "$HERE/r.esl" MISSING', ""),  # cached rules took the variable as it stands
    ],
)
@pytest.mark.costly
def test_warnings_come_each_time_and_strict_makes_errors_of_them(
    tmp_path: Path, detection: str, said: str
) -> None:
    (tmp_path / "r.esl").write_text(RULES % detection)
    for _ in range(2):
        status, output, errors = told(tmp_path)
        assert (status, output) == (0, "ran\n"), errors
        assert (said in errors) if said else not errors, errors
    status, output, errors = told(tmp_path, "--strict")
    if said:
        assert (status, output) == (2, ""), errors
        assert said in errors and "nothing is started" in errors
        assert told(tmp_path, "--quiet") == (0, "ran\n", "")
    else:
        assert (status, output, errors) == (0, "ran\n", "")


def test_a_job_that_no_rule_is_about(tmp_path: Path) -> None:
    (tmp_path / "r.esl").write_text(RULES % "EXIT CODE 3")
    assert told(tmp_path, "--name", "run", "--strict") == (0, "ran\n", "")
    status, _, errors = told(tmp_path, "--name", "rum", "--strict")
    assert status == 2 and "no exception is declared for the job rum" in errors
