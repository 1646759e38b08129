"""The machine without a resource manager."""

from __future__ import annotations

import os

import pytest

from whesl.managers.resource.port import StepRequest
from whesl.managers.resource.single_host import HostAllocation
from whesl.model.errors import RefusedError
from whesl.testing.contract_allocation import AllocationContract


class TestHostAllocation(AllocationContract):
    node_name = "$(hostname)"

    @pytest.fixture
    def allocation(self) -> HostAllocation:
        return HostAllocation(os.environ)


def test_a_missing_command_is_refused() -> None:
    allocation = HostAllocation(os.environ)
    with pytest.raises(RefusedError, match="no-such-command"):
        allocation.launch(StepRequest(command=("no-such-command",), nodes=allocation.describe().nodes))
