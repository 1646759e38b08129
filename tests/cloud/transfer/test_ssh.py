"""A directory behind a real sshd on loopback as a storage."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.contract_storage import StoreContract
from tests.equipment.free_ports import free_ports
from tests.waiting import until
from whesl.cloud.transfer.port import DamagedError, digest_of
from whesl.cloud.transfer.ssh import SshStore
from whesl.model.errors import CouldNotObserveError

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


class Sshd:
    """A server of this user's, with a key of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)]
            subprocess.run(command, check=True)
        shutil.copy(directory / "user.pub", directory / "authorized")
        (self.port,), (self.claim,) = free_ports(1)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.options = [
            *("-i", str(directory / "user"), "-o", "StrictHostKeyChecking=no"),
            *("-o", f"UserKnownHostsFile={directory}/known", "-o", "IdentitiesOnly=yes"),
        ]
        self.start()

    def start(self) -> None:
        settings = {
            "ListenAddress": "127.0.0.1",
            "HostKey": self.directory / "host",
            "AuthorizedKeysFile": self.directory / "authorized",
            "StrictModes": "no",
            "UsePAM": "no",
            "PidFile": "none",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
        }
        given = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        (self.directory / "log").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", "/dev/null", "-p", str(self.port), *given],
            stderr=(self.directory / "log").open("ab"),
            start_new_session=True,
        )
        until(lambda: "listening" in (self.directory / "log").read_text(), "sshd listens", 30)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if not Path(SSHD).exists() or shutil.which("rsync") is None:
        pytest.skip("needs openssh-server and rsync")
    made = Sshd(tmp_path_factory.mktemp("sshd"))
    yield made
    made.stop()
    made.claim.close()


@pytest.fixture
def store(sshd: Sshd, tmp_path: Path) -> Iterator[SshStore]:
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
