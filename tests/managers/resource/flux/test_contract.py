"""The contract of the port, on a real Flux."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from whesl.managers.resource.flux.allocation import FluxAllocation
from whesl.managers.resource.flux.scheduler import FluxScheduler
from whesl.managers.resource.launcher_shims.flux_node_swap import constraint, ranks_of, rewrite_flux
from whesl.managers.resource.port import Allocation, JobRequest, TellsEvents
from whesl.model.errors import RefusedError
from whesl.testing.contract_allocation import AllocationContract, NodeLossContract
from whesl.testing.contract_rjms import SchedulerContract

pytestmark = pytest.mark.flux


@pytest.fixture(scope="module")
def bed() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(nodes=8) as bed:
        yield bed


def opened(environ: dict[str, str]) -> Iterator[FluxAllocation]:
    allocation = FluxAllocation(environ)
    yield allocation
    allocation.close()


class TestScheduler(SchedulerContract):
    can_requeue = False

    @pytest.fixture
    def scheduler(self, bed: FluxBed) -> Iterator[FluxScheduler]:
        scheduler = FluxScheduler(bed.outside)
        yield scheduler
        scheduler.close()

    @pytest.fixture
    def unreachable(self, bed: FluxBed) -> FluxScheduler:
        away = {**bed.outside, "FLUX_URI": f"local://{bed.directory}/nobody"}
        return FluxScheduler(away, timeout=5, settle=0.5)

    def test_a_request_is_tried_and_nothing_runs(
        self, bed: FluxBed, scheduler: FluxScheduler, tmp_path: Path
    ) -> None:
        """``flux submit --dry-run`` checks nothing; what Flux refuses bought the cloud instead."""
        script = tmp_path / "job.sh"
        script.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/runs\n")
        request = JobRequest(token="trial", script=str(script), output="/dev/null")
        with pytest.raises(RefusedError, match="not a valid queue"):
            scheduler.try_request(msgspec.structs.replace(request, partition="nix"))
        scheduler.try_request(request)
        bed.run("flux", "queue", "drain")
        assert not (tmp_path / "runs").exists()


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
        assert ranks_of(environment["WHESL_FLUX_RANKS"]) == {node: rank for rank, node in enumerate(nodes)}
        hidden = [node for node in environment["WHESL_HIDDEN_NODES"].split(",") if node]
        assert hidden == [node for node in nodes if node not in active]
        words = ["run", "-N2", "./solve"]
        here = {**environment, "FLUX_URI": environment["WHESL_FLUX_URI"], "WHESL_NODELIST": ",".join(active)}
        assert f"--requires={constraint(active, ranks_of(environment['WHESL_FLUX_RANKS']))}" in rewrite_flux(
            words, here
        )

    def test_it_tells_news(self, allocation: Allocation) -> None:
        assert isinstance(allocation, TellsEvents)


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
