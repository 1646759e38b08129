"""Arguments, directories and output files may be named by any bytes: each was a traceback once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.files.non_utf8_text import carried, original

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION BROKEN JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION BROKEN LOG "it broke" stdout
EXCEPTION RECOVERY STEP BROKEN JOB JOB.REPLACE {}
"""
PROGRAM = r"""
import os, sys, time
print([os.fsencode(word).hex() for word in (os.getcwd(), os.environ["PWD"], *sys.argv[1:])], flush=True)
if not os.path.exists("again"):
    open("again", "w").close()
    print("it broke", flush=True)
    time.sleep(60)
"""


@given(st.binary(max_size=40).filter(lambda data: b"\0" not in data))
def test_any_bytes_are_carried_and_turned_back(data: bytes) -> None:
    word = os.fsdecode(data)
    kept = json.loads(json.dumps(carried(word)).encode())
    kept.encode()
    assert os.fsencode(original(kept)) == data


@given(st.text(st.characters(min_codepoint=0x10DC70, max_codepoint=0x10DD10), max_size=5))
def test_characters_that_stand_for_bytes_are_carried_too(word: str) -> None:
    assert os.fsencode(original(carried(word))) == word.encode()


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(2))
def test_a_task_and_its_restart(seed: int, tmp_path: Path) -> None:
    """Each attempt has the same words and directory, and the output is where the user sent it."""
    rng = random.Random(seed)

    def name() -> bytes:
        return bytes(rng.choice([*range(0x21, 0x2E), *range(0x30, 0x100)]) for _ in range(12)) + b"\xff"

    folder = tmp_path / os.fsdecode(name())
    folder.mkdir()
    words = [name(), "é".encode(), name()]
    rules = folder / os.fsdecode(name() + b".esl")
    rules.write_text(RULES)
    (tmp_path / "program.py").write_text(PROGRAM)
    output = folder / os.fsdecode(name())
    call = (
        sys.executable,
        "-m",
        "whesl",
        "exec",
        "--no-coordinator",
        "-e",
        str(rules),
        "--",
    )
    with output.open("wb") as file:
        done = subprocess.run(
            [*call, sys.executable, str(tmp_path / "program.py"), *words],
            cwd=folder,
            env={**os.environ, "WHESL_HOME": str(tmp_path / "home"), "PWD": str(folder)},
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
            timeout=100,
        )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    place = os.fsencode(folder)
    expected = str([word.hex() for word in (place, place, *words)]).encode()
    assert output.read_bytes().splitlines() == [expected, b"it broke", expected]
