"""Jobs whose script Slurm loses before anything of it was heard; and what becomes of them once it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whesl.model.states import JobState
from whesl.rjms.slurm import SlurmAllocation, SlurmScheduler
from whesl.testing.contract_rjms import wait_until
from whesl.testing.slurmbed import SlurmBed

pytestmark = pytest.mark.slurm

Maker = Callable[..., SlurmBed]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def submit(bed: SlurmBed, directory: Path, *options: str) -> str:
    """Submit as the command in front of sbatch does; each run writes a line down."""
    script = (
        f"echo $SLURMD_NODENAME >> {directory}/runs; env -0 > {directory}/environment; "
        "while :; do sleep 0.2; done"
    )
    return bed.submit(script, "--no-kill", "--exclusive", *options)


def lose(bed: SlurmBed, node: str) -> None:
    """Crash a node, and have Slurm know it at once."""
    bed.kill_node(node)
    done = bed.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=crashed")
    assert done.returncode == 0, done.stderr


def test_slurm_runs_a_lost_job_again_until_that_is_withdrawn(slurm_bed: Maker, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=2)
    scheduler = SlurmScheduler(bed.environment)
    job = submit(bed, tmp_path, "--requeue")
    wait_until(lambda: len(lines(tmp_path / "runs")) == 1, "the job runs")
    lose(bed, lines(tmp_path / "runs")[0])

    def again() -> bool:
        scheduler.lift_hold(scheduler.jobs([job])[job])
        return len(lines(tmp_path / "runs")) == 2

    wait_until(again, "the job runs again", 60)
    assert scheduler.jobs([job])[job].restarts == 1
    entries = (tmp_path / "environment").read_text().split("\0")
    SlurmAllocation(dict(entry.split("=", 1) for entry in entries if entry)).forbid_requeue()
    assert not scheduler.requeue_lost(job)
    lose(bed, lines(tmp_path / "runs")[1])
    wait_until(lambda: scheduler.jobs([job])[job].state is JobState.NODE_FAIL, "the loss is told")


def test_a_job_of_several_nodes_would_run_on_without_its_script(slurm_bed: Maker, tmp_path: Path) -> None:
    """Slurm runs this one again only when it is told to."""
    bed = slurm_bed(nodes=4)
    scheduler = SlurmScheduler(bed.environment)
    job = submit(bed, tmp_path, "--requeue", "--nodes=2")
    wait_until(lambda: len(lines(tmp_path / "runs")) == 1, "the job runs")
    first = lines(tmp_path / "runs")[0]
    lose(bed, first)
    wait_until(lambda: scheduler.jobs([job])[job].batch_host_lost, "the batch host is lost")
    assert scheduler.jobs([job])[job].state is JobState.RUNNING
    assert scheduler.requeue_lost(job)

    def again() -> bool:
        scheduler.lift_hold(scheduler.jobs([job])[job])
        return len(lines(tmp_path / "runs")) == 2

    wait_until(again, "the job runs again", 60)
    record = scheduler.jobs([job])[job]
    assert (record.restarts, first in record.nodes) == (1, False)
    forbidden = submit(bed, tmp_path, "--no-requeue")
    wait_until(lambda: scheduler.jobs([forbidden])[forbidden].state is JobState.RUNNING, "it runs")
    assert not scheduler.requeue_lost(forbidden)
