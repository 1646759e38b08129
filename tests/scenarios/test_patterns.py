"""Scenarios 5, 6 and 11: recurring and multiple patterns, transformation, spent budgets, observing only."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.scenarios.bed import Bed
from tests.scenarios.studies import rules, step, write

# Prints its argument's lines, a pause after each, in its first `bad` attempts; then only "fine".
TALKER = """\
import os, sys, time
bad, lines = int(sys.argv[1]), sys.argv[2:]
if int(os.environ.get("WHESL_RESTART_COUNT", "0")) < bad:
    for line in lines:
        print(line, flush=True)
        time.sleep(0.05)
    time.sleep(60)
print("fine", flush=True)
"""


def talker(path: Path, **steps: list[str]) -> Path:
    """Write a study whose steps talk; the first of each list is the number of bad attempts."""
    program = path.parent / "talker.py"
    program.write_text(TALKER)
    commands = {
        name: f"{sys.executable} {program} " + " ".join(f"'{word}'" for word in words)
        for name, words in steps.items()
    }
    return write(path, path.parent, [step(name, command) for name, command in commands.items()])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_5_patterns_and_transformation(bed: Bed, tmp_path: Path) -> None:
    study = talker(
        tmp_path / "study.yaml",
        recurs=["1", "link flap on ib0", "working", "link flap on ib0", "link flap on ib1"],
        several=["1", "ECC error", "nothing", "machine check"],
        climbs=["3", "glitch"],
    )
    text = (
        "DECLARE EXCEPTION FLAP JOB_LEVEL JOB [recurs]\n"
        'EXCEPTION DETECTION FLAP LOG "link flap" stdout RECURRING 3 WITHIN 30\n'
        "EXCEPTION RECOVERY STEP FLAP JOB JOB.REPLACE {}\n"
        "DECLARE EXCEPTION MEMORY JOB_LEVEL JOB [several]\n"
        'EXCEPTION DETECTION MEMORY MULTIPLE ["ECC error", MATCH "machine +check"] stdout\n'
        "EXCEPTION RECOVERY STEP MEMORY JOB JOB.REPLACE {}\n"
        "DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [climbs] LIMIT 9\n"
        'EXCEPTION DETECTION GLITCH LOG "glitch" stdout\n'
        "EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE {}\n"
        "DECLARE EXCEPTION BROKEN JOB_LEVEL JOB [climbs]\n"
        "EXCEPTION DETECTION BROKEN EXCEPTION GLITCH 3 TIMES\n"
        'EXCEPTION RECOVERY STEP BROKEN JOB JOB.REPLACE {"environment": {"CAREFUL": "yes"}}\n'
    )
    run = bed.run(study, rules(tmp_path / "rules.esl", text))
    assert run.status == 0, run.output + bed.evidence()
    assert [row["exception"] for row in run.exceptions() if "climbs" in row["task"]] == [
        "GLITCH",
        "GLITCH",
        "BROKEN",
    ]
    assert len(run.exceptions("FLAP")) == len(run.exceptions("MEMORY")) == 1
    bed.check_each_job_once(3)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_6_a_spent_budget_fails_visibly(bed: Bed, tmp_path: Path) -> None:
    study = talker(tmp_path / "study.yaml", stubborn=["9", "glitch"])
    text = (
        "DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [stubborn] LIMIT 2 ELSE FAIL\n"
        'EXCEPTION DETECTION GLITCH LOG "glitch" stdout\n'
        "EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE {}\n"
    )
    run = bed.run(study, rules(tmp_path / "rules.esl", text))
    assert run.status != 0, "an unrecovered failure was hidden"
    assert len(run.exceptions("GLITCH")) == 3
    assert run.exceptions("GLITCH")[-1]["outcome"] == "failed"
    (job,) = bed.jobs()
    assert job["JobState"] == "FAILED"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_6_a_spent_budget_pauses_until_a_person_decides(bed: Bed, tmp_path: Path) -> None:
    study = talker(tmp_path / "study.yaml", stubborn=["2", "glitch"])
    text = (
        "DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [stubborn] LIMIT 1 ELSE PAUSE\n"
        'EXCEPTION DETECTION GLITCH LOG "glitch" stdout\n'
        "EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE {}\n"
    )
    process = bed.begin(study, rules(tmp_path / "rules.esl", text))

    def paused() -> bool:
        tasks = json.loads(bed.whesl("status", "--json").stdout)
        return '"paused"' in json.dumps(tasks)

    bed.wait(paused, "the pause")
    assert bed.jobs()[0]["JobState"] == "RUNNING", "the allocation was given up"
    assert bed.whesl("resume", "stubborn").returncode == 0
    run = bed.end(process, study)
    assert run.status == 0, run.output + bed.evidence()
    bed.check_each_job_once(1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_11_observing_touches_nothing(bed: Bed, tmp_path: Path) -> None:
    program = tmp_path / "talker.py"
    program.write_text('import time\nprint("glitch", flush=True)\ntime.sleep(2)\nprint("fine", flush=True)\n')
    study = write(tmp_path / "study.yaml", tmp_path, [step("talk", f"{sys.executable} {program}")])
    text = (
        "DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [talk]\n"
        'EXCEPTION DETECTION GLITCH LOG "glitch" stdout\n'
        "EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE {}\n"
    )
    run = bed.run(study, rules(tmp_path / "rules.esl", text), "--observe")
    assert run.status == 0, run.output + bed.evidence()
    (row,) = run.exceptions("GLITCH")
    assert row["outcome"] == "observed"
    output = next((bed.root(study) / "talk").glob("*.out")).read_text()
    assert output == "glitch\nfine\n", "the program ran more than once, or something was mixed in"
    bed.check_each_job_once(1)
