"""The cluster that the modules here share: its start is most of what they cost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need_pbs
from tests.equipment.pbsbed import PbsBed


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of a megabyte. The nodes see what is mounted before they start."""
    need_pbs()
    place = tmp_path_factory.mktemp("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "whesl-small", str(place)], check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="session")
def bed(small: Path) -> Iterator[PbsBed]:
    need_pbs()
    with PbsBed(nodes=3) as bed:
        yield bed
