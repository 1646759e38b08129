"""The adapters pass WHESL's contract tests. Where they are installed: pytest examples/adapters."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from whesl_adapters.desk import DeskAllocation, DeskScheduler
from whesl_adapters.mean_rate import MeanRate

from whesl.api.failure_predictor import History, Predictor
from whesl.api.resource_manager import Allocation
from whesl.testing.contracts import AllocationContract, PredictorContract, SchedulerContract


class TestDeskScheduler(SchedulerContract):
    @pytest.fixture
    def scheduler(self, tmp_path: Path) -> DeskScheduler:
        return DeskScheduler(str(tmp_path / "desk"))

    @pytest.fixture
    def unreachable(self, tmp_path: Path) -> DeskScheduler:
        (tmp_path / "file").touch()
        return DeskScheduler(str(tmp_path / "file" / "desk"))


class TestDeskAllocation(AllocationContract):
    node_name = "$DESK_NODE"

    @pytest.fixture
    def allocation(self) -> DeskAllocation:
        job = {"DESK_JOB": "7", "DESK_NODES": "desk1,desk2,desk3", "DESK_RESTARTS": "0"}
        return DeskAllocation({**os.environ, **job})

    def check_hidden(
        self, environment: dict[str, str], allocation: Allocation, active: tuple[str, ...]
    ) -> None:
        assert environment == {"DESK_NODES": ",".join(active)}


class TestMeanRate(PredictorContract):
    @pytest.fixture
    def fit(self) -> Callable[[History], Predictor]:
        return MeanRate
