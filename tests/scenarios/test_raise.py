"""Exceptions raised from outside, on the embedded cluster, a real Slurm and a real Flux."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import send
from tests.scenarios.bed import Bed
from tests.scenarios.studies import rules, step, write

BEDS = pytest.mark.parametrize(
    "bed",
    [
        "local",
        pytest.param("slurm", marks=pytest.mark.slurm),
        pytest.param("flux", marks=pytest.mark.flux),
    ],
    indirect=True,
)
# Only ever raised from outside.
PREDICTED = """\
DECLARE EXCEPTION PREDICTED JOB_LEVEL JOB [solve] LIMIT 2
EXCEPTION DETECTION PREDICTED LOG "this is printed by nobody" stdout
EXCEPTION RECOVERY STEP PREDICTED JOB NODE.REPLACE
"""
SHAKEN = """\
DECLARE EXCEPTION SHAKEN JOB_LEVEL JOB [one, two] LIMIT 2
EXCEPTION DETECTION SHAKEN LOG "this is printed by nobody" stdout
EXCEPTION RECOVERY STEP SHAKEN JOB JOB.REPLACE
"""
# Each rank says where it runs, and ends when it is told to.
PROGRAM = """\
import os, pathlib, socket, sys, time
place, name = pathlib.Path(sys.argv[1]), sys.argv[2]
rank = os.environ.get("SLURM_PROCID", os.environ.get("FLUX_TASK_RANK", "0"))
node = os.environ.get("SLURMD_NODENAME", socket.gethostname())
with (place / f"{name}.{rank}").open("a") as file:
    file.write(os.environ.get("WHESL_RESTART_COUNT", "0") + " " + node + chr(10))
while not (place / "end").exists():
    time.sleep(0.05)
"""


def began(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def program(place: Path) -> Path:
    path = place / "program.py"
    path.write_text(PROGRAM)
    return path


def tasks_of(bed: Bed) -> list[dict[str, Any]]:
    flows = json.loads(bed.whesl("status", "--json").stdout)["workflows"]
    return [task for flow in flows for task in flow["tasks"]]


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_raised_on_a_node_it_is_replaced(bed: Bed, tmp_path: Path) -> None:
    command = f"$(LAUNCHER) {sys.executable} {program(tmp_path)} {tmp_path} rank"
    study = write(tmp_path / "study.yaml", tmp_path, [step("solve", command, nodes=2, procs=2)])
    process = bed.begin(study, rules(tmp_path / "rules.esl", PREDICTED))
    ranks = [tmp_path / "rank.0", tmp_path / "rank.1"]
    bed.wait(lambda: all(map(began, ranks)), "both ranks")
    (task,) = bed.wait(lambda: [t for t in tasks_of(bed) if t["nodes"]], "the task's nodes")
    job = str(task["job_id"])
    victim = task["nodes"][1]
    wrong = bed.whesl("raise", "PREDICTD", "--job", job)
    assert wrong.returncode == 1 and "did you mean: PREDICTED" in wrong.stderr
    for _ in range(2):
        # Told twice, as by a monitoring tool that had no answer.
        done = bed.whesl("raise", "PREDICTED", "--node", victim, "--evidence", "DIMM 3 fails", "--id", "a7")
        assert done.returncode == 0, done.stderr
    bed.wait(lambda: all(len(began(rank)) == 2 for rank in ranks), "the second attempt")
    gone = bed.whesl("raise", "PREDICTED", "--node", victim)
    assert gone.returncode == 1 and f"no running task uses the node '{victim}'" in gone.stderr
    (tmp_path / "end").touch()
    run = bed.end(process, study)
    assert run.status == 0, run.output + bed.evidence()
    (raised,) = run.exceptions("PREDICTED")
    assert (raised["node"], raised["kind"], raised["outcome"]) == (victim, "external", "recovered")
    assert "DIMM 3 fails" in raised["detail"]
    over = bed.whesl("raise", "PREDICTED", "--job", job)
    assert over.returncode == 1 and f"job {job} has ended" in over.stderr


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_coordinator_and_isolators_are_killed_on_the_way(bed: Bed, tmp_path: Path) -> None:
    """Each of both tasks has it once, whoever was killed after it was told, and told again."""
    command = f"{sys.executable} {program(tmp_path)} {tmp_path} "
    study = write(tmp_path / "study.yaml", tmp_path, [step(n, command + n) for n in ("one", "two")])
    process = bed.begin(study, rules(tmp_path / "rules.esl", SHAKEN))
    both = [tmp_path / "one.0", tmp_path / "two.0"]
    bed.wait(lambda: all(map(began, both)), "both tasks")
    several = bed.whesl("raise", "SHAKEN")
    assert several.returncode == 1 and "2 tasks have the exception SHAKEN" in several.stderr
    for number, task in enumerate(("one", "two")):
        # The isolators are away while it is told, the coordinator is killed before they have it.
        for isolator in bed.processes("whesl.runtime.isolator"):
            send(isolator, signal.SIGSTOP)
        done = bed.whesl("raise", "SHAKEN", "--task", task, "--id", f"r{number}")
        assert done.returncode == 0, done.stderr
        for coordinator in bed.processes("whesl.runtime.coordinator"):
            send(coordinator, signal.SIGKILL)
        for isolator in bed.processes("whesl.runtime.isolator"):
            send(isolator, signal.SIGKILL)
        again = bed.whesl("raise", "SHAKEN", "--task", task, "--id", f"r{number}", "--wait")
        assert again.returncode == 0, again.stderr
        bed.wait(lambda: len(began(both[number])) == 2, "the second attempt")  # noqa: B023 - at once
    (tmp_path / "end").touch()
    run = bed.end(process, study, timeout=150)
    assert run.status == 0, run.output + bed.evidence()
    assert [len(began(path)) for path in both] == [2, 2], "not exactly one restart of each"
    assert sorted(row["task"].partition("/")[2] for row in run.exceptions("SHAKEN")) == ["one", "two"]
