"""One home for all calls of a process: the kept isolator is started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def kept_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that is kept as long as the kept isolator."""
    return tmp_path_factory.mktemp("functions") / "home"


@pytest.fixture
def home(kept_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home that calls of this test use."""
    monkeypatch.setenv("WHESL_HOME", str(kept_home))
    yield kept_home


def records(home: Path, name: str) -> list[Path]:
    """Return the records of calls of a function that were kept."""
    return sorted((home / "tasks" / "functions").glob(f"{name}_*"))
