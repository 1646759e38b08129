"""The contract of the port, on real Slurm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.managers.resource.slurm.conftest import job_environment
from whesl.managers.resource.port import Allocation
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.testing.contract_allocation import AllocationContract, NodeLossContract
from whesl.testing.contract_rjms import SchedulerContract, wait_until

pytestmark = pytest.mark.slurm


class TestScheduler(SchedulerContract):
    @pytest.fixture
    def scheduler(self, slurm: SlurmBed) -> SlurmScheduler:
        return SlurmScheduler(slurm.environment)

    @pytest.fixture
    def unreachable(self, slurm: SlurmBed, tmp_path: Path) -> SlurmScheduler:
        text = slurm.conf.read_text().splitlines()
        away = tmp_path / "slurm.conf"
        away.write_text(
            "\n".join(line for line in text if not line.startswith("SlurmctldPort")) + "\nSlurmctldPort=9\n"
        )
        environment = {**slurm.environment, "SLURM_CONF": str(away)}
        return SlurmScheduler(environment, timeout=3, settle=0.5)


@pytest.fixture(scope="module")
def inside(slurm: SlurmBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    environment = job_environment(slurm, tmp_path_factory.mktemp("job"), "--nodes=3", "--exclusive")
    yield environment
    slurm.run("scancel", environment["SLURM_JOB_ID"])
    slurm.wait_job(environment["SLURM_JOB_ID"], "CANCELLED")


class TestAllocation(AllocationContract):
    @pytest.fixture
    def allocation(self, inside: dict[str, str]) -> SlurmAllocation:
        return SlurmAllocation(inside)


class Told:
    """The slurmds' addresses are found out in the background."""

    tells_gone = True

    def prepare(self, allocation: Allocation) -> None:
        assert isinstance(allocation, SlurmAllocation)
        allocation.slurmds.learn()
        nodes = frozenset(allocation.describe().nodes)
        wait_until(lambda: allocation.slurmds.known == nodes, "the slurmds are known", 30)


class TestNodeLoss(Told, NodeLossContract):
    @pytest.fixture
    def bed(self, slurm_bed: Callable[..., SlurmBed]) -> SlurmBed:
        return slurm_bed(nodes=3, slurmd_timeout=5)

    @pytest.fixture
    def allocation(self, bed: SlurmBed, tmp_path: Path) -> SlurmAllocation:
        return SlurmAllocation(job_environment(bed, tmp_path, "--nodes=3", "--exclusive"))

    @pytest.fixture
    def kill_node(self, bed: SlurmBed) -> Callable[[str], None]:
        return bed.kill_node


class TestNodeCutOff(Told, NodeLossContract):
    """The same when the node lives on behind a broken network."""

    dies = False

    @pytest.fixture
    def bed(self, slurm_bed: Callable[..., SlurmBed]) -> SlurmBed:
        return slurm_bed(3, "net", slurmd_timeout=5)

    @pytest.fixture
    def allocation(self, bed: SlurmBed, tmp_path: Path) -> SlurmAllocation:
        return SlurmAllocation(job_environment(bed, tmp_path, "--nodes=3", "--exclusive"))

    @pytest.fixture
    def kill_node(self, bed: SlurmBed) -> Callable[[str], None]:
        return bed.cut
