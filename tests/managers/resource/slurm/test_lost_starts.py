"""Jobs whose script Slurm loses before anything of it was heard; and what becomes of them once it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.managers.resource.slurm.command import DeniedError, SlurmCommands
from whesl.managers.resource.slurm.scheduler import SlurmScheduler, requeues_preempted
from whesl.model.states import JobState
from whesl.testing.contract_rjms import wait_until

pytestmark = pytest.mark.slurm

Maker = Callable[..., SlurmBed]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def submit(bed: SlurmBed, directory: Path, *options: str) -> str:
    """Submit as the command in front of sbatch does; each run writes its environment, and then a line."""
    script = (
        f"env -0 > {directory}/environment; echo $SLURMD_NODENAME >> {directory}/runs; "
        "while :; do sleep 0.2; done"
    )
    return bed.submit(script, "--no-kill", "--exclusive", *options)


def inside(directory: Path) -> SlurmAllocation:
    """Return the inside face of the job that was submitted."""
    entries = (directory / "environment").read_text().split("\0")
    return SlurmAllocation(dict(entry.split("=", 1) for entry in entries if entry))


def lose(bed: SlurmBed, node: str) -> None:
    """Crash a node, and have Slurm know it at once.

    It is drained, too, as by a site's health check: a node that is merely down was returned to service a
    moment later (24.05, with ReturnToService; it seems by an answer of the living node that was read late).
    The job was started on the dead node, and counted one more restart, in which nothing of it ran.
    """
    bed.kill_node(node)
    for state in ("DRAIN", "DOWN"):
        done = bed.run("scontrol", "update", f"NodeName={node}", f"State={state}", "Reason=crashed")
        assert done.returncode == 0, done.stderr


def test_slurm_runs_a_lost_job_again_until_that_is_withdrawn(slurm_bed: Maker, tmp_path: Path) -> None:
    """It is withdrawn where the site allows it to no job by default; elsewhere scripts may count on it."""
    bed = slurm_bed(nodes=2, settings={"JobRequeue": "0"})
    scheduler = SlurmScheduler(bed.environment)
    job = submit(bed, tmp_path, "--requeue")
    wait_until(lambda: len(lines(tmp_path / "runs")) == 1, "the job runs")
    lose(bed, lines(tmp_path / "runs")[0])

    def again() -> bool:
        scheduler.lift_hold(scheduler.jobs([job])[job])
        return len(lines(tmp_path / "runs")) == 2

    wait_until(again, "the job runs again", 60)
    assert scheduler.jobs([job])[job].restarts == 1
    inside(tmp_path).forbid_requeue()
    assert not scheduler.requeue_lost(job)
    lose(bed, lines(tmp_path / "runs")[1])
    wait_until(lambda: scheduler.jobs([job])[job].state is JobState.NODE_FAIL, "the loss is told")


def test_what_slurm_requeues_when_it_preempts_is_not_withdrawn(slurm_bed: Maker, tmp_path: Path) -> None:
    """It would cancel the job, which without WHESL it runs again."""
    bed = slurm_bed(nodes=1, settings={"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"})
    for partition, tier in (("low", 1), ("high", 10)):
        made = ("create", f"PartitionName={partition}", "Nodes=ALL", f"PriorityTier={tier}")
        assert bed.run("scontrol", *made).returncode == 0
    job = submit(bed, tmp_path, "--requeue", "--partition=low")
    wait_until(lambda: len(lines(tmp_path / "runs")) == 1, "the job runs")
    inside(tmp_path).forbid_requeue()
    assert "Requeue=1" in bed.run("scontrol", "show", "job", job).stdout
    bed.submit("sleep 1", "--exclusive", "--partition=high")
    scheduler = SlurmScheduler(bed.environment)
    wait_until(lambda: scheduler.jobs([job])[job].state is JobState.PENDING, "it waits to run again", 60)


class Told(SlurmCommands):
    """A cluster of which only its settings are known."""

    def __init__(self, config: str, partition: str) -> None:
        super().__init__({})
        self._said = {"config": config, "partition": partition}

    def run(self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
        said = self._said[command[command.index("show") + 1]]
        if said == "denied":
            raise DeniedError("scontrol: Access/permission denied")
        return said


@pytest.mark.parametrize(
    ("kind", "mode", "partition", "requeued"),
    [
        ("preempt/none", "REQUEUE", "PartitionName=p PreemptMode=REQUEUE", False),
        ("preempt/qos", "GANG,REQUEUE", "PartitionName=p PreemptMode=OFF", True),
        ("preempt/partition_prio", "CANCEL", "PartitionName=p PreemptMode=REQUEUE State=UP", True),
        ("preempt/partition_prio", "CANCEL", "PartitionName=p PreemptMode=CANCEL", False),
        ("preempt/partition_prio", "SUSPEND,GANG", "denied", False),
    ],
)
def test_whether_slurm_requeues_what_it_preempts(
    kind: str, mode: str, partition: str, requeued: bool
) -> None:
    commands = Told("", partition)
    settings = {"PreemptMode": mode, "PreemptType": kind}
    assert requeues_preempted(commands, settings, "p") is requeued
    assert requeues_preempted(commands, settings, "") is (requeued and "REQUEUE" in mode)


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


def test_a_job_whose_prolog_failed_is_released(slurm_bed: Maker, tmp_path: Path) -> None:
    """Slurm drains the node, and holds the job until somebody releases it: it had waited for ever."""
    prolog = tmp_path / "prolog"
    prolog.write_text('#!/bin/sh\n[ "$(hostname)" != n01 ]\n')
    prolog.chmod(0o755)
    bed = slurm_bed(nodes=2, settings={"Prolog": str(prolog), "PrologFlags": "Alloc"})
    scheduler = SlurmScheduler(bed.environment)
    job = submit(bed, tmp_path, "--requeue", "-N", "1")
    seen = set()

    def runs() -> bool:
        record = scheduler.jobs([job])[job]
        seen.add(record.reason.partition(":")[0])
        scheduler.lift_hold(record)
        return bool(lines(tmp_path / "runs"))

    wait_until(runs, "the job runs", 60)
    assert "launch failed requeued held" in seen
    assert lines(tmp_path / "runs") == ["n02"]
