"""The real daemon on a journal that is long enough for snapshots: killed, started, its files damaged."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.alike import alike
from tests.journals import of_daemon
from tests.runtime.coordinator.daemons import Isolator, kill, register, until, whesl
from whesl.model import home as places
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client import start
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.storage.background_snapshots import Limits
from whesl.runtime.journal import snapshot
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.messages import Finished, Welcome


def lengthened(home: Path) -> None:
    """Write as many answered commands as make a snapshot due; the last thousand are remembered."""
    directory = home / "coordinator"
    directory.mkdir(mode=0o700)
    with Journal(directory / "journal.db") as journal:
        answered: list[tuple[str, Any]] = [
            ("command", of_daemon("command", id=f"c{number}")) for number in range(Limits().records)
        ]
        journal.append_many(answered, time.time())


@pytest.mark.costly
def test_killed_and_started_on_a_snapshot(home: Path, isolator: Callable[..., Isolator]) -> None:
    lengthened(home)
    start.ensure_running(home)
    directory = home / "coordinator"
    until(lambda: snapshot.found(directory), "a snapshot")
    # What comes after it is in the journal alone.
    register(home)
    a = isolator("a")
    a.wait(Welcome)
    a.send(Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=1, claim="a.0"))
    a.flush()
    before = known_state(home)
    assert not before.damage and before.state.tasks["w/a"].state is TaskState.COMPLETED
    assert len(before.state.commands) > 900
    kill(home)
    start.ensure_running(home)
    again = known_state(home)
    assert again.state == before.state
    assert "snapshots " in whesl("coordinator", "status").stdout
    # One that is damaged is said, and costs time only.
    kill(home)
    for path in snapshot.found(directory):
        path.write_bytes(path.read_bytes()[:-1])
    assert known_state(home).state == before.state
    start.ensure_running(home)
    assert "is damaged" in places.coordinator_log(home).read_text()
    until(lambda: len(snapshot.found(directory)) == 1 and sound(directory), "another snapshot")
    assert known_state(home).state == before.state
    assert "w/a\tcompleted" in whesl("status").stdout


def sound(directory: Path) -> bool:
    try:
        snapshot.read(snapshot.found(directory)[0], lambda *_: None)
    except snapshot.SnapshotError:
        return False
    return True


@pytest.mark.costly
@pytest.mark.parametrize("what", alike(["snapshots", "everything"]))
def test_a_copy_of_the_directory_is_a_backup(home: Path, what: str) -> None:
    """Of a coordinator that has ended; without its snapshots too."""
    lengthened(home)
    start.ensure_running(home)
    directory = home / "coordinator"
    until(lambda: snapshot.found(directory), "a snapshot")
    register(home)
    assert start.stop(home)
    before = known_state(home).state
    copy = home / "copy"
    copy.mkdir()
    for path in directory.iterdir():
        if path.is_file() and (what == "everything" or not path.name.startswith("snapshot-")):
            path.rename(copy / path.name)
    for path in directory.glob("*"):
        path.unlink() if path.is_file() else path.rmdir()
    for path in copy.iterdir():
        path.rename(directory / path.name)
    start.ensure_running(home)
    assert known_state(home).state == before
