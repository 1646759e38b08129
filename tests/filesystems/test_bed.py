"""The test bed for file systems between hosts: it does what tests of faults rely on."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need_nfs, need_slurm
from tests.equipment import faults
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import until

Maker = Callable[..., NfsBed]

# Takes a lock with the call that is named and keeps it until it is killed.
_HOLD = """\
import fcntl, os, sys, time
descriptor = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
getattr(fcntl, sys.argv[1])(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
time.sleep(600)
"""


def holder(call: str, path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, call, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def attempt(call: str, path: Path) -> int:
    """Return the errno of an attempt to take a lock; 0 when it was taken (and given back)."""
    with path.open("r+b") as file:
        try:
            getattr(fcntl, call)(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno or -1
    return 0


def test_hosts_share_files(nfs_bed: Maker) -> None:
    bed = nfs_bed("a", "b")
    (bed.at("a") / "made").mkdir()
    (bed.at("a") / "made" / "file").write_text("one")
    assert (bed.at("b") / "made" / "file").read_text() == "one"
    (bed.at("b") / "made" / "next").write_text("another")
    (bed.at("b") / "made" / "next").rename(bed.at("b") / "made" / "file")
    assert (bed.at("a") / "made" / "file").read_text() == "another"
    os.link(bed.at("a") / "made" / "file", bed.at("a") / "linked")
    assert (bed.at("b") / "linked").stat().st_nlink == 2


def test_absences_and_attributes_are_cached(nfs_bed: Maker) -> None:
    bed = nfs_bed("a", "b")
    file = bed.at("b") / "file"
    assert not file.exists()
    (bed.at("a") / "file").write_text("one")
    assert not file.exists()
    bed = nfs_bed("a", "b", absences=0)
    (bed.at("a") / "file").write_text("one")
    with (bed.at("b") / "file").open() as opened:
        assert os.fstat(opened.fileno()).st_size == 3
        (bed.at("a") / "file").write_text("longer")
        assert os.fstat(opened.fileno()).st_size == 3
    assert (bed.at("b") / "file").read_text() == "longer"  # close-to-open


def test_a_file_that_another_host_removed_is_stale(nfs_bed: Maker) -> None:
    bed = nfs_bed("a", "b")
    (bed.at("a") / "file").write_text("one")
    with (bed.at("b") / "file").open("r+b", buffering=0) as opened:
        (bed.at("a") / "file").unlink()
        with pytest.raises(OSError) as caught:
            opened.read()
    assert caught.value.errno == errno.ESTALE
    (bed.at("a") / "own").write_text("one")
    with (bed.at("a") / "own").open() as own:
        (bed.at("a") / "own").unlink()
        assert own.read() == "one"


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE])
def test_calls_fail_at_a_rate_and_by_name(nfs_bed: Maker, code: int) -> None:
    bed = nfs_bed("a", "b")
    file = bed.at("a") / "file"
    file.write_text("one")
    bed.set("a", faults := bed.faults("a"))
    bed.change("a", error_rate=1.0, error=code, operations=("open",), path="file")
    with pytest.raises(OSError) as caught:
        file.read_text()
    assert caught.value.errno == code
    (bed.at("a") / "other").write_text("may")
    assert (bed.at("b") / "file").read_text() == "one"
    # The kernel repeats an open() by itself when it is told ESTALE, here as on NFS.
    bed.change("a", error_count=1, operations=("write",))
    with pytest.raises(OSError):
        file.write_text("another")
    file.write_text("one")
    bed.set("a", faults)
    assert file.read_text() == "one"


def test_a_stalled_mount_waits(nfs_bed: Maker) -> None:
    bed = nfs_bed("a", "b")
    (bed.at("a") / "file").write_text("one")
    bed.change("a", stalled=True)
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.append((bed.at("a") / "file").read_text()), daemon=True)
    reader.start()
    assert (bed.at("b") / "file").read_text() == "one"
    reader.join(0.5)
    assert not seen
    bed.change("a", stalled=False)
    reader.join(120)
    assert seen == ["one"]


@pytest.mark.parametrize("call", ["flock", "lockf"])
def test_locks_hold_between_hosts(nfs_bed: Maker, call: str) -> None:
    bed = nfs_bed("a", "b")
    process = holder(call, bed.at("a") / "lock")
    assert attempt(call, bed.at("b") / "lock") in (errno.EAGAIN, errno.EACCES)
    assert attempt(call, bed.at("a") / "lock") in (errno.EAGAIN, errno.EACCES)
    end(process)
    until(lambda: attempt(call, bed.at("b") / "lock") == 0, "the lock is given back", 60)


@pytest.mark.parametrize("call", ["flock", "lockf"])
def test_a_crashed_hosts_locks_stay(nfs_bed: Maker, call: str) -> None:
    bed = nfs_bed("a", "b")
    process = holder(call, bed.at("a") / "lock")
    bed.change("a", crashed=True)
    end(process)
    (bed.at("a") / "flushed").write_text("")  # the mount has seen the end
    for _ in range(20):
        assert attempt(call, bed.at("b") / "lock") in (errno.EAGAIN, errno.EACCES)
    bed.change("a", crashed=False)
    until(lambda: attempt(call, bed.at("b") / "lock") == 0, "the server gives the lock back", 60)


def test_locks_are_refused(nfs_bed: Maker) -> None:
    bed = nfs_bed("a")
    (bed.at("a") / "lock").write_text("")
    bed.change("a", flock_error=errno.ENOSYS, fcntl_error=errno.ENOLCK)
    assert attempt("flock", bed.at("a") / "lock") == errno.ENOSYS
    assert attempt("lockf", bed.at("a") / "lock") == errno.ENOLCK


@pytest.mark.parametrize("call", ["flock", "lockf"])
def test_local_locks_are_granted_on_each_host(nfs_bed: Maker, call: str) -> None:
    bed = nfs_bed("a", "b", local=("a", "b"))
    process = holder(call, bed.at("a") / "lock")
    assert attempt(call, bed.at("a") / "lock") in (errno.EAGAIN, errno.EACCES)
    assert attempt(call, bed.at("b") / "lock") == 0
    end(process)


def test_nothing_is_left_of_it_also_when_stalled() -> None:
    need_nfs()
    with NfsBed("a", "b") as bed:
        bed.change("a", stalled=True)
        waiting = subprocess.Popen(["cat", str(bed.at("a") / "file")], stderr=subprocess.DEVNULL)
        servers = [server.pid for server in bed._servers.values()]
    waiting.wait(120)
    assert not bed.directory.exists()
    assert str(bed.directory) not in Path("/proc/mounts").read_text()
    assert not any(Path(f"/proc/{pid}").exists() for pid in servers)


@pytest.mark.slurm
def test_each_node_of_a_slurm_has_its_own_mount(
    nfs_bed: Maker, slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    need_slurm()
    nfs = nfs_bed("login", "n01", "n02")
    slurm = slurm_bed(2)
    home = tmp_path / "home"
    home.mkdir()
    nfs.place("login", home)
    for node in slurm.nodes:
        nfs.place(node, home, slurm.init(node))
    assert slurm.run("srun", "-w", "n01", "sh", "-c", f"echo one > {home}/file").returncode == 0
    assert (home / "file").read_text() == "one\n"
    nfs.change("n02", error_rate=1.0, operations=("open",))
    assert slurm.run("srun", "-w", "n02", "cat", f"{home}/file").returncode != 0
    assert slurm.run("srun", "-w", "n01", "cat", f"{home}/file").stdout == "one\n"


def test_a_lock_outlives_its_owner_without_a_file_system_of_its_own(tmp_path: Path) -> None:
    """As the chaos run has it, whose nodes share one kernel."""
    process = holder("flock", tmp_path / "lock")
    (kept,) = faults.keep_locks(process.pid)
    end(process)
    assert attempt("flock", tmp_path / "lock") in (errno.EAGAIN, errno.EACCES)
    os.close(kept)
    assert attempt("flock", tmp_path / "lock") == 0
    assert faults.keep_locks(process.pid) == []


def test_all_mounts_share_one_bandwidth(nfs_bed: Maker) -> None:
    """Never faster than the bucket allows; how much slower is the machine's matter."""
    bed = nfs_bed("a", "b")
    for host in bed.hosts:
        bed.change(host, bandwidth=4e6)
    begin = time.monotonic()
    threads = [
        threading.Thread(target=(bed.at(host) / host).write_bytes, args=(bytes(1_000_000),))
        for host in bed.hosts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin >= 0.4
    assert [(bed.backing / host).stat().st_size for host in bed.hosts] == [1_000_000] * 2
