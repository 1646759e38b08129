"""What is torn, or no checkpoint at all, is never called whole."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from whesl.checkpoints import manifest
from whesl.checkpoints.manifest import Manifest, Part

STATES = (b"state of rank 0", b"of 1")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A directory with one whole checkpoint."""
    parts = []
    (tmp_path / "1").mkdir()
    for rank, state in enumerate(STATES):
        (tmp_path / "1" / f"rank-{rank}.part").write_bytes(state)
        parts.append(Part(rank, len(state), zlib.crc32(state), f"rank-{rank}.part"))
    manifest.write(tmp_path, Manifest(1, 5, tuple(parts), "requested"))
    assert [found.epoch for found in manifest.whole(tmp_path)] == [1]
    return tmp_path


def test_a_manifest_that_is_torn_or_changed_anywhere(kept: Path) -> None:
    path = kept / "1" / manifest.NAME
    content = path.read_bytes()
    for at in range(len(content)):
        for damaged in (content[:at], content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]):
            path.write_bytes(damaged)
            assert manifest.whole(kept) == [], damaged


@pytest.mark.parametrize("left", [None, b"", STATES[1][:-1], STATES[1] + b"x"])
def test_a_part_that_is_missing_or_of_another_size(kept: Path, left: bytes | None) -> None:
    part = kept / "1" / "rank-1.part"
    part.unlink()
    if left is not None:
        part.write_bytes(left)
    assert manifest.whole(kept) == []


def test_a_writer_that_was_killed_before_the_manifest(kept: Path) -> None:
    (kept / "1" / manifest.NAME).rename(kept / "1" / f"{manifest.NAME}.writing")
    assert manifest.whole(kept) == [] and manifest.numbers(kept) == [1]


def test_a_copy_under_another_number(kept: Path) -> None:
    (kept / "1").rename(kept / "2")
    assert manifest.whole(kept) == []


def test_other_files_are_no_checkpoints(kept: Path) -> None:
    """A file with a number for a name kept the coordinator from starting."""
    (kept / "7").write_text("a user's own")
    (kept / "notes").write_text("more")
    assert [found.epoch for found in manifest.whole(kept)] == [1]
    assert manifest.numbers(kept) == [7, 1]  # what is written next is not in its way
