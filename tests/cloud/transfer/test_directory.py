"""A directory as a storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl.cloud.transfer.directory import DirectoryStore
from whesl.testing.contract_storage import StoreContract


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store")


class TestContract(StoreContract):
    """The contract."""
