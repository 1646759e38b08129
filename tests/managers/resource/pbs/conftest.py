"""The cluster that the modules here share: its start is most of what they cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import need_pbs
from whesl.testing.pbsbed import PbsBed


@pytest.fixture(scope="session")
def bed() -> Iterator[PbsBed]:
    need_pbs()
    with PbsBed(nodes=3) as bed:
        yield bed
