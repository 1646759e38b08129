"""The contract of the port, on a real Flux."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import need_flux
from whesl.rjms.flux import FluxAllocation
from whesl.rjms.flux.records import ranks_of
from whesl.rjms.port import Allocation, Newsgiver
from whesl.testing.contract_rjms import AllocationContract, NodeLossContract
from whesl.testing.fluxbed import FluxBed

pytestmark = pytest.mark.flux


@pytest.fixture(scope="module")
def bed() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(nodes=4) as bed:
        yield bed


def opened(environ: dict[str, str]) -> Iterator[FluxAllocation]:
    allocation = FluxAllocation(environ)
    yield allocation
    allocation.close()


@pytest.fixture(scope="module")
def inside(bed: FluxBed) -> Iterator[dict[str, str]]:
    environment = bed.nested(3)
    yield environment
    bed.run("flux", "cancel", environment["FLUX_ENCLOSING_ID"])


class InsideContract(AllocationContract):
    node_name = "$WHESL_NODE"

    def check_hidden(
        self, environment: dict[str, str], allocation: Allocation, active: tuple[str, ...]
    ) -> None:
        nodes = allocation.describe().nodes
        used = {rank for rank, node in enumerate(nodes) if node in active}
        assert ranks_of(environment["WHESL_FLUX_RANKS"]) == used
        assert ranks_of(environment["WHESL_FLUX_HIDDEN_RANKS"]) == set(range(len(nodes))) - used

    def test_it_tells_news(self, allocation: Allocation) -> None:
        assert isinstance(allocation, Newsgiver)


class TestBatchJob(InsideContract):
    """In the instance of a batch job of three nodes."""

    @pytest.fixture
    def allocation(self, inside: dict[str, str]) -> Iterator[FluxAllocation]:
        yield from opened(inside)


class TestStartedInstance(InsideContract):
    """In an instance that no other one started."""

    @pytest.fixture
    def allocation(self, bed: FluxBed) -> Iterator[FluxAllocation]:
        yield from opened(bed.environment)


class TestNodeLoss(NodeLossContract):
    node_name = "$WHESL_NODE"
    tells_gone = True

    @pytest.fixture
    def bed(self, tmp_path: Path) -> Iterator[FluxBed]:
        need_flux()
        with FluxBed(nodes=3) as bed:
            yield bed

    @pytest.fixture
    def allocation(self, bed: FluxBed) -> Iterator[FluxAllocation]:
        yield from opened(bed.nested(3))

    @pytest.fixture
    def kill_node(self, bed: FluxBed) -> Callable[[str], None]:
        return bed.kill_node
