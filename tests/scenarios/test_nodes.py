"""Scenarios 3, 4 and 9: a node killed, a rank that hangs, and no spare left, under a parallel program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.scenarios.bed import Bed, Run
from tests.scenarios.studies import rules, solved, step, write

CYCLES = 200
SOLVER = f"$(LAUNCHER) $(PYTHON) $(PROGRAMS)/solver.py --cycles {CYCLES} --checkpoint 20 --pace 0.03"
LAMMPS = """\
last=$(ls -t ckpt.*.rst 2>/dev/null | sed -n 2p)
if [ -n "$last" ]; then
  srun --mpi=pmix -N 2 -n 2 lmp -log none -in {inputs}/in.restart -var rst "$last"
else
  srun --mpi=pmix -N 2 -n 2 lmp -log none -in {inputs}/in.start
fi
"""
# Also on Slurm with a Flux instance inside each job.
BEDS = pytest.mark.parametrize(
    "bed",
    [
        "local",
        pytest.param("slurm", marks=pytest.mark.slurm),
        pytest.param("flux", marks=pytest.mark.flux),
        pytest.param("slurm+flux", marks=[pytest.mark.slurm, pytest.mark.flux]),
    ],
    indirect=True,
)
NODE_LOST = """\
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [solve] LIMIT 2
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""


def solver_study(path: Path) -> Path:
    return write(path, path.parent, [step("solve", SOLVER, nodes=2, procs=4)])


def rank_nodes(workspace: Path) -> dict[int, str]:
    return {
        int(path.stem.split("-")[1]): words[0]
        for path in workspace.glob("rank-*.pid")
        if (words := path.read_text().split())  # it may not be written yet
    }


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_3_node_killed_under_the_parallel_program(bed: Bed, tmp_path: Path) -> None:
    expected = solved(CYCLES)
    study = solver_study(tmp_path / "study.yaml")
    workspace = bed.root(study) / "solve"
    process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST))
    bed.wait(lambda: (workspace / "checkpoint.json").exists(), "a checkpoint")
    at = rank_nodes(workspace)
    victim = next(node for node in at.values() if node != at[0])
    bed.crash(victim)
    run = bed.end(process, study)

    assert run.status == 0, run.output + bed.evidence()
    assert json.loads((workspace / "result.json").read_text()) == expected
    after = rank_nodes(workspace)
    assert victim not in after.values(), "the swap did not reach the launcher"
    assert len(set(after.values())) == 2
    (raised,) = run.exceptions("NODELOST")
    assert raised["outcome"] == "recovered"
    assert raised["node"] == victim
    text = (workspace / "solve.out").read_text() if (workspace / "solve.out").exists() else ""
    output = text or next(workspace.glob("*.out")).read_text()
    assert "start at cycle = 0 " in output
    assert output.count("start at cycle = ") == 2, output
    assert [job["JobState"] for job in bed.jobs()] == ["COMPLETED"]
    nodes = json.loads(bed.whesl("nodes", "--json").stdout)
    assert victim in json.dumps(nodes)


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bed", ["slurm"], indirect=True)
def test_3_first_node_killed_and_the_job_goes_on(bed: Bed, tmp_path: Path) -> None:
    """The isolator, the script and its srun die with the node; the job was run again for that."""
    expected = solved(CYCLES)
    command = SOLVER.replace("0.03", "0.06")  # the agents are there before its end
    study = write(tmp_path / "study.yaml", tmp_path, [step("solve", command, nodes=2, procs=4)])
    workspace = bed.root(study) / "solve"
    process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST))
    bed.wait(lambda: (workspace / "checkpoint.json").exists(), "a checkpoint")
    bed.wait(lambda: bed.whesl("events").stdout.count("  agent  ") == 2, "the agents")
    victim = bed.jobs()[-1]["BatchHost"]
    bed.crash(victim)
    run = bed.end(process, study, timeout=250)

    assert run.status == 0, run.output + bed.evidence()
    assert json.loads((workspace / "result.json").read_text()) == expected
    assert victim not in rank_nodes(workspace).values()
    raised = [(row["node"], row["outcome"]) for row in run.exceptions("NODELOST")]
    assert raised == [(victim, "recovered")], run.output + bed.evidence()
    bed.check_each_job_once(1)
    # The job's end terminated what had ended it, which was told as a failure to end it.
    assert "it could not be ended with its status" not in bed.evidence()


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.processor
@pytest.mark.timeout(600)
@pytest.mark.variant
@pytest.mark.parametrize("bed", ["slurm"], indirect=True)
def test_3_node_killed_under_lammps(bed: Bed, tmp_path: Path, require_mpi: None) -> None:
    """LAMMPS under OpenMPI, with its own restart files."""
    inputs = tmp_path / "inputs"
    shutil.copytree(Path(__file__).parent / "lammps", inputs)
    command = LAMMPS.format(inputs=inputs)
    expected = undisturbed(inputs / "in.start", tmp_path / "undisturbed")
    study = write(tmp_path / "study.yaml", tmp_path, [step("solve", command, nodes=2, procs=2)])
    workspace = bed.root(study) / "solve"
    process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST))
    bed.wait(lambda: len(list(workspace.glob("ckpt.*.rst"))) >= 3, "restart files", timeout=120)
    job = bed.jobs()[-1]
    nodes = bed.call("scontrol", "show", "hostnames", job["NodeList"]).stdout.split()
    victim = next(node for node in nodes[:2] if node != job["BatchHost"])
    bed.crash(victim)
    run = bed.end(process, study, timeout=200)
    assert run.status == 0, run.output + bed.evidence()
    assert (workspace / "final.dump").read_text() == expected
    assert run.exceptions("NODELOST")[0]["node"] == victim
    assert [job["JobState"] for job in bed.jobs()] == ["COMPLETED"]


