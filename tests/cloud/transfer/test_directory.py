"""A directory as a storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.equipment.contract_storage import StoreContract
from whesl.cloud.transfer.directory import DirectoryStore


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store")


class TestContract(StoreContract):
    """The contract."""
