"""A cloud of moto's server made strict, for the tests of EC2 and S3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.equipment.strictcloud import StrictCloud


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrictCloud]:
    """The cloud of a module's tests."""
    pytest.importorskip("moto.server", reason="moto is not installed (extra test)")
    from tests.equipment.strictcloud import StrictCloud

    with StrictCloud(tmp_path_factory.mktemp("strict")) as made:
        yield made


@pytest.fixture
def cloud(served: StrictCloud, monkeypatch: pytest.MonkeyPatch) -> StrictCloud:
    """The cloud without the faults of the test before."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    served.forgive()
    return served
