"""One owner of a lock: where file systems have locks, local ones or none, and when a host has died."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.equipment.nfsbed import NfsBed
from tests.waiting import until
from whesl.files import file_retry
from whesl.runtime.locking import lock_scope, procfs, takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError, LockError, Owner, owned

_TAKE = """\
import os, sys
from whesl.runtime.locking import takeover_lock
host, path, epoch, gate = sys.argv[1:]
owner = takeover_lock.owned("c")
if host: owner.host = host
sys.stdin.readline()
try:
    if epoch:
        found = takeover_lock.break_lock(path, takeover_lock.Owner(epoch=int(epoch)), owner)
        print("lost" if found is None else "won", flush=True)
    else:
        takeover_lock.take(path, owner)
        print("won", flush=True)
except takeover_lock.HeldError:
    print("lost", flush=True)
sys.stdin.readline()
"""


def taker(path: Path, *, host: str = "", breaks: int = 0) -> subprocess.Popen[str]:
    """Start a process that takes a lock when it is told to, says how that went, and keeps it."""
    return subprocess.Popen(
        [sys.executable, "-c", _TAKE, host, str(path), str(breaks or ""), ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def go(*processes: subprocess.Popen[str]) -> list[str]:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [process.stdout.readline().strip() for process in processes if process.stdout is not None]


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture(params=["flock", "none"])
def unlocked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system with flock(2), and one without."""
    if request.param == "none":
        refuse(monkeypatch, errno.ENOSYS)
    return str(request.param)


