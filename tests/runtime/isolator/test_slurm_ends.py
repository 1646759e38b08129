"""How jobs end that are not the task's own doing, on real Slurm: time limits, preemption, failing prologs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alike import alike
from tests.equipment.slurmbed import SlurmBed
from tests.processes import send, words
from tests.runtime.isolator.slurmjob import HEAD, SlurmJob, node_lost
from tests.waiting import HOLD_LIFTED

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
Make = Callable[..., SlurmBed]
CALLED = f"""\
{HEAD}DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app] LIMIT 3 BACKOFF 300
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""


def test_the_time_limit_comes_in_the_middle_of_a_recovery(slurm_bed: Make, tmp_path: Path) -> None:
    made = SlurmJob(slurm_bed(nodes=2), tmp_path, CALLED, nodes=2, sbatch=("--time=1",))
    made.ready()
    with made.out.open("a") as out:
        out.write("called\n")
    made.wait(lambda: "relaunched" in made.kinds(), "the back-off")
    made.wait(lambda: "finished" in made.kinds(), "the time limit", timeout=150)
    ended = made.last("finished")
    assert (ended["code"], ended["state"]) == (143, "cancelled")
    assert ended["reason"] == "terminated, as at the time limit"
    assert made.kinds().count("attempt") == 1, "nothing is started after it"
    made.bed.wait_job(made.job, "TIMEOUT", timeout=100)


def test_the_time_limit_comes_while_starts_are_refused(slurm_bed: Make, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=3)
    made = SlurmJob(bed, tmp_path, node_lost())
    made.ready()
    bed.pause_controller()
    bed.kill_node("n02")
    made.wait(lambda: "refused" in made.kinds(), "a refusal")
    for process in bed.processes("n01"):
        if "whesl.runtime.isolator" in words(process):
            send(process, signal.SIGTERM)
    made.wait(lambda: "finished" in made.kinds(), "the end")
    starts = made.kinds().count("attempt")
    bed.resume_controller()
    assert made.last("finished")["code"] == 143
    assert made.kinds().count("attempt") == starts and "confirmed" not in made.kinds()


@pytest.mark.parametrize("coordinator", alike([True, False]))
def test_a_preempted_job_goes_on_where_it_was(slurm_bed: Make, tmp_path: Path, coordinator: bool) -> None:
    bed = slurm_bed(nodes=2, settings={"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"})
    with bed.conf.open("a") as conf:
        conf.write("PartitionName=urgent Nodes=ALL State=UP PriorityTier=9\n")
    bed.run("scontrol", "reconfigure")
    made = SlurmJob(
        bed,
        tmp_path,
        node_lost(),
        nodes=2,
        coordinator=coordinator,
        sbatch=("--requeue", "--exclusive", "--open-mode=append"),
    )
    made.ready()
    urgent = bed.submit(
        "#!/bin/bash\nsleep 1\n", *("-N", "2", "-p", "urgent", "--exclusive", "--output=/dev/null")
    )
    bed.wait_job(urgent, "COMPLETED")
    bed.wait_for(lambda: bed.job(made.job) == "PENDING", "the requeue")
    bed.run("scontrol", "update", f"jobid={made.job}", HOLD_LIFTED)
    made.wait(lambda: made.starts(1), "the ranks of the next run", timeout=100)
    made.finish()
    bed.wait_job(made.job, "COMPLETED", timeout=100)
    assert made.starts(0) and "status 0" in made.text()
    if coordinator:
        assert '"completed"' in made.whesl("status", "--json").stdout
        made.close()
