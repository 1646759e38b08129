"""What ELSE says is done when no spare is left, on real Slurm: FAIL fails, ESCALATE runs again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alike import alike
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import SlurmJob, node_lost

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
Make = Callable[..., SlurmBed]


@pytest.mark.parametrize("coordinator", alike([True, False]))
def test_else_fail_fails_at_once_and_only_once(slurm_bed: Make, tmp_path: Path, coordinator: bool) -> None:
    """It ended with 75 without a coordinator; with one the job was run again and ended with 0."""
    bed = slurm_bed(nodes=4)
    made = SlurmJob(bed, tmp_path, node_lost("ELSE FAIL"), nodes=2, coordinator=coordinator)
    made.ready()
    bed.kill_node("n02")
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 1" in made.text()
    assert "spares-exhausted" in made.last("finished")["reason"]
    bed.wait_job(made.job, "FAILED", timeout=100)
    assert bed.run("scontrol", "-o", "show", "job", made.job).stdout.count(" Restarts=0 ") == 1
    assert "start 1" not in made.text()


def test_else_pause_keeps_the_allocation(slurm_bed: Make, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=4)
    made = SlurmJob(bed, tmp_path, node_lost("ELSE PAUSE"), nodes=2)
    made.ready()
    bed.kill_node("n02")
    made.wait(lambda: "paused" in made.kinds(), "the pause")
    assert bed.job(made.job) == "RUNNING"
    bed.run("scancel", made.job)


@pytest.mark.parametrize("array", alike([("--array=3",), ()]), ids=["element", "job"])
def test_a_job_that_runs_again_goes_on_counting_and_keeps_its_output(
    slurm_bed: Make, tmp_path: Path, array: tuple[str, ...]
) -> None:
    """The count was 0 again, so that programs began from nothing."""
    bed = slurm_bed(nodes=4, slurmd_timeout=5)
    made = SlurmJob(
        bed,
        tmp_path,
        node_lost("ELSE ESCALATE"),
        nodes=2,
        coordinator=True,
        sbatch=("--requeue", "--open-mode=append", *array),
    )
    made.ready()
    bed.kill_node("n02")
    made.wait(lambda: made.starts(1), "the ranks of the next run", timeout=120)
    assert made.starts(0), "the output of the first run is gone"
    made.finish()
    bed.wait_job(made.job, "COMPLETED", timeout=100)
    assert " Restarts=1 " in bed.run("scontrol", "-o", "show", "job", made.job).stdout
    made.close()
