"""Files that are dated by another clock than the host's: an NFS server's, or the host's before it was set."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.operations.trees import Bed
from whesl.runtime.operations.relocation import target_probe
from whesl.runtime.operations.relocation.safe_tree import Tree

MINUTE = 60.0


def test_a_local_file_system_has_the_host_s_clock(tmp_path: Path) -> None:
    with Tree(str(tmp_path)) as tree:
        assert target_probe.ahead(tree, (), "0" * 16) == 0.0


@pytest.mark.parametrize("skew", [-MINUTE, MINUTE])
@pytest.mark.parametrize("unnamed", [True, False])
def test_another_clock_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew: float, unnamed: bool
) -> None:
    if not unnamed:
        named_only(monkeypatch)
    with Tree(str(tmp_path)) as tree:
        found = target_probe.ahead(tree, (), "0" * 16, now=lambda: time.time() - skew)
    assert found == pytest.approx(skew, abs=5.0)
    assert not list(tmp_path.iterdir())


def named_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS: there are no files without a name."""
    real = os.open

    def opened(path: Any, flags: int, *arguments: Any, **more: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not here")
        return real(path, flags, *arguments, **more)

    monkeypatch.setattr(os, "open", opened)


def test_where_nothing_can_be_made_no_difference_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_directory: int, _name: bytes) -> float:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(target_probe, "_dated", full)
    with Tree(str(tmp_path)) as tree:
        assert target_probe.ahead(tree, (), "0" * 16, now=lambda: 0.0) == 0.0
        assert target_probe.ahead(tree, (b"none",), "0" * 16) == 0.0


@pytest.mark.parametrize("skew", [-MINUTE, MINUTE])
@pytest.mark.parametrize("server", [True, False])
def test_what_was_left_half_written_is_copied_whatever_clock_dated_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew: float, server: bool
) -> None:
    bed = Bed(tmp_path)
    # Last written 0.5 s and 30 s before the attempt's end, as the clock that dates files has it.
    fresh = bed.file("w/fresh", age=0.5 - skew)
    old = bed.file("w/old", age=30.0 - skew)
    given = bed.context(set_ahead=0.0 if server else skew)
    if server:
        monkeypatch.setattr(target_probe, "ahead", lambda *_arguments: skew)
    bed.replace(given)
    assert not (bed.new / fresh.relative_to(bed.old)).is_symlink()
    assert (bed.new / old.relative_to(bed.old)).is_symlink()
