"""Which release answers, and what it does otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.managers.resource.slurm.releases import Ability, controller_release, release
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.managers.resource.slurm.states import UNDRAINED
from whesl.model.errors import CouldNotObserveError


def test_releases() -> None:
    assert release("slurm 22.05.8\n") == release("22.5.3") == (22, 5)
    assert release("slurm 25.11.0-rc1") == (25, 11)
    assert release("nonsense") is None


def test_an_ability_begins_with_its_release() -> None:
    assert not Ability.CHANGES_AFTER_RESIZE.of((24, 5))
    assert Ability.CHANGES_AFTER_RESIZE.of((24, 11))
    assert Ability.CHANGES_AFTER_RESIZE.of((26, 5))
    assert Ability.BLOCKS_SIGCHLD.of((25, 5)) and not Ability.BLOCKS_SIGCHLD.of((25, 11))
    assert len({ability.sentence for ability in Ability}) == len(Ability)


def test_a_controller_that_does_not_say_its_release() -> None:
    with pytest.raises(CouldNotObserveError):
        controller_release({})


def test_a_drain_that_is_taken_back_leaves_another_reason() -> None:
    """Slurm 24.05 and 25.11 keep it without accounting, and show it when something else drains the node."""
    given: list[tuple[str, ...]] = []

    class Noted(SlurmCommands):
        def run(self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
            given.append(command)
            return ""

    scheduler = SlurmScheduler({})
    scheduler._commands = Noted({})
    assert scheduler.unmark_node("n01")
    assert given == [("scontrol", "update", "NodeName=n01", "State=UNDRAIN", f"Reason={UNDRAINED}")]


@pytest.mark.slurm
def test_the_controller_says_its_release(slurm: SlurmBed) -> None:
    shown = slurm.run("scontrol", "show", "config").stdout
    settings = dict(line.replace(" ", "").partition("=")[::2] for line in shown.splitlines())
    assert controller_release(settings) == slurm.release
