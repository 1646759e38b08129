"""``whesl doctor`` on what a home's file system can do, here and between hosts."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need_slurm
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from whesl.doctor import home_filesystem
from whesl.doctor.probe_runner import Finding, State
from whesl.runtime.locking import lock_scope

Maker = Callable[..., NfsBed]


@pytest.fixture
def bed(nfs_bed: Maker, monkeypatch: pytest.MonkeyPatch) -> NfsBed:
    """A home on one host's mount."""
    made = nfs_bed("login")
    (made.at("login") / "home").mkdir(mode=0o700)
    monkeypatch.setenv("WHESL_HOME", str(made.at("login") / "home"))
    return made


def named(findings: list[Finding], name: str) -> Finding:
    (found,) = (finding for finding in findings if finding.name == name)
    return found


def test_all_is_well(bed: NfsBed) -> None:
    found = home_filesystem.files()
    assert [finding.state for finding in found] == [State.OK]
    assert "flock and fcntl" in found[0].detail and "between hosts is not known" in found[0].detail
    assert not list((bed.at("login") / "home").iterdir()), "it has left something"


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_a_home_without_locks(bed: NfsBed, code: int) -> None:
    """It had found everything in order."""
    bed.change("login", flock_error=code, fcntl_error=errno.ENOLCK)
    found = named(home_filesystem.files(), "locks")
    assert found.state is State.WARN
    assert f"flock: none ({os.strerror(code)})" in found.detail and "fcntl: none" in found.detail


def test_locks_that_fail_are_not_called_missing(bed: NfsBed) -> None:
    bed.change("login", flock_error=errno.EIO)
    assert "flock: failed (Input/output error)" in named(home_filesystem.files(), "locks").detail


@pytest.mark.parametrize("option", ["nolock", "local_lock=all", "localflock"])
def test_options_that_keep_locks_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setenv("WHESL_HOME", str(tmp_path))
    monkeypatch.setattr(lock_scope, "mount_of", lambda _: lock_scope.Mount("/", "nfs", frozenset({option})))
    found = named(home_filesystem.files(), "locks")
    assert found.state is State.WARN and option in found.detail


@pytest.mark.parametrize(
    ("operation", "name"), [("link", "hard links"), ("rename", "rename"), ("fsync", "fsync")]
)
def test_what_fails_is_named(bed: NfsBed, operation: str, name: str) -> None:
    bed.change("login", error_rate=1.0, error=errno.EPERM, operations=(operation,))
    found = named(home_filesystem.files(), name)
    assert found.state is State.FAILED and "not permitted" in found.detail


def test_before_the_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setenv("WHESL_HOME", str(place / "not" / "yet"))
    assert named(home_filesystem.files(), "locks").state is State.OK
    assert not list(place.iterdir())


def compute(environment: Mapping[str, str], home: Path) -> dict[str, dict[str, Any]]:
    told = subprocess.run(
        [sys.executable, "-m", "whesl", "doctor", "--compute", "--json"],
        env={**environment, "WHESL_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return {finding["name"]: finding for finding in json.loads(told.stdout)["findings"]}


@pytest.mark.slurm
@pytest.mark.parametrize("locks", ["shared", "local", "without"])
def test_between_a_login_and_a_compute_node(
    nfs_bed: Maker, slurm_bed: Callable[..., SlurmBed], tmp_path: Path, locks: str
) -> None:
    need_slurm()
    hosts = ("login", "n01")
    nfs = nfs_bed(*hosts, local=hosts if locks == "local" else (), absences=1.0)
    if locks == "without":
        for host in hosts:
            nfs.change(host, flock_error=errno.ENOSYS, fcntl_error=errno.ENOLCK)
    slurm = slurm_bed(1)
    home = tmp_path / "home"
    home.mkdir()
    nfs.place("login", home)
    nfs.place("n01", home, slurm.init("n01"))
    (home / "whesl").mkdir(mode=0o700)
    found = compute(slurm.environment, home / "whesl")
    assert found["compute node"]["state"] == "ok", found["compute node"]
    there = found["locks there"]
    assert there["state"] == ("ok" if locks == "shared" else "warn")
    assert there["detail"].startswith("hold between n01" if locks == "shared" else "do not hold between n01")
    assert ("flock: granted" in there["detail"]) == (locks == "local")


@pytest.mark.slurm
def test_a_home_that_the_nodes_do_not_see(slurm: SlurmBed, nfs_bed: Maker) -> None:
    nfs = nfs_bed("login")  # mounted after the nodes were started
    found = compute(slurm.environment, nfs.at("login"))
    assert found["compute node"]["state"] == "failed"
    assert "No such file" in found["compute node"]["detail"]
