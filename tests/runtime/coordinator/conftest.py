"""The coordinator's core on a virtual clock, with a workflow registered; a home for a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.coordinator.daemons import Isolator, kill
from tests.runtime.coordinator.world import World


@pytest.fixture
def world() -> World:
    made = World()
    made.workflow()
    return made


@pytest.fixture
def home(whesl_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A WHESL home whose coordinator listens on loopback and is ended by its process id."""
    whesl_home.mkdir(mode=0o700)
    monkeypatch.setenv("WHESL_BIND", "127.0.0.1")
    yield whesl_home
    kill(whesl_home)


@pytest.fixture
def isolator(home: Path) -> Iterator[Callable[..., Isolator]]:
    made: list[Isolator] = []

    def make(name: str, **more: Any) -> Isolator:
        made.append(Isolator(home, name, **more))
        return made[-1]

    yield make
    for each in made:
        each.client.close()
