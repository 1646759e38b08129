"""Elements of a job array that a user has submitted, with ``whesl exec`` in the script: one is lost early."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from tests.processes import mentioning, originals, send, variable
from tests.waiting import HOLD_LIFTED

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
SCRIPT = """\
#!/bin/bash
export WHESL_HOME={home}
{python} -m whesl exec --workflow wf --step app --instance "$SLURM_ARRAY_TASK_ID" --script - <<'EOT'
#!/bin/bash
echo "$SLURM_ARRAY_TASK_ID.$WHESL_RESTART_COUNT begun" >> {ran}
until [ -e {done} ]; do sleep 0.1; done
echo "$SLURM_ARRAY_TASK_ID.$WHESL_RESTART_COUNT ended" >> {ran}
EOT
"""


def test_an_element_that_is_lost_before_it_registers_runs_again_once(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Slurm runs it again by itself; the other elements, and the record of each, are as if nothing was."""
    bed = slurm_bed(nodes=3, slurmd_timeout=5)
    home, ran, done = tmp_path / "home", tmp_path / "ran", tmp_path / "done"
    home.mkdir(mode=0o700)
    environment = {**os.environ, **bed.environment, "WHESL_HOME": str(home)}

    def whesl(*words: str) -> str:
        told = commands.whesl(*words, env=environment)
        assert told.returncode == 0, told.stderr
        return told.stdout

    def said(word: str) -> list[str]:
        return [line for line in ran.read_text().split("\n") if word in line] if ran.exists() else []

    whesl("coordinator", "start")
    coordinator = originals(mentioning("whesl.runtime.coordinator"))
    mine = [process for process in coordinator if str(home) in variable(process, "WHESL_HOME")]
    try:
        for process in mine:
            send(process, signal.SIGSTOP)  # no element is heard
        script = SCRIPT.format(home=home, python=sys.executable, ran=ran, done=done)
        job = bed.submit(
            script, "--array=1-2", "-N1", "--exclusive", "--requeue", f"--output={tmp_path}/out-%a"
        )
        bed.wait_for(lambda: len(said("begun")) == 2, "both elements")
        lost = bed.run("squeue", "-h", "-j", f"{job}_2", "-o", "%B").stdout.strip()
        bed.kill_node(lost)
        for process in mine:
            send(process, signal.SIGCONT)
        bed.wait_for(lambda: bed.job(f"{job}_2") == "PENDING", "its return to the queue", timeout=60)
        bed.run("scontrol", "update", f"jobid={job}_2", HOLD_LIFTED)
        bed.wait_for(lambda: "2.1 begun" in said("begun"), "its second run", timeout=60)
        done.touch()
        for element in (1, 2):
            bed.wait_for(lambda: f"{element}.{element - 1} ended" in said("ended"), "its end")  # noqa: B023
        bed.wait_for(
            lambda: {row["state"] for row in json.loads(whesl("report", "--json"))["tasks"]} == {"completed"},
            "the report",
        )
        rows = {row["task"]: row for row in json.loads(whesl("report", "--json"))["tasks"]}
        assert sorted(rows) == ["wf/app_1", "wf/app_2"]
        assert sorted(said("begun")) == ["1.0 begun", "2.0 begun", "2.1 begun"]
        assert sorted(said("ended")) == ["1.0 ended", "2.1 ended"]
    finally:
        whesl("coordinator", "stop")


SHARED_RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*]
EXCEPTION DETECTION CRASH LOG "solver failed" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
SHARED_SCRIPT = """\
#!/bin/bash
export WHESL_HOME={home}
{python} -m whesl exec -e {rules} --step "app-$SLURM_ARRAY_TASK_ID" -- bash -c '
own="$SLURM_ARRAY_TASK_ID.$WHESL_RESTART_COUNT"
for line in 1 2 3 4 5 6 7 8 9 10; do echo "$own line $line"; sleep 0.3; done
[ "$own" != 1.0 ] || {{ echo "solver failed"; sleep 600; }}'
"""


def test_elements_that_print_to_one_file_are_judged_by_their_own_lines(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    bed = slurm_bed(nodes=2)
    home, out, rules = tmp_path / "home", tmp_path / "all.out", tmp_path / "rules.esl"
    home.mkdir(mode=0o700)
    rules.write_text(SHARED_RULES)
    script = SHARED_SCRIPT.format(home=home, python=sys.executable, rules=rules)
    bed.submit(script, "--array=1-2", "-N1", "--exclusive", f"--output={out}", "--open-mode=append")
    tasks = home / "tasks" / "exec"

    def ended() -> bool:
        return all((tasks / f"app-{number}" / "result.json").exists() for number in (1, 2))

    bed.wait_for(ended, "both elements")
    bed.wait_for(lambda: out.read_text().count(" line 10\n") == 3, "the last of the output")
    lines = out.read_text().splitlines()
    for attempt in ("1.0", "1.1", "2.0"):
        own = [line.split()[-1] for line in lines if line.startswith(f"{attempt} ")]
        assert own == [str(number) for number in range(1, 11)]
    assert lines.count("solver failed") == 1
    summaries = [(tasks / f"app-{number}" / "summary").read_text() for number in (1, 2)]
    assert ["raised CRASH" in each for each in summaries] == [True, False]
