"""Whole runs on a real Slurm, and on EC2 and S3 as the strict fixture stands in for them."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cloud.runner import worlds
from whesl.cloud.core.plan_records import Domain, Settings
from whesl.cloud.providers.port import Ec2Settings
from whesl.cloud.runner import run_lifecycle as runs
from whesl.cloud.runner.events_and_commands import Limits
from whesl.cloud.runner.site_file import Cloud, Cluster, Processes, Site
from whesl.cloud.runner.state import RunState
from whesl.model.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.equipment.slurmbed import SlurmBed
    from tests.equipment.strictcloud import StrictCloud


def carried_out(place: Path, site: Site, *, nodes: int, instances: int) -> RunState:
    """Run a small workflow, and compare its results."""
    workflow = worlds.two_stages(2, 0.3, place.parent / "ledger")
    settings = Settings(long=60.0, short=1.0, rebalance=False)
    plan = worlds.plan(
        workflow, nodes=nodes, instances=instances, now=time.time(), settings=settings, backup=False
    )
    limits = Limits(platforms=(worlds.PLATFORM,), again=0.5)
    runs.begin(place, workflow, worlds.initial(workflow, plan, 1.0), limits, site)
    data = place / "cluster" / "data"
    data.mkdir(parents=True)
    (data / "input").write_bytes(b"input")
    state = runs.carry_out(place)
    assert state.ended is not None and state.ended.complete, state.ended
    wanted = worlds.expected(workflow, data)
    assert (data / "gather" / "last.out").read_bytes() == wanted["gather/last.out"]
    assert not any(executor.alive for executor in state.executors.values())
    return state


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Path]:
    """A short path, which sockets below it need."""
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="whesl-run-"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.slurm
@pytest.mark.slow
def test_a_real_slurm_and_processes(slurm: SlurmBed, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of one node each beside instances; all are gone at the end."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    site = Site(cloud=Cloud(processes=Processes(start_delay=0.1, capacity=3)), poll=0.3, again=0.5)
    state = carried_out(short / "run", site, nodes=1, instances=1)
    assert {one.domain for one in state.executors.values()} == {Domain.HPC, Domain.CLOUD}
    assert not slurm.run("squeue", "-h").stdout.strip()


@pytest.mark.slurm
@pytest.mark.slow
def test_what_a_real_slurm_refuses_is_told_and_nothing_is_paid_for(
    slurm: SlurmBed, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The cloud was paid for the whole workflow, of which nothing was planned there.
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    before = slurm.run("squeue", "-h", "-t", "all", "-o", "%i").stdout
    wrong = (
        Cluster(partition="nix"),
        Cluster(constraint="gpu"),
        Cluster(gres="gpu:1"),
        Cluster(memory="99T"),
    )
    for number, cluster in enumerate(wrong):
        place = short / f"run{number}"
        site = Site(cluster=cluster, cloud=Cloud(processes=Processes(start_delay=0.1)))
        with pytest.raises(RefusedError, match="nothing was started") as raised:
            carried_out(place, site, nodes=1, instances=1)
        assert "--cloud-instead" in raised.value.hint
        state = runs.state_of(place)
        assert state.started is None and not state.executors
    assert slurm.run("squeue", "-h", "-t", "all", "-o", "%i").stdout == before


def on_ec2(short: Path, cloud: StrictCloud) -> Site:
    return Site(
        cluster=Cluster(scheduler="local", directory=str(short / "site")),
        cloud=Cloud(
            provider="ec2",
            store="s3://bucket/run",
            whesl=f"{sys.executable} -m whesl",
            ec2=Ec2Settings(region="us-east-1", image="ami-12c6146b", endpoint=cloud.endpoint),
        ),
        poll=0.5,
        again=0.5,
    )


@pytest.mark.slow
def test_a_refused_key_is_told_before_anything_is_started(cloud: StrictCloud, short: Path) -> None:
    """Nothing is asked of the cluster either."""
    from whesl.cloud.providers.ec2 import client_of
    from whesl.managers.resource.embedded import daemons

    client_of("s3", "us-east-1", cloud.endpoint).create_bucket(Bucket="bucket")
    cloud.refuse["DescribeInstances"] = "AuthFailure"
    cluster = worlds.local_cluster(short / "site", 1)
    try:
        with pytest.raises(RefusedError, match="AuthFailure") as raised:
            carried_out(short / "run", on_ec2(short, cloud), nodes=1, instances=1)
        assert "access key" in raised.value.hint
    finally:
        daemons.stop(cluster)
        del cloud.refuse["DescribeInstances"]
    state = runs.state_of(short / "run")
    assert state.started is None and not state.executors


@pytest.mark.slow
def test_instances_of_ec2_with_a_store_in_s3(cloud: StrictCloud, short: Path) -> None:
    """User data starts the executor, which fetches and sends its files by S3; nothing is left there."""
    from whesl.cloud.providers.ec2 import client_of

    client = client_of("s3", "us-east-1", cloud.endpoint)
    client.create_bucket(Bucket="bucket")
    site = on_ec2(short, cloud)
    from whesl.managers.resource.embedded import daemons

    cluster = worlds.local_cluster(short / "site", 1)
    try:
        state = carried_out(short / "run", site, nodes=0, instances=1)
    finally:
        daemons.stop(cluster)
    assert {one.domain for one in state.tasks.values()} == {Domain.CLOUD}
    left = client.list_objects_v2(Bucket="bucket", Prefix="run/").get("Contents", [])
    assert not left
