"""Jobs that may be run again until their isolator was heard, on the local resource manager."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.managers.resource.embedded.conftest import MakeBed, wait_until
from tests.waiting import written
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.adapter import LocalScheduler
from whesl.model.errors import RefusedError
from whesl.model.states import JobState


def test_a_lost_job_runs_again_unless_its_user_wants_that_no_more(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(3, node_timeout=3.0)
    scheduler = LocalScheduler(bed.cluster.path)
    runs = tmp_path / "runs"
    script = f"echo $SLURMD_NODENAME >> {runs}; sleep 300"
    job = bed.submit(tmp_path, script, "--requeue", "--no-kill", "-N1", "--exclusive")
    wait_until(lambda: written(runs), "the job runs")
    daemons.kill_node(bed.cluster, runs.read_text().split()[0])

    def again() -> bool:
        scheduler.lift_hold(scheduler.jobs([job])[job])
        return len(runs.read_text().split()) == 2

    wait_until(again, "the job runs again, without the hold of two minutes")
    bed.run("scontrol", "update", f"jobid={job}", "Requeue=0")
    assert not scheduler.requeue_lost(job)
    with pytest.raises(RefusedError, match="disabled"):
        scheduler.requeue(job)
    daemons.kill_node(bed.cluster, runs.read_text().split()[1])
    wait_until(lambda: scheduler.jobs([job])[job].state is JobState.NODE_FAIL, "the loss is told")


def test_a_job_of_several_nodes_is_run_again_when_told(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(4, node_timeout=3.0)
    scheduler = LocalScheduler(bed.cluster.path)
    runs = tmp_path / "runs"
    script = f"echo $SLURMD_NODENAME >> {runs}; sleep 300"
    job = bed.submit(tmp_path, script, "--requeue", "--no-kill", "-N2", "--exclusive")
    wait_until(lambda: written(runs), "the job runs")
    daemons.kill_node(bed.cluster, runs.read_text().split()[0])
    wait_until(lambda: scheduler.jobs([job])[job].batch_host_lost, "the batch host is lost")
    assert scheduler.requeue_lost(job)

    def again() -> bool:
        scheduler.lift_hold(scheduler.jobs([job])[job])
        return len(runs.read_text().split()) == 2

    wait_until(again, "the job runs again")
    # A job that has begun since the look was an error here, once in many runs.
    record = scheduler.jobs([job])[job]
    scheduler.lift_hold(msgspec.structs.replace(record, state=JobState.PENDING, reason="BeginTime"))
