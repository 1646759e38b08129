"""Each manager's tasks recover from a hang, a full disk and a lost node inside their jobs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.faults import FaultError, tmpfs
from tests.equipment.slurmbed import SlurmBed
from tests.managers.desk import Desk
from tests.managers.table import MANAGERS, Manager

ALL = [
    pytest.param(manager, id=manager.name, marks=() if manager.quick else pytest.mark.variant)
    for manager in MANAGERS
]


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.timeout(400)
@pytest.mark.parametrize("manager", ALL)
def test_manager_sees_successes_only(manager: Manager, tmp_path: Path) -> None:
    scenario(manager, tmp_path)


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.variant
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("manager", "fault"),
    [
        pytest.param(manager, fault, id=f"{manager.name}-{fault}")
        for manager in MANAGERS
        for fault in manager.alone
    ],
)
def test_front_alone_recovers_jobs_of_an_unchanged_manager(
    manager: Manager, fault: str, tmp_path: Path
) -> None:
    scenario(manager, tmp_path, alone=fault)


def scenario(manager: Manager, tmp_path: Path, *, alone: str = "") -> None:
    need_slurm()
    if manager.program and not shutil.which(manager.program):
        pytest.skip(f"{manager.program} is not on PATH: {manager.debian} has it")
    place = tmp_path / "study"
    place.mkdir()
    try:
        with tmpfs(place / "small", 1 << 20), SlurmBed(4) as bed:
            desk = Desk(place, bed, manager, alone=alone)
            desk.check(desk.run())
    except FaultError as error:
        pytest.skip(str(error))
