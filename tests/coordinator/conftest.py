"""The coordinator's core on a virtual clock, with a workflow registered."""

from __future__ import annotations

import pytest

from tests.coordinator.world import World


@pytest.fixture
def world() -> World:
    made = World()
    made.workflow()
    return made
