"""Elements of job arrays, on real Slurm: each is asked about, changed and ended alone.

An element's job has an id as any job, and Slurm names it ``<array>_<index>``. The last element that starts
has the array's own id, by which Slurm's commands mean all elements. Of the others the coordinator heard "the
scheduler does not know it any more", and a task that was silent failed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import job_of
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.model.states import JobState
from whesl.testing.contract_rjms import wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
Make = Callable[..., SlurmBed]


def environments(bed: SlurmBed, place: Path) -> dict[str, dict[str, str]]:
    """Start an array of two elements, the last of which submits a job; return the environment of each."""
    note = f"env -0 > {place}/$name.new; mv {place}/$name.new {place}/$name; while :; do sleep 0.2; done"
    inner = bed.script(f"#!/bin/bash\nname=inner; {note}\n")
    more = f'[ "$name" = 1 ] || sbatch --output=/dev/null {inner}\n'
    script = f"#!/bin/bash\nname=$SLURM_ARRAY_TASK_ID\n{more}{note}\n"
    bed.submit(script, "--array=1-2", "--requeue", "--no-kill")
    found = {}
    for name in ("1", "2", "inner"):
        file = place / name
        wait_until(file.exists, f"{name} runs", 60)
        found[name] = dict(entry.split("=", 1) for entry in file.read_text().split("\0") if entry)
    return found


def test_each_element_is_a_job_of_its_own(slurm_bed: Make, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=3, settings={"JobRequeue": "0"})
    started = environments(bed, tmp_path)
    scheduler = SlurmScheduler(bed.environment)
    inside = {name: SlurmAllocation(environment) for name, environment in started.items()}
    ids = {name: allocation.describe().job_id for name, allocation in inside.items()}
    assert len(set(ids.values())) == 3
    assert started["inner"]["SLURM_ARRAY_TASK_ID"] == "2", "Slurm hands on the array's variables"
    assert ids["inner"] == started["inner"]["SLURM_JOB_ID"]
    for name, environment in started.items():
        assert ids[name] == job_of(environment)
        found = scheduler.jobs([ids[name]])
        assert list(found) == [ids[name]]
        assert found[ids[name]].id == ids[name]
        assert found[ids[name]].nodes == (environment["SLURMD_NODENAME"],)
        assert set(inside[name].node_states()) == {environment["SLURMD_NODENAME"]}
    assert len(scheduler.jobs(list(ids.values()))) == 3
    inside["2"].forbid_requeue()
    assert not scheduler.requeue_lost(ids["2"])
    inside["inner"].remark("exec/inner", "exec/inner failed")
    told = bed.run("squeue", "-h", "-r", "-o", "%i %k").stdout
    assert told.count("exec/inner failed") == 1
    assert f"{ids['inner']}  [whesl] exec/inner failed" in told
    scheduler.cancel(ids["2"])
    wait_until(lambda: scheduler.jobs([ids["2"]])[ids["2"]].state is JobState.CANCELLED, "its end", 60)
    assert scheduler.jobs([ids["1"]])[ids["1"]].state is JobState.RUNNING
    scheduler.requeue(ids["1"])
    wait_until(lambda: scheduler.jobs([ids["1"]])[ids["1"]].restarts == 1, "it runs again", 60)
    assert scheduler.jobs([ids["inner"]])[ids["inner"]].restarts == 0
