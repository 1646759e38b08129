"""The contract of the port, on a real PBS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.equipment.pbsbed import PbsBed
from whesl.managers.resource.launcher_shims.nodes_in_use import HIDDEN_NODES
from whesl.managers.resource.launcher_shims.pbs_rewriting import WHOLE
from whesl.managers.resource.pbs.allocation import PbsAllocation
from whesl.managers.resource.pbs.scheduler import PbsScheduler
from whesl.managers.resource.port import Allocation
from whesl.testing.contract_allocation import AllocationContract, NodeLossContract
from whesl.testing.contract_rjms import SchedulerContract

pytestmark = [pytest.mark.pbs, pytest.mark.xdist_group("pbs")]


class TestScheduler(SchedulerContract):
    @pytest.fixture
    def scheduler(self, bed: PbsBed) -> PbsScheduler:
        return PbsScheduler(bed.outside)

    @pytest.fixture
    def unreachable(self, bed: PbsBed, tmp_path: Path) -> PbsScheduler:
        away = tmp_path / "pbs.conf"
        lines = bed.conf.read_text().splitlines()
        kept = [line for line in lines if not line.startswith("PBS_BATCH_SERVICE_PORT")]
        away.write_text("\n".join([*kept, "PBS_BATCH_SERVICE_PORT=9", ""]))
        return PbsScheduler({**bed.outside, "PBS_CONF_FILE": str(away)}, timeout=5, settle=0.5)


@pytest.fixture(scope="module")
def inside(bed: PbsBed) -> Iterator[dict[str, str]]:
    environment = bed.job_environment(3)
    yield environment
    bed.delete(environment["PBS_JOBID"])


class TestAllocation(AllocationContract):
    node_name = "$WHESL_NODE"

    @pytest.fixture
    def allocation(self, inside: dict[str, str]) -> PbsAllocation:
        return PbsAllocation(inside)

    def check_hidden(
        self, environment: dict[str, str], allocation: Allocation, active: tuple[str, ...]
    ) -> None:
        nodes = allocation.describe().nodes
        assert environment[HIDDEN_NODES].split(",") == [node for node in nodes if node not in active]
        assert tuple(Path(environment[WHOLE]).read_text().split()) == nodes


class TestNodeLoss(NodeLossContract):
    node_name = "$WHESL_NODE"

    @pytest.fixture
    def allocation(self, bed: PbsBed) -> Iterator[PbsAllocation]:
        environment = bed.job_environment(3)
        yield PbsAllocation(environment)
        bed.delete(environment["PBS_JOBID"])
        bed.heal()

    @pytest.fixture
    def kill_node(self, bed: PbsBed) -> Callable[[str], None]:
        return bed.kill_node
