"""The contract of the port, on the local resource manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.managers.resource.embedded.conftest import Bed, MakeBed, wait_until
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.adapter import LocalAllocation, LocalScheduler
from whesl.testing.contract_allocation import AllocationContract, NodeLossContract
from whesl.testing.contract_rjms import SchedulerContract


def job_environment(bed: Bed, directory: Path, *options: str) -> dict[str, str]:
    """Start a job that sleeps, and return the environment that its script got."""
    target = directory / "environment"
    script = f"env -0 > {target}.new && mv {target}.new {target}; while :; do sleep 0.2; done"
    job_id = bed.submit(directory, script, "--no-kill", "--no-requeue", *options)
    wait_until(target.exists, f"job {job_id} runs")
    environment = dict(entry.split("=", 1) for entry in target.read_text().split("\0") if entry)
    assert environment["SLURM_JOB_ID"] == job_id
    return environment


class TestScheduler(SchedulerContract):
    @pytest.fixture
    def scheduler(self, bed: Bed) -> LocalScheduler:
        return LocalScheduler(bed.cluster.path)

    @pytest.fixture
    def unreachable(self, tmp_path: Path) -> LocalScheduler:
        return LocalScheduler(str(tmp_path / "nothing-here"), patience=0.2)


@pytest.fixture(scope="module")
def inside(make_bed: MakeBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    bed = make_bed(3)
    environment = job_environment(bed, tmp_path_factory.mktemp("job"), "--nodes=3", "--exclusive")
    yield environment
    bed.run("scancel", environment["SLURM_JOB_ID"])


class TestAllocation(AllocationContract):
    @pytest.fixture
    def allocation(self, inside: dict[str, str]) -> LocalAllocation:
        return LocalAllocation(inside)


class TestNodeLoss(NodeLossContract):
    tells_gone = True

    @pytest.fixture
    def own(self, make_bed: MakeBed) -> Bed:
        return make_bed(3, node_timeout=3.0)

    @pytest.fixture
    def allocation(self, own: Bed, tmp_path: Path) -> LocalAllocation:
        return LocalAllocation(job_environment(own, tmp_path, "--nodes=3", "--exclusive"))

    @pytest.fixture
    def kill_node(self, own: Bed) -> Callable[[str], None]:
        def kill(name: str) -> None:
            daemons.kill_node(own.cluster, name)

        return kill


class TestNodeHangs(TestNodeLoss):
    """The same when a node does not die but stands still."""

    dies = False

    @pytest.fixture
    def kill_node(self, own: Bed) -> Callable[[str], None]:
        return lambda name: daemons.hang_node(own.cluster, name)
