"""Snapshots as files: whole or not there, and believed only when every byte is what was written."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections import namedtuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.runtime.journal import snapshot
from whesl.runtime.journal.database import Anchor
from whesl.runtime.journal.snapshot import Head, SnapshotError

HEAD = Head(last=Anchor(7, 1.5, 99), first=Anchor(1, 0.5, 11))
PIECES = [("tasks", b'[{"id":"a"}]'), ("tasks", b"[]"), ("rest", b'{"n":1}')]


def taken(path: Path) -> tuple[Head, list[tuple[str, bytes]]]:
    pieces: list[tuple[str, bytes]] = []
    return snapshot.read(path, lambda word, content: pieces.append((word, content))), pieces


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = snapshot.write(tmp_path, HEAD, PIECES)
    assert taken(path) == (HEAD, PIECES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [snapshot.number(each) for each in snapshot.found(tmp_path)] == [7]
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return snapshot.write(tmp_path_factory.mktemp("whole"), HEAD, PIECES)


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
def test_no_byte_may_differ(whole: Path, place: int, byte: int, cut: bool) -> None:
    right = whole.read_bytes()
    place %= len(right)
    wrong = right[:place] if cut else right[:place] + bytes([byte]) + right[place + 1 :]
    path = whole.with_name("changed")
    path.write_bytes(wrong)
    if wrong == right:
        assert taken(path) == (HEAD, PIECES)
    else:
        with pytest.raises(SnapshotError):
            taken(path)


@pytest.mark.parametrize("order", ["02134", "0134", "011234", "0123", "1234", ""])
def test_no_line_may_be_missing_or_elsewhere(tmp_path: Path, order: str) -> None:
    path = snapshot.write(tmp_path, HEAD, PIECES)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[int(number)] for number in order))
    with pytest.raises(SnapshotError):
        taken(path)


def test_nothing_may_follow(tmp_path: Path) -> None:
    path = snapshot.write(tmp_path, HEAD, PIECES)
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(SnapshotError, match="damaged"):
        taken(path)


def test_another_version_is_named(tmp_path: Path) -> None:
    later = Head(version=snapshot.VERSION + 1, last=HEAD.last)
    with pytest.raises(SnapshotError, match="another version"):
        taken(snapshot.write(tmp_path, later, PIECES))


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_a_full_disk_leaves_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    pieces = [*PIECES, ("big", b"x" * 3_000_000), *PIECES]
    with pytest.raises(SnapshotError, match="full"):
        snapshot.write(tmp_path, HEAD, pieces)
    assert not list(tmp_path.iterdir())


def test_the_last_room_of_a_disk_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, 0, 40 << 20))
    snapshot.write(tmp_path, HEAD, PIECES)
    with pytest.raises(SnapshotError, match="too little room"):
        snapshot.write(tmp_path, HEAD, PIECES, expected=10 << 20)


def test_what_is_no_longer_of_use_is_removed(tmp_path: Path) -> None:
    paths = [
        snapshot.write(tmp_path, Head(last=Anchor(number, 0.0, 0)), PIECES) for number in (3, 30, 300, 3000)
    ]
    (tmp_path / ".snapshot-000000000004.1.new").write_bytes(b"half")
    (tmp_path / "journal.db").write_bytes(b"")
    assert snapshot.found(tmp_path) == paths[::-1]
    snapshot.tidy(tmp_path, keep=paths[1:3])
    snapshot.put_aside(paths[1])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"journal.db", paths[1].name + ".other", paths[2].name}
    assert snapshot.found(tmp_path) == [paths[2]]
