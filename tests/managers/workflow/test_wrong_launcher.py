"""A study whose ``mpirun`` line is wrong, under a rule that restarts on any failure: nothing is recovered.

It was once told "9 recovered in place", with minutes and node-hours saved, and why: "exit status 127".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from tests.managers.workflow.test_run import Place, place

__all__ = ["place"]

pytestmark = pytest.mark.slow
RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION ANYHOW JOB_LEVEL JOB [*] LIMIT 3
EXCEPTION DETECTION ANYHOW EXIT ANY
EXCEPTION RECOVERY STEP ANYHOW JOB JOB.REPLACE
"""
WRONG = "#!/bin/bash\n#SBATCH -N 1\necho preparing\nmpirunn -n 2 ./app\n"
OVERCOME = '#!/bin/bash\n#SBATCH -N 1\n[ "$WHESL_RESTART_COUNT" != 0 ] || exit 1\n'


def told(found: Place, rjms: str) -> None:
    found.write("rules.esl", RULES)
    scripts = [found.write("wrong.sh", WRONG), found.write("overcome.sh", OVERCOME)]
    words = ("run", "-e", "rules.esl", "--rjms", rjms, *scripts)
    done = commands.whesl(*words, env=found.environment, cwd=found.directory, timeout=200)
    output = done.stdout
    assert done.returncode != 0, output + done.stderr
    # Progress: one recovery, of the script that went on.
    assert output.count("recovered from ANYHOW") == 1, output
    assert "overcome: recovered from ANYHOW: the task completed" in output
    assert "wrong: raised ANYHOW: exit status 127; the last line: " in output
    assert "5 exceptions, 1 recovered in place, 3 restarted" in output
    # Status.
    (flow,) = json.loads(found.whesl("status", "--json"))["workflows"]
    tasks = {task["step"]: task for task in flow["tasks"]}
    assert (tasks["wrong"]["recovered"], tasks["overcome"]["recovered"]) == (0, 1)
    assert "mpirunn: command not found" in tasks["wrong"]["reason"]
    # Report.
    report = found.report()
    outcomes = sorted((row["task"].partition("/")[2], row["outcome"]) for row in report["exceptions"])
    assert outcomes == [("overcome", "recovered"), *[("wrong", "failed")], *[("wrong", "restarted")] * 3]
    totals = report["totals"]
    assert (totals["recovered"], totals["restarted"]) == (1, 3)
    assert totals["saved_seconds"] == sum(row["saved"] or 0 for row in report["exceptions"])
    assert all(row["saved"] is None for row in report["exceptions"] if row["outcome"] != "recovered")
    wrong = [row for row in report["exceptions"] if row["task"].endswith("/wrong")]
    for row in wrong:
        lines = [*row["last"].get("stdout", ()), *row["last"].get("stderr", ())]
        assert "preparing" in lines
        assert any("mpirunn: command not found" in line for line in lines)
        assert row["job"]
    # Events.
    kinds = [json.loads(line)["kind"] for line in found.whesl("events", "--json").splitlines()]
    assert kinds.count("recovered") == 1


@pytest.mark.variant  # the same words from Slurm below
def test_on_the_embedded_manager(place: Place) -> None:
    told(place, "local")


@pytest.mark.slurm
def test_on_slurm(place: Place, slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    bed = slurm_bed(nodes=2)
    place.environment |= {
        name: value for name, value in bed.environment.items() if name.startswith("SLURM") or name == "PATH"
    }
    told(place, "slurm")
