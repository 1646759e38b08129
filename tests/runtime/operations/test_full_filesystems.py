"""FILESYSTEM.REPLACE between real small file systems that are really full: ENOSPC, EDQUOT, no inodes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TypeVar

import pytest

from tests.conftest import in_ci
from tests.equipment.faults import FaultError, SmallFilesystem, btrfs_quota, fill, tmpfs
from tests.runtime.operations.trees import Bed, contents, killed_at, leftovers
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation.copying import copy_file

MIB = 1 << 20
T = TypeVar("T", bound=SmallFilesystem)


@pytest.fixture
def mounted() -> Iterator[Callable[[AbstractContextManager[T]], T]]:
    """Enter mounts that end with the test; skip where the machine offers none, and say why."""
    with ExitStack() as stack:

        def mount(made: AbstractContextManager[T]) -> T:
            try:
                return stack.enter_context(made)
            except FaultError as error:
                if in_ci():
                    pytest.fail(f"CI has to run these tests: {error}")
                pytest.skip(str(error))

        yield mount


Mount = Callable[[AbstractContextManager[SmallFilesystem]], SmallFilesystem]


def at(old: Path, tmp: Path) -> Bed:
    """A bed whose old root is a given directory."""
    bed = Bed(tmp / "bed")
    bed.old = old
    bed.workspace = old / "w"
    bed.workspace.mkdir(exist_ok=True)
    return bed


def produce(bed: Bed) -> dict[bytes, bytes]:
    """Write results as an application would, the last of them cut short by the full disk."""
    bed.file("w/done", b"d" * 100_000)
    bed.file("w/sub/checkpoint", b"c" * 300_000, age=1.0)
    half = bed.workspace / "half"
    with half.open("wb", buffering=0) as file, pytest.raises(OSError, match=r"No space|quota") as refused:
        while True:
            file.write(b"h" * 65_536)
            os.fsync(file.fileno())
    assert refused.value.errno in (errno.ENOSPC, errno.EDQUOT)
    os.utime(half, (bed.end, bed.end))
    return contents(bed.old)


def test_from_a_full_tmpfs(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(tmpfs(tmp_path / "small", 2 * MIB))
    bed = at(small.path, tmp_path)
    before = produce(bed)
    result = bed.replace()
    assert contents(bed.new) == before
    assert (bed.new / "w/done").is_symlink()
    for name in ("w/half", "w/sub/checkpoint"):
        with (bed.new / name).open("ab") as file:
            file.write(b"and on")
    assert result.dependents is not None


def test_from_an_exceeded_quota(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(btrfs_quota(tmp_path / "quota", 4 * MIB))
    assert small.error == errno.EDQUOT
    bed = at(small.path, tmp_path)
    before = produce(bed)
    bed.replace()
    assert contents(bed.new) == before
    with (bed.new / "w/half").open("ab") as file:
        file.write(b"and on")


def test_moving_off_a_full_tmpfs_makes_room(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(tmpfs(tmp_path / "small", 2 * MIB))
    bed = at(small.path, tmp_path)
    before = produce(bed)
    bed.replace(mode="move")
    assert contents(bed.new) == contents(bed.old) == before
    assert not any((bed.new / "w" / name).is_symlink() for name in ("done", "half", "sub/checkpoint"))
    (small.path / "room").write_bytes(b"r" * MIB)


def test_moving_off_an_exceeded_quota(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(btrfs_quota(tmp_path / "quota", 4 * MIB))
    bed = at(small.path, tmp_path)
    before = produce(bed)
    bed.replace(mode="move")
    assert contents(bed.new) == before
    assert leftovers(bed.old, bed.new) == []


@pytest.mark.costly
def test_killed_anywhere_on_a_full_tmpfs(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(tmpfs(tmp_path / "small", MIB))
    number = 0
    while True:
        old = small.path / str(number)
        old.mkdir()
        bed = at(old, tmp_path / str(number))
        bed.file("w/a", b"a" * 200_000)
        bed.file("w/b", b"b" * 200_000, age=0)
        fill(small.path)
        before = contents(bed.old)
        killed = killed_at(number, lambda bed=bed: bed.replace(mode="move"))  # type: ignore[misc]  # bound at once
        assert {**contents(bed.new), **contents(bed.old)}.items() >= before.items()
        bed.replace(mode="move")
        assert contents(bed.new) == before
        assert leftovers(bed.old, bed.new) == []
        (small.path / "ballast").unlink()
        if not killed:
            break
        number += 3
    assert number > 60


@pytest.mark.parametrize("mode", ["link", "move"])
def test_a_quota_that_statvfs_does_not_show_is_met_before_anything_is_made(
    tmp_path: Path, mounted: Mount, mode: str
) -> None:
    small = mounted(btrfs_quota(tmp_path / "quota", 2 * MIB))
    bed = Bed(tmp_path)
    bed.file("w/big", b"b" * 4 * MIB, age=0)
    assert os.statvfs(small.path).f_bavail * os.statvfs(small.path).f_frsize > 8 * MIB
    result = bed.replace(filesystem=[str(small.path), str(bed.new)], mode=mode)
    assert list(small.path.iterdir()) == []
    assert (bed.new / "w/big").stat().st_size == 4 * MIB
    assert "quota exceeded" in result.note.lower()


def test_a_target_that_fills_up_midway_is_passed_over(
    tmp_path: Path, mounted: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = mounted(tmpfs(tmp_path / "small", 8 * MIB))
    bed = Bed(tmp_path)
    for name in "abc":
        bed.file(f"w/{name}", name.encode() * MIB, age=0)
    before = contents(bed.old)
    done: list[int] = []

    def copy_and_fill(*args: object, **kwargs: object) -> None:
        copy_file(*args, **kwargs)  # type: ignore[arg-type]  # passed through
        if not done:
            done.append(fill(small.path))

    monkeypatch.setattr("whesl.runtime.operations.relocation.tree_relocation.copy_file", copy_and_fill)
    result = bed.replace(filesystem=[str(small.path), str(bed.new)], mode="move")
    assert done == [errno.ENOSPC]
    assert "No space left" in result.note
    assert contents(bed.new) == contents(bed.old) == before
    assert leftovers(small.path, bed.new, bed.old) == []
    assert all((bed.workspace / name).readlink() == bed.new / "w" / name for name in "abc")


def test_too_few_inodes_are_noticed(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(tmpfs(tmp_path / "small", 4 * MIB, inodes=6))
    bed = Bed(tmp_path)
    for number in range(10):
        bed.file(f"w/{number}")
    with pytest.raises(RecoveryError, match=r"inodes are free, 1\d are needed"):
        bed.replace(filesystem=[str(small.path)])
    assert list(small.path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="remounting needs root")
def test_a_read_only_target(tmp_path: Path, mounted: Mount) -> None:
    small = mounted(tmpfs(tmp_path / "small", MIB))
    bed = Bed(tmp_path)
    bed.file("w/a")
    subprocess.run(["mount", "-o", "remount,ro", str(small.path)], check=True)
    with pytest.raises(RecoveryError, match="read-only"):
        bed.replace(filesystem=[str(small.path)])


def test_the_limit_can_be_raised(tmp_path: Path, mounted: Callable[[AbstractContextManager[T]], T]) -> None:
    small = mounted(btrfs_quota(tmp_path / "quota", 2 * MIB))  # type: ignore[arg-type]  # T is the quota's here
    assert fill(small.path) == errno.EDQUOT
    small.limit(8 * MIB)  # type: ignore[attr-defined]  # as above
    (small.path / "more").write_bytes(b"m" * MIB)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user to try the way without root")
def test_without_root_a_user_namespace_serves() -> None:
    program = """
import errno, os, pathlib, sys
import tests.equipment.faults as faults
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with faults.tmpfs(pathlib.Path(sys.argv[1], "m"), 1 << 20) as small:
        assert small.how == "user-namespace" and faults.fill(small.path) == errno.ENOSPC
        assert (small.path / "ballast").stat().st_size > 900_000
except faults.FaultError as error:
    print("not offered:", error)
"""
    with tempfile.TemporaryDirectory() as directory:
        os.chown(directory, 65534, 65534)
        done = subprocess.run(
            [sys.executable, "-c", program, directory], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    if done.stdout:
        pytest.skip(done.stdout.strip())
