"""A directory behind a real sshd on loopback as a storage."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.contract_storage import StoreContract
from tests.equipment.sshd import Sshd, sshd
from tests.waiting import until
from whesl.cloud.transfer.port import DamagedError, digest_of
from whesl.cloud.transfer.ssh import SshStore
from whesl.model.errors import CouldNotObserveError

__all__ = ["sshd"]


@pytest.fixture
def store(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshStore]:
    """A store of a process whose TMPDIR is long, as that of a job may be: no socket has its name there."""
    (directory := tmp_path / ("x" * 60)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    made = SshStore(
        f"{getpass.getuser()}@127.0.0.1",
        str(tmp_path / "there"),
        port=sshd.port,
        options=sshd.options,
        timeout=30,
    )
    yield made
    made.close()


class TestContract(StoreContract):
    """The contract."""


def test_a_copy_goes_on_after_a_break(store: SshStore, tmp_path: Path) -> None:
    """rsync is killed in the middle: nothing lies under the name; what was sent is used by the next call."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(40 << 20))
    slow = tmp_path / "rsync"
    slow.write_text(f'#!/bin/sh\nexec {shutil.which("rsync")} --bwlimit=20000 "$@"\n')
    slow.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{tmp_path}:{before}"
    pid = os.fork()
    if not pid:
        try:
            store.put(source, "deep/large")
        finally:
            os._exit(0)
    there = tmp_path / "there" / "deep"
    try:
        until(lambda: sum(p.stat().st_size for p in there.glob(".large.*")) > 1 << 20, "it is under way", 60)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGTERM)
    finally:
        os.environ["PATH"] = before
        os.waitpid(pid, 0)
    until(lambda: list(there.glob(".whesl-partial/*")), "what was sent is kept", 60)
    assert not (there / "large").exists()
    assert store.put(source, "deep/large") == digest_of(source)
    assert not list(there.glob(".whesl-partial/*"))


@pytest.mark.costly
def test_the_network_is_away(sshd: Sshd, store: SshStore, tmp_path: Path) -> None:
    """It is said, and means nothing about the files; the same call works when it is back."""
    source = tmp_path / "source"
    source.write_bytes(b"content")
    store.close()
    sshd.stop()
    with pytest.raises(CouldNotObserveError):
        store.put(source, "file")
    with pytest.raises(CouldNotObserveError):
        store.digest("file")
    sshd.start()
    assert store.put(source, "file") == digest_of(source)


def test_a_damaged_copy_is_removed(store: SshStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies there is read there."""
    source = tmp_path / "source"
    source.write_bytes(b"content")
    whole = store._rsync

    def damages(here: str, there: str) -> None:
        whole(here, there)
        (tmp_path / "there" / "file").write_bytes(b"contemt")

    monkeypatch.setattr(store, "_rsync", damages)
    with pytest.raises(DamagedError):
        store.put(source, "file")
    assert store.digest("file") is None