def undisturbed(script: Path, directory: Path) -> str:
    """Return what the same two ranks write on one host, through its memory.

    Without a cluster: a run by Maestro alone once had not ended after 200 s, and nobody was there to see why.
    """
    directory.mkdir()
    shared = {"OMPI_MCA_btl": "vader,self", "OMPI_MCA_mpi_yield_when_idle": "1"}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(
        ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", "lmp", "-log", "none", "-in", script],
        env={**os.environ, **shared, **root},
        cwd=directory,
        stdout=subprocess.DEVNULL,
        timeout=200,
        check=True,
    )
    return (directory / "final.dump").read_text()


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_4_a_stopped_rank_is_a_hang(bed: Bed, tmp_path: Path) -> None:
    expected = solved(CYCLES)
    study = solver_study(tmp_path / "study.yaml")
    workspace = bed.root(study) / "solve"
    text = (
        "DECLARE EXCEPTION HANG JOB_LEVEL JOB [solve] LIMIT 2\n"
        'EXCEPTION DETECTION HANG LOG "cycle = " stdout TIMEOUT 4 WARMUP 120\n'
        "EXCEPTION RECOVERY STEP HANG JOB NODE.REPLACE\n"
    )
    process = bed.begin(study, rules(tmp_path / "rules.esl", text))
    bed.wait(lambda: (workspace / "checkpoint.json").exists(), "a checkpoint")
    victim = bed.rank(3)
    victim.suspend()
    run = bed.end(process, study)
    assert run.status == 0, run.output + bed.evidence()
    assert json.loads((workspace / "result.json").read_text()) == expected
    (raised,) = run.exceptions("HANG")
    assert raised["outcome"] == "recovered"
    assert not victim.is_running(), "the stopped rank outlived its attempt"
    stacks = list(Path(bed.environment["WHESL_HOME"]).glob("tasks/*/*/attempt-*/stacks/*"))
    assert stacks, "no stack was taken down before the kill"
    assert any("solver.py" in path.read_text() for path in stacks)


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_9_spares_exhausted(bed: Bed, tmp_path: Path) -> None:
    """Two nodes die and there is one spare: the coordinator has the same job run again, once, same id.

    Flux runs no job a second time: there the task fails at once, for everybody to see, and once.
    """
    expected = solved(CYCLES)
    study = solver_study(tmp_path / "study.yaml")
    workspace = bed.root(study) / "solve"
    text = NODE_LOST.replace("LIMIT 2", "LIMIT 3 ELSE ESCALATE")
    process = bed.begin(study, rules(tmp_path / "rules.esl", text), "--spares", "1")
    bed.wait(lambda: (workspace / "checkpoint.json").exists(), "a checkpoint")
    at = rank_nodes(workspace)
    first = next(node for node in at.values() if node != at[0])
    bed.crash(first)
    bed.wait(lambda: first not in rank_nodes(workspace).values(), "the swap")
    output = next(workspace.glob("*.out"))
    lines = len(output.read_text().splitlines())
    bed.wait(lambda: len(output.read_text().splitlines()) > lines + 4, "progress after the swap")
    at = rank_nodes(workspace)
    second = next(node for node in at.values() if node != at[0])
    if bed.rjms == "slurm":  # two nodes are left: it waited for a third one, its spare, for ever
        bed.call("scontrol", "update", "NodeName=n[05-08]", "State=DRAIN", "Reason=test")
    bed.crash(second)
    run = bed.end(process, study, timeout=180)
    jobs = bed.jobs()
    assert len(jobs) == 1, "a second job was submitted"
    if bed.rjms == "flux":
        failed_visibly(run, jobs[0])
        return
    assert run.status == 0, run.output + bed.evidence()
    assert json.loads((workspace / "result.json").read_text()) == expected
    assert jobs[0]["JobState"] == "COMPLETED"
    assert jobs[0].get("Restarts") == "1", "the same job has to run again, once"


def failed_visibly(run: Run, job: dict[str, str]) -> None:
    """The job, the workflow manager and the report all say that the task failed, and why."""
    assert run.status != 0, "an unrecovered failure was hidden"
    assert job["JobState"] == "FAILED"
    assert [row["outcome"] for row in run.exceptions("NODELOST")] in (
        ["restarted", "escalated"],
        ["recovered", "escalated"],
    )
    (finished,) = [e for e in run.events if e["kind"] == "finished" and e["data"].get("told_by")]
    assert finished["data"]["state"] == "failed"
    assert "again under the same id" in finished["data"]["reason"]
    assert run.kinds().count("requeue-decided") == 1
