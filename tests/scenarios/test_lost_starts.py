"""A job whose node dies before anybody but the scheduler knows of it: the user expects that it runs, once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.processes import send
from tests.scenarios.bed import Bed, slurm_bed
from tests.scenarios.studies import rules

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --time=5
#SBATCH --hold
#SBATCH --output=/dev/null
{more}
echo "$SLURM_JOB_ID.$SLURM_RESTART_COUNT on $SLURMD_NODENAME" >> {ran}
"""
STEPS = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --time=5 --hold --output={output}
srun bash -c 'for i in {{0..40}}; do echo "step $i"; sleep 0.5; done'
"""
NODE_LOST = """\
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""


@contextlib.contextmanager
def deaf(bed: Bed) -> Iterator[None]:
    """Stop the coordinator: no isolator is heard meanwhile."""
    stopped: list[psutil.Process] = bed.wait(
        lambda: bed.processes("whesl.runtime.coordinator"), "the coordinator"
    )
    for process in stopped:
        send(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in stopped:
            send(process, signal.SIGCONT)


def lose_before_it_is_heard(bed: Bed, job: str) -> str:
    """Let a held job start, and crash its script's node once an isolator is there and was not heard."""
    with deaf(bed):
        assert bed.call("scontrol", "release", job).returncode == 0
        # Stopped, since an isolator that nobody answers for ten seconds starts its task all the same.
        for isolator in bed.wait(lambda: bed.processes("whesl.runtime.isolator"), "an isolator"):
            send(isolator, signal.SIGSTOP)
        record = bed.jobs()[-1]
        host = record["BatchHost"]
        bed.crash(host)
        # As a health check would; by itself the scheduler takes its time. A node that is down alone may be
        # returned to service (24.05; it seems by an answer that is read late), and gets the job again.
        for state in ("DRAIN", "DOWN"):
            down = bed.call("scontrol", "update", f"NodeName={host}", f"State={state}", "Reason=crashed")
            assert down.returncode == 0, down.stderr
        bed.wait(lambda: not bed.processes("whesl.runtime.isolator"), "the end of the isolator")
    return host


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("bed", "spares"),
    [
        pytest.param("local", 1, id="local, with a spare", marks=pytest.mark.variant),
        pytest.param("slurm", 0, id="slurm, alone", marks=pytest.mark.slurm),
        pytest.param("slurm", 1, id="slurm, with a spare", marks=[pytest.mark.slurm, pytest.mark.variant]),
    ],
    indirect=["bed"],
)
def test_a_job_lost_before_it_was_heard_runs_once(bed: Bed, tmp_path: Path, spares: int) -> None:
    """With a spare, the job has two nodes, and runs on without its script until somebody else acts."""
    ran = tmp_path / "ran"
    study = tmp_path / "early.sh"
    study.write_text(SCRIPT.format(ran=ran, more=""))
    process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST), "--spares", str(spares))
    (job,) = bed.wait(bed.jobs, "the job")
    lost = lose_before_it_is_heard(bed, job["JobId"])
    run = bed.end(process, study, timeout=180)
    assert run.status == 0, run.output + bed.evidence()
    (line,) = ran.read_text().splitlines()
    assert line.startswith(f"{job['JobId']}.1 on ")
    assert not line.endswith(lost)
    (after,) = bed.jobs()
    assert (after["JobId"], after["JobState"], after["Restarts"]) == (job["JobId"], "COMPLETED", "1")
    assert after["Requeue"] == "1", "each job may run again here (JobRequeue), on which scripts count"
    assert run.exceptions() == []


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.variant  # tests/cli/test_unregistered_jobs.py holds each part
@pytest.mark.timeout(300)
def test_a_job_that_another_node_takes_over_is_not_run_again(tmp_path: Path) -> None:
    """No isolator is heard: the task begins all the same, and another node takes it over."""
    with slurm_bed(tmp_path, nodes=4) as bed:
        study, output = tmp_path / "early.sh", tmp_path / "output"
        study.write_text(STEPS.format(output=output))
        process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST), "--spares", "2")
        (job,) = bed.wait(bed.jobs, "the job")
        with deaf(bed):
            assert bed.call("scontrol", "release", job["JobId"]).returncode == 0
            bed.wait(lambda: output.exists() and "step 3" in output.read_text(), "steps", 90)
            bed.crash(bed.jobs()[-1]["BatchHost"])
            bed.wait(lambda: output.read_text().count("step 0") == 4, "the second attempt", 90)
        run = bed.end(process, study, timeout=180)
        assert run.status == 0, run.output + bed.evidence()
        bed.check_each_job_once(1)
        assert [row["exception"] for row in run.exceptions()] == ["NODELOST"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bed", ["local"], indirect=True)
def test_a_user_who_wants_no_second_run_gets_none(bed: Bed, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    study = tmp_path / "early.sh"
    study.write_text(SCRIPT.format(ran=ran, more="#SBATCH --no-requeue"))
    process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST), "--spares", "0")
    (job,) = bed.wait(bed.jobs, "the job")
    lose_before_it_is_heard(bed, job["JobId"])
    run = bed.end(process, study, timeout=180)
    assert run.status != 0
    assert not ran.exists()
    (after,) = bed.jobs()
    assert (after["JobState"], after["Restarts"]) == ("NODE_FAIL", "0")
    (task,) = run.report["tasks"]
    assert task["state"] == "failed"
    assert "NODE_FAIL" in task["reason"]