def refuse(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def flock(_descriptor: int, _operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)


def elsewhere(**changes: Any) -> Owner:
    return Owner(**{"host": "elsewhere", "boot": "b", "pid": 1, "started": 1, **changes})


@pytest.mark.parametrize("code", sorted(takeover_lock.UNSUPPORTED))
def test_what_cannot_be_locked_is_no_lock_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Each of these had been taken for another isolator that holds the lock."""
    refuse(monkeypatch, code)
    path = str(tmp_path / "lock")
    descriptor = takeover_lock.take(path, owned())
    holder = takeover_lock.holder(path)
    assert holder is not None and holder.pid == os.getpid()
    with pytest.raises(HeldError):
        takeover_lock.take(path, owned())
    takeover_lock.release(descriptor)
    assert takeover_lock.holder(path) is None


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE])
def test_a_failure_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    refuse(monkeypatch, code)
    monkeypatch.setattr(file_retry, "retried", lambda call: call())
    with pytest.raises(OSError) as caught:
        takeover_lock.take(str(tmp_path / "lock"), owned())
    assert caught.value.errno == code
    assert [entry.name for entry in tmp_path.iterdir()] == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_without_hard_links_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def link(_from: str, _to: str) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(LockError, match="no hard links"):
        takeover_lock.take(str(tmp_path / "lock"), owned())


def test_one_owner_after_another(tmp_path: Path, unlocked: str) -> None:
    path = str(tmp_path / "lock")
    for epoch in (1, 2, 3):
        descriptor = takeover_lock.take(path, owned(f"claim-{epoch}"))
        assert takeover_lock.epoch_of(descriptor) == epoch
        holder = takeover_lock.holder(path)
        assert holder is not None and holder.claim == f"claim-{epoch}"
        assert not takeover_lock.lost(path, epoch)
        takeover_lock.release(descriptor)
        assert takeover_lock.holder(path) is None


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process = taker(path)
    assert go(process) == ["won"]
    assert takeover_lock.holder(str(path)) is not None
    end(process)
    takeover_lock.release(takeover_lock.take(str(path), owned()))


def test_a_killed_process_holds_nothing_without_locks_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, errno.ENOSYS)
    path = str(tmp_path / "lock")
    child = subprocess.Popen(["sleep", "600"])
    descriptor = takeover_lock.take(path, owned())
    takeover_lock.sign(descriptor, owned(pid=child.pid))
    os.close(descriptor)
    holder = takeover_lock.holder(path)
    assert holder is not None and holder.pid == child.pid
    child.kill()
    child.wait()
    assert takeover_lock.holder(path) is None


def test_another_host_s_owner_is_not_called_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With locks that hold on each host for itself, or none, nothing here tells whether it lives."""
    path = str(tmp_path / "lock")
    os.close(takeover_lock.take(path, elsewhere()))
    assert takeover_lock.holder(path) is None  # its lock would be seen: this file system's hold everywhere
    monkeypatch.setattr(lock_scope, "mount_of", lambda _: lock_scope.Mount("/", "nfs", frozenset({"nolock"})))
    with pytest.raises(HeldError, match="process 1 on elsewhere"):
        takeover_lock.take(path, owned())
    refuse(monkeypatch, errno.ENOLCK)
    monkeypatch.undo()
    refuse(monkeypatch, errno.ENOLCK)
    with pytest.raises(HeldError):
        takeover_lock.take(path, owned())


def test_a_host_that_was_booted_again_holds_nothing(tmp_path: Path, unlocked: str) -> None:
    path = str(tmp_path / "lock")
    kept = takeover_lock.take(path, elsewhere(host=os.uname().nodename, boot="another/pid:[1]"))
    descriptor = takeover_lock.take(path, owned())
    assert takeover_lock.epoch_of(descriptor) == 2
    takeover_lock.release(descriptor)
    os.close(kept)
    namespace = f"{procfs.boot().partition('/')[0]}/pid:[1]"  # a container of this host
    os.close(takeover_lock.take(path, elsewhere(host=os.uname().nodename, boot=namespace)))
    assert unlocked == "flock" or takeover_lock.holder(path) is not None


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"epoch": "x", "pid": null}', b"\xff" * 600])
def test_what_is_no_record_is_no_owner(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    assert takeover_lock.holder(str(path)) is None
    descriptor = takeover_lock.take(str(path), owned("c"))
    assert json.loads(path.read_bytes())["claim"] == "c"
    takeover_lock.release(descriptor)


def test_one_that_died_before_its_file_was_the_lock_s(tmp_path: Path, unlocked: str) -> None:
    path = tmp_path / "lock"
    takeover_lock.release(takeover_lock.take(str(path), owned()))
    dead = elsewhere(host=os.uname().nodename, boot=procfs.boot(), epoch=2)
    (tmp_path / "lock.2").write_bytes(json.dumps(vars(dead)).encode())
    descriptor = takeover_lock.take(str(path), owned())
    assert takeover_lock.epoch_of(descriptor) == 3
    takeover_lock.release(descriptor)


def test_one_that_slept_between_winning_and_having_is_put_right(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first = takeover_lock.take(path, elsewhere())
    second = takeover_lock.break_lock(path, elsewhere(epoch=1), owned())
    assert second is not None
    os.link(f"{path}.1", f"{path}.late")
    Path(f"{path}.late").replace(path)
    assert not takeover_lock.lost(path, 2)
    assert takeover_lock.lost(path, 1)
    os.close(first)
    takeover_lock.release(second)


def test_the_next_owner_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An isolator that is killed on a full disk is started again there."""
    path = str(tmp_path / "lock")
    first = takeover_lock.take(path, owned())
    takeover_lock.spare(path, 1)
    takeover_lock.release(first)
    create = os.open

    def full(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT and not os.path.lexists(path):
            raise OSError(errno.ENOSPC, "full")
        return create(path, flags, mode)

    monkeypatch.setattr(os, "open", full)
    for epoch in range(2, 6):
        descriptor = takeover_lock.take(path, owned())
        assert takeover_lock.epoch_of(descriptor) == epoch
        takeover_lock.spare(path, epoch)
        assert takeover_lock.epoch_of(descriptor) == epoch
        holder = takeover_lock.holder(path)
        assert holder is not None and holder.epoch == epoch
        takeover_lock.release(descriptor)
    assert {f"lock.{epoch}" for epoch in range(1, 6)} <= {file.name for file in tmp_path.iterdir()}


def test_a_spare_that_a_dead_host_has_locked_is_not_used(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    kept = takeover_lock.take(path, elsewhere())
    second = takeover_lock.break_lock(path, elsewhere(epoch=1), owned())
    assert second is not None
    takeover_lock.spare(path, 2)
    takeover_lock.release(second)
    third = takeover_lock.take(path, owned())
    assert takeover_lock.flock(third, fcntl.LOCK_EX)
    takeover_lock.release(third)
    assert takeover_lock.holder(path) is None
    os.close(kept)


def test_many_at_once_come_to_one(tmp_path: Path, unlocked: str) -> None:
    path = str(tmp_path / "lock")
    won: list[int] = []
    start = threading.Barrier(8)

    def run() -> None:
        start.wait()
        with suppress(HeldError):
            won.append(takeover_lock.take(path, owned()))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    takeover_lock.release(won[0])


def test_two_that_break_a_lock_come_to_one(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    kept = takeover_lock.take(path, elsewhere())
    found = [takeover_lock.break_lock(path, elsewhere(epoch=1), owned()) for _ in range(2)]
    assert found[0] is not None and found[1] is None
    assert takeover_lock.lost(path, 1) and not takeover_lock.lost(path, 2)
    os.close(kept)
    takeover_lock.release(found[0])


# Between hosts ----------------------------------------------------------------------------------------

Maker = Callable[..., NfsBed]


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    end(*processes)


@pytest.mark.parametrize("how", ["shared", "local", "none"])
def test_two_hosts_at_once_come_to_one_owner(
    nfs_bed: Maker, started: list[subprocess.Popen[str]], how: str
) -> None:
    hosts = ("a", "b")
    bed = nfs_bed(*hosts, local=hosts if how == "local" else ())
    if how == "none":
        for host in hosts:
            bed.change(host, flock_error=errno.ENOSYS, fcntl_error=errno.ENOLCK)
    for round_ in range(3):
        pair = [taker(bed.at(host) / f"lock-{round_}", host=host) for host in hosts]
        started += pair
        assert sorted(go(*pair)) == ["lost", "won"]


def test_a_crashed_host_s_lock_is_broken_once(nfs_bed: Maker, started: list[subprocess.Popen[str]]) -> None:
    bed = nfs_bed("dead", "a", "b")
    first = taker(bed.at("dead") / "lock", host="dead")
    assert go(first) == ["won"]
    bed.change("dead", crashed=True)
    end(first)
    assert takeover_lock.holder(str(bed.at("a") / "lock")) is not None
    pair = [taker(bed.at(host) / "lock", host=host, breaks=1) for host in ("a", "b")]
    started += pair
    assert sorted(go(*pair)) == ["lost", "won"]
    # The old owner's own look asks the server, whatever its host has cached.
    until(lambda: takeover_lock.lost(str(bed.at("dead") / "lock"), 1), "the dead one's lock is lost", 60)
