"""Tasks that run together and exchange data, as a user runs them: a Maestro study, and two scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.alike import alike
from tests.managers.workflow.test_run import Place, place

__all__ = ["place"]

HEAD = """\
DECLARE ENTITY DEPENDENT_JOB, JOB
DECLARE EXCEPTION_TYPE WORKFLOW_LEVEL, JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]
"""
RESTARTED = """\
DECLARE EXCEPTION BROKEN WORKFLOW_LEVEL JOB [sim]
EXCEPTION DETECTION BROKEN LOG "it broke" stdout
EXCEPTION RECOVERY STEP BROKEN DEPENDENT_JOB JOB.REPLACE {"environment": {"TURN": "second"}}
EXCEPTION RECOVERY STEP BROKEN JOB JOB.REPLACE
"""
MOVED = """\
DECLARE EXCEPTION FULL JOB_LEVEL JOB [sim]
EXCEPTION DETECTION FULL LOG "No space left on device" stdout
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
"""
# Each has begun before anything happens, and ends only when it has heard of the other's recovery.
SIM = """\
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  while [ ! -e {begun} ]; do sleep 0.1; done
  echo "it broke: No space left on device"; sleep 100
fi
"""
ANALYSIS = """\
touch {begun}
while [ "$TURN" != second ] && ! grep -q roomy "$WHESL_RECONFIGURE"; do sleep 0.1; done
echo "${{TURN:-first}} $WHESL_RESTART_COUNT" > {seen}
"""
STUDY = """\
description: {{name: coupled, description: two steps that know nothing of each other}}
batch: {{type: slurm, host: local, bank: none, queue: main}}
study:
  - name: sim
    description: write
    run:
      cmd: |
{sim}
      nodes: 1
  - name: analysis
    description: read
    run:
      cmd: |
{analysis}
      nodes: 1
"""


def commands(directory: Path) -> tuple[str, str]:
    names = {name: str(directory / name) for name in ("begun", "seen")}
    return SIM.format(**names), ANALYSIS.format(**names)


def run(place: Place, kind: str, rules: str) -> tuple[int, str]:
    sim, analysis = commands(place.directory)
    if kind == "maestro":
        sim, analysis = (
            "".join(f"        {line}\n" for line in part.splitlines()) for part in (sim, analysis)
        )
        place.write("study.yaml", STUDY.format(sim=sim.rstrip(), analysis=analysis.rstrip()))
        place.write("rules.esl", f"{HEAD}DECLARE COUPLED JOB [sim, analysis]\n{rules}")
        status, output, errors = place.run("study.yaml", "--out", "out")
    else:
        (place.directory / "out").mkdir()
        for name, part in (("sim", sim), ("analysis", analysis)):
            place.write(f"{name}.sh", f"#!/bin/bash\n#SBATCH --nodes=1 --output={name}.out\n{part}")
        place.write("rules.esl", HEAD + rules)
        status, output, errors = place.run("sim.sh", "analysis.sh:with=sim")
    return status, output + errors


@pytest.mark.slow
@pytest.mark.parametrize("kind", alike(["maestro", "scripts"]))
def test_a_coupled_task_is_restarted_with_the_other(place: Place, kind: str) -> None:
    status, said = run(place, kind, RESTARTED)
    assert status == 0, said
    assert (place.directory / "seen").read_text() == "second 1\n"
    assert "analysis: is restarted, since a task that it is coupled with was" in said
    assert [task["state"] for task in place.report()["tasks"]] == ["completed"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", alike(["maestro", "scripts"]))
def test_a_coupled_task_is_told_of_new_paths(place: Place, kind: str) -> None:
    (place.directory / "roomy").mkdir(mode=0o700)
    arguments = {"filesystem": str(place.directory / "roomy"), "defaultpath": str(place.directory / "out")}
    status, said = run(place, kind, MOVED % json.dumps(arguments))
    assert status == 0, said
    assert (place.directory / "seen").read_text() == "first 0\n"
    assert "analysis: not told that sim was restarted: no signal is named" in said
