"""Disk usage: the arithmetic, the listings of quota commands, and what cannot be observed."""

import os
from pathlib import Path

import pytest

from whesl.language.detections.base import DiskMetric
from whesl.model.errors import CouldNotObserveError
from whesl.runtime.detect import disk_usage
from whesl.runtime.detect.disk_usage import (
    inode_fraction,
    quota_fraction,
    quota_rows,
    read_usage,
    space_fraction,
)
from whesl.runtime.detect.filesystem_type import LUSTRE

QUOTA_LISTING = """\
Disk quotas for user ada (uid 1000):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
      /dev/sda1 9000 10000 12000 0 50 0 0 0
nfs1.site:/export/home 21000* 20000 30000 1700000000 10 100 200 0
"""
WRAPPED = """\
Disk quotas for user ada (uid 1000):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
server-with-a-very-long-name.site:/export/home
                    500       0    1000       0      10       0       0       0
"""
LFS = "   /mnt/lustre  15000*      0   20000       -      90       0     100       -\n"
LFS_WRAPPED = "/mnt/lustre/projects/long\n   [15000]  0  20000  6d23h59m  10  0  0  -\n"


def test_space_is_counted_as_df_does() -> None:
    assert space_fraction(100, 50, 50) == 0.5
    assert space_fraction(100, 5, 0) == 1.0  # what is left is root's
    assert space_fraction(0, 0, 0) is None
    assert inode_fraction(0, 0, 0) is None


@pytest.mark.parametrize(
    ("text", "source", "fraction"),
    [
        (QUOTA_LISTING, "/dev/sda1", 0.9),
        (QUOTA_LISTING, "nfs1.site:/export/home", 1.05),
        (QUOTA_LISTING, None, 1.05),
        (QUOTA_LISTING, "/dev/other", None),
        (WRAPPED, "server-with-a-very-long-name.site:/export/home", 0.5),
        (LFS, None, 0.9),
        (LFS_WRAPPED, None, 0.75),
        ("Disk quotas for user ada (uid 1000): none\n", None, None),
        ("", None, None),
        ("/dev/sda1 garbage in every column of this one line\n", None, None),
        ("/dev/sda1 5 0 0 0 5 0 0 0\n", None, 0.0),
    ],
)
def test_quota_listings(text: str, source: str | None, fraction: float | None) -> None:
    assert quota_fraction(quota_rows(text, source)) == fraction


def test_real_file_system(tmp_path: Path) -> None:
    seen = read_usage(str(tmp_path / "not" / "there"), DiskMetric.SPACE)
    stat = os.statvfs(tmp_path)
    assert seen.path == str(tmp_path / "not" / "there")
    assert seen.fraction == pytest.approx(
        (stat.f_blocks - stat.f_bfree) / (stat.f_blocks - stat.f_bfree + stat.f_bavail), abs=0.01
    )
    moved = read_usage("/scratch/gone", DiskMetric.SPACE, real_path=str(tmp_path))
    assert moved.path == "/scratch/gone"
    assert moved.fraction == pytest.approx(seen.fraction, abs=0.01)


def test_what_does_not_tell_is_not_full() -> None:
    with pytest.raises(CouldNotObserveError, match="does not tell"):
        read_usage("/proc", DiskMetric.INODES)


def test_failing_statvfs_is_not_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stale(_: str) -> None:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(os, "statvfs", stale)
    with pytest.raises(CouldNotObserveError, match="Stale"):
        read_usage(str(tmp_path), DiskMetric.SPACE)


def fake(directory: Path, name: str, script: str) -> None:
    command = directory / name
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)


def test_quota_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CouldNotObserveError, match="not on PATH"):
        read_usage(str(tmp_path), DiskMetric.QUOTA)
    monkeypatch.setattr(disk_usage, "mount_source", lambda _: "/dev/sda1")
    # Over quota, the command's own status is a failure.
    fake(tmp_path, "quota", "echo '/dev/sda1 11000* 10000 12000 0 5 0 0 0'; exit 1")
    assert read_usage(str(tmp_path), DiskMetric.QUOTA).fraction == 1.1
    fake(tmp_path, "quota", "echo 'Disk quotas for user ada (uid 1000): none'")
    assert read_usage(str(tmp_path), DiskMetric.QUOTA).fraction == 0.0
    fake(tmp_path, "quota", "echo 'Disk quotas for user ada: none'; echo 'no answer from server' >&2")
    with pytest.raises(CouldNotObserveError):
        read_usage(str(tmp_path), DiskMetric.QUOTA)
    fake(tmp_path, "quota", "echo 'quota: cannot resolve mountpoint' >&2; exit 1")
    with pytest.raises(CouldNotObserveError, match="cannot resolve"):
        read_usage(str(tmp_path), DiskMetric.QUOTA)


def test_a_quota_command_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "quota", "exec /bin/sleep 600")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(disk_usage, "COMMAND_LIMIT", 0.2)
    with pytest.raises(CouldNotObserveError, match="did not answer"):
        read_usage(str(tmp_path), DiskMetric.QUOTA)


def test_lustre_asks_lfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "lfs", "echo '/mnt/lustre 15000 0 20000 - 99 0 100 -'")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(disk_usage, "magic_of", lambda _: LUSTRE)
    assert read_usage(str(tmp_path), DiskMetric.QUOTA).fraction == 0.99
