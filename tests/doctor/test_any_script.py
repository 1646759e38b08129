"""Rules of every kind are held against scripts of any words, without an error."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.doctor.test_script_facts import WORDS
from tests.language import corpus
from tests.language.corpus import DETECT, RECOVER
from tests.language.test_surroundings import HEADER
from whesl import language
from whesl.doctor.job_script.checks import ScriptChecks

RULES = "\n".join(
    [
        *(f"{DETECT}{each}" for each in corpus.DETECTIONS if not each.startswith("EXCEPTION")),
        f'{DETECT}OUTPUT "*.a" OLDER THAN "b"',
        f"{DETECT}EXIT SIGNAL USR1",
        f'{RECOVER}JOB JOB.CHECKPOINT {{"trigger": "/a/b", "written": "/a/c"}}',
        f'{RECOVER}JOB NODE.REPLACE {{"wait": 9}}',
        f'{RECOVER}JOB JOB.REPLACE {{"environment": {{"A": "1"}}, "command_append": "x", "nodes": 2}}',
    ]
)
LATIN = "; echo 'caf\udce9'; srun a > caf\udce9.log;"
PARTS = (
    LATIN,
    "trap python3 -c 'print(1)' EXIT",
    "lmp -log",
    "srun --export=",
    "timeout",
    "mv a",
    "sed 's/^/[/' |",
)


@pytest.mark.costly
@settings(max_examples=examples(100), deadline=None)
@example(
    [LATIN]
)  # not UTF-8, as 'surrogateescape' gives it: whesl run ended with a traceback at an expression
@example([PARTS[1]])  # a program that stands among the words of another command
@example(["srun", "|", "local"])  # a command of a pipe that has no words
@given(st.lists(st.sampled_from((*WORDS, *PARTS)), max_size=20))
def test_rules_are_held_against_any_script(words: list[str]) -> None:
    spec = language.parse(f"{HEADER}{RULES}\n", "t.esl").spec
    assert spec is not None
    checks = ScriptChecks(
        {"run": "#!/bin/bash\n#SBATCH -N 2 --time=9\n" + " ".join(words) + "\n"}, lambda _step, _name: ""
    )
    for exception in spec.exceptions:
        for each in exception.detections:
            assert all(unfit.message for unfit in checks.findings(each, exception, [], {"run"}))
        for step in exception.steps:
            assert all(unfit.message for unfit in checks.undone(step, exception, {"run"}))
