"""A job of srun alone ends with its srun, whenever that was submitted and however late it connects."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.channel import Channel
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.request_handler import OWNER_GRACE, Service
from whesl.managers.resource.embedded.scheduler.job_and_node_records import JobSpec, Partition, Settings
from whesl.managers.resource.embedded.store import Store
from whesl.model.states import JobState


@pytest.mark.parametrize("submitted", [0.0, OWNER_GRACE - 0.1, OWNER_GRACE + 100.0])
@pytest.mark.parametrize("connects", [True, False])
def test_srun_has_its_time_to_connect(tmp_path: Path, submitted: float, connects: bool) -> None:
    """A job was cancelled that was submitted just before the server looked for the sruns of a restart."""
    cluster = Cluster(str(tmp_path / "c"))
    cluster.prepare()
    settings = Settings(nodes=("n01",), partitions=(Partition(name="p", nodes=("n01",)),))
    (tmp_path / "c/settings.json").write_bytes(msgspec.json.encode(settings))
    service = Service(cluster, Store(cluster.join("state.db")), lambda _: None)
    ours, theirs = socket.socketpair()
    srun = Channel(ours)
    now = service.started + submitted
    service.handle(srun, protocol.Submit(spec=JobSpec(interactive=True)), now)
    wake = service.check_owners(now + 0.2)
    assert wake <= now + OWNER_GRACE
    assert service.core.jobs[1].state is JobState.PENDING
    if connects:
        service.handle(srun, protocol.WatchJob(job="1", owner=True), now + 1.0)
    service.check_owners(now + OWNER_GRACE)
    assert service.core.jobs[1].state is (JobState.PENDING if connects else JobState.CANCELLED)
    theirs.close()
    srun.close()
