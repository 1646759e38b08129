"""A stall of the file system that all of a task's files are on ends no healthy job of several nodes.

On the embedded manager and on Flux; ``test_stops`` holds it on Slurm, with all else that may not run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from tests.equipment.nfsbed import NfsBed
from tests.runtime.isolator.test_flux import NODELOST, RANKS, Protected
from tests.runtime.isolator.test_nodes import RANKS as LOCAL_RANKS
from tests.runtime.isolator.test_nodes import Cluster, cluster, until
from whesl.runtime.isolator.task.taskdir import TaskDir

__all__ = ["cluster"]  # a fixture

pytestmark = [pytest.mark.slow, pytest.mark.processor, pytest.mark.timeout(300)]

STALLED = 7.0  # seconds; a lease has three
AFTERWARDS = 4.0  # what was noted meanwhile has its time to do harm
HARM = {"raised", "node", "lease-ended"}


def test_on_the_embedded_manager(nfs_bed: Callable[..., NfsBed], cluster: Cluster) -> None:
    nfs = nfs_bed("all")
    cluster.directory = TaskDir(nfs.at("all") / "task")
    cluster.submit(f"cd {cluster.place}\n{LOCAL_RANKS}")
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    nfs.change("all", stalled=True)
    time.sleep(STALLED)
    nfs.change("all", stalled=False)
    time.sleep(AFTERWARDS)
    assert not HARM & set(cluster.kinds())
    (cluster.place / "done").touch()
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert "status 0" in cluster.text() and cluster.text().count("rank on") == 2


@pytest.mark.flux
def test_on_flux(nfs_bed: Callable[..., NfsBed]) -> None:
    need_flux()
    nfs = nfs_bed("all")
    place = Path(nfs.at("all"))
    with FluxBed(nodes=4) as bed:
        if not bed.namespaces:
            pytest.skip("nodes of their own need root")
        made = Protected(bed, place, NODELOST, script=RANKS)
        made.running(0, 2)
        made.until(lambda: made.kinds().count("agent") == 2, "the agents")
        nfs.change("all", stalled=True)
        time.sleep(STALLED)
        nfs.change("all", stalled=False)
        time.sleep(AFTERWARDS)
        made.finish()
        assert not HARM & set(made.kinds()) and made.raised() == []
