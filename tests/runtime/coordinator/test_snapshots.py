"""A snapshot and the records after it are the journal: whenever it was taken, whatever happened to it."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.journals import of_daemon, of_daemons, rebuild, report
from tests.runtime.coordinator.test_crashes import play
from tests.runtime.coordinator.world import World, raised
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.pathmap import PathMap, PathRule
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.core.changes.apply_record import apply
from whesl.runtime.coordinator.core.journal_replay import Replay
from whesl.runtime.coordinator.core.state import Settings, State
from whesl.runtime.coordinator.counters import Figures
from whesl.runtime.coordinator.storage import snapshots
from whesl.runtime.coordinator.storage.background_snapshots import Limits, Snapshotter
from whesl.runtime.coordinator.storage.restore import reopen
from whesl.runtime.coordinator.storage.snapshots import Kept, Reader, pieces
from whesl.runtime.journal import snapshot
from whesl.runtime.journal.snapshot import Head, SnapshotError
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.messages import RecoveryDone

PATIENCE = 60.0
SETTINGS = Settings()


def written() -> list[tuple[str, dict[str, Any], float]]:
    """A workflow's life with exceptions, recoveries, requeues, controls; and what many share."""
    world = World()
    play(world)
    for ordinal in (2, 3, 4):
        # Counted exceptions of several tasks become one.
        glitch = raised("GLITCH", "a", ordinal)
        told = {"raised": msgspec.to_builtins(glitch)}
        world.tell("late", report(task="w/a", kind="raised", time=world.now, data=told))
        world.tell(
            "late",
            RecoveryDone(task="w/a", ordinal=ordinal, exception="GLITCH", outcome=RecoveryOutcome.FAILED),
        )
    same = msgspec.to_builtins(Configuration(version=3, path_map=PathMap((PathRule("/a", "/b"),))))
    shared = {"tasks": {"w/c": 0, "w/d": 0}, "configurations": [same], "signal": 10}
    world.journal.append(("configured", shared, world.now))
    world.journal.append(("control", {"id": "k", "task": "w/d", "action": "pause"}, world.now))
    world.journal.append(("job-cancel", {"job_id": "j9", "task": "w/d"}, world.now))
    return world.journal


RECORDS = written()


def after(count: int) -> State:
    return rebuild(RECORDS[:count], SETTINGS)


def through(state: State) -> State:
    """Through the bytes of a snapshot."""
    reader = Reader()
    for word, content in pieces(Kept(state=state)):
        reader.take(word, content)
    return reader.kept(SETTINGS).state


def ordered(state: State) -> list[list[str]]:
    """The orders of all its maps: the same events have to give the same order of commands."""
    maps = (state.workflows, state.tasks, state.live, state.aliases, state.recoveries, state.requeues)
    return [list(each) for each in maps]


@settings(max_examples=examples(60), deadline=None)
@given(moment=st.integers(0, len(RECORDS)), later=st.integers(0, len(RECORDS)))
def test_any_moment_and_any_number_of_records_after_it(moment: int, later: int) -> None:
    moment, later = sorted((moment, later))
    begun = through(after(moment))
    assert begun == after(moment) and ordered(begun) == ordered(after(moment))
    replay, one_by_one = Replay(SETTINGS, begun), begun
    for record, when in of_daemons(RECORDS[moment:later]):
        replay.take(record, when)
        one_by_one = apply(one_by_one, record, when)
    whole = replay.state()
    assert whole == one_by_one == after(later) and ordered(whole) == ordered(after(later))
    assert begun == after(moment), "what a snapshot was read into is not changed by what comes after it"


def test_the_life_has_something_of_everything() -> None:
    """Else the test above says little."""
    state = after(len(RECORDS))
    empty = {name for name in State.__struct_fields__ if not getattr(state, name)} - {"volatile"}
    assert not empty - {"live", "aliases"}, empty
    assert any(task.outcomes for task in state.tasks.values())
    assert any(workflow.counted for workflow in state.workflows.values())


def test_tasks_that_were_changed_alike_still_share_a_configuration() -> None:
    """Ten thousand have one; else they had ten thousand after a restart."""
    state = through(after(len(RECORDS)))
    assert state.tasks["w/c"].configuration is state.tasks["w/d"].configuration
    plain = [task.configuration for task in through(after(2)).tasks.values()]
    assert len(plain) > 1 and all(each is plain[0] for each in plain)


# On disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "coordinator").mkdir()
    return tmp_path / "coordinator"


def append(journal: Journal, first: int, last: int) -> None:
    """Write records as the daemon does, each with the message it came from."""
    for number in range(first, last + 1):
        kind, data, when = RECORDS[(number - 1) % len(RECORDS)]
        origin = [f"s{number % 3}", "i", number, max(1, number - 5)]
        journal.append(kind, of_daemon(kind, {**data, "from": origin}), when)


def take(journal: Journal) -> Path:
    """Take a snapshot of all that is in a journal."""
    last = journal.anchor(journal.last)
    assert last is not None
    head = Head(last=last, first=journal.anchor(1))
    return snapshot.write(journal.path.parent, head, pieces(memory(journal)))


def memory(journal: Journal) -> Kept:
    return reopen(journal, SETTINGS)[1]


@pytest.fixture
def journal(place: Path) -> Iterator[Journal]:
    with Journal(place / "journal.db") as made:
        append(made, 1, 20)
        yield made


def test_all_that_is_in_memory_comes_back(journal: Journal) -> None:
    """The state, the messages that were taken in, and what was counted; with and without snapshots."""
    whole = []
    for count in (20, 30, 45):
        append(journal, journal.last + 1, count)
        for path in snapshot.found(journal.path.parent):
            path.unlink()
        whole.append(memory(journal))
        take(journal)
        begun, kept = reopen(journal, SETTINGS)
        assert (begun.seq, begun.said) == (count, ()) and kept == whole[-1]
    append(journal, 46, 60)
    begun, kept = reopen(journal, SETTINGS)
    assert begun.seq == 45 and known_state(journal.path.parents[1]).state == kept.state
    begun.path.unlink()  # type: ignore[union-attr]  # there is one
    assert memory(journal) == kept
    assert kept.inbox and Figures() != kept.figures


def test_a_damaged_snapshot_falls_back_to_the_one_before_and_to_the_journal(journal: Journal) -> None:
    first = take(journal)
    append(journal, 21, 30)
    second = take(journal)
    append(journal, 31, 40)
    kept = memory(journal)
    second.write_bytes(second.read_bytes()[:-20])
    begun, again = reopen(journal, SETTINGS)
    assert again == kept and begun.path == first
    assert len(begun.said) == 1 and str(second) in begun.said[0] and "damaged" in begun.said[0]
    first.write_bytes(b"")
    begun, again = reopen(journal, SETTINGS)
    assert again == kept and begun.path is None and len(begun.said) == 2
    assert known_state(journal.path.parents[1]).state == kept.state


def test_a_snapshot_of_sound_lines_without_sense_is_passed_over(journal: Journal) -> None:
    head = Head(last=journal.anchor(20), first=journal.anchor(1))  # type: ignore[arg-type]  # it is there
    good = list(pieces(memory(journal)))
    for wrong in (
        [],
        good[:-1],
        [*good, ("tomorrow", b"{}")],
        [("workflow-tasks", b"[]"), *good],
        [*good, ("tasks", b'[{"id":1}]')],
        [*good, ("tasks", b"\xff")],
    ):
        snapshot.write(journal.path.parent, head, wrong)
        begun = snapshots.begin(journal)
        assert begun.path is None and len(begun.said) == 1, wrong
    with pytest.raises(SnapshotError):
        snapshots.prove(journal.path.parent / "snapshot-000000000020")


def test_the_snapshot_of_another_journal_is_put_aside(place: Path, tmp_path: Path) -> None:
    """The journal was moved away, as a hint says, and the snapshot was not."""
    with Journal(place / "journal.db") as journal:
        append(journal, 1, 20)
        path = take(journal)
    for file in place.glob("journal.db*"):
        file.rename(tmp_path / file.name)
    for count in (5, 25):  # its number is not there yet, or is another record's
        with Journal(place / "journal.db") as journal:
            for number in range(journal.last + 1, count + 1):
                kind, data, when = RECORDS[number - 1]
                journal.append(kind, of_daemon(kind, data), when + 1.0)
            begun, kept = reopen(journal, SETTINGS)
            assert begun.path is None and begun.others == (path,) and "another journal" in begun.said[0]
            assert list(kept.state.tasks) == list(after(count).tasks)
            assert journal.last == count
    Snapshotter(journal, begun)
    assert not path.exists() and path.with_name(path.name + ".other").exists()
    assert not snapshot.found(place)


def test_records_that_damage_took_are_in_the_snapshot(place: Path) -> None:
    """A journal that has lost its end goes on from the snapshot, and no number is given twice."""
    with Journal(place / "journal.db") as journal:
        append(journal, 1, 30)
        take(journal)
        whole = memory(journal)
        journal._database.connection.execute("UPDATE journal SET crc = 0 WHERE seq > 25")
    newest = max(map(snapshot.number, snapshot.found(place)))
    with Journal(place / "journal.db", after=newest) as journal:
        assert journal.damage is not None and set(journal.damage.missing) == set(range(26, 31))
        begun, kept = reopen(journal, SETTINGS)
        assert begun.seq == 30 and kept == whole
        append(journal, 32, 35)
        later = memory(journal)
        assert journal.last == 35
    with Journal(place / "journal.db", after=newest) as journal:
        assert journal.damage is None and memory(journal) == later


def test_an_end_that_was_lost_in_silence_is_in_the_snapshot(place: Path) -> None:
    """Somebody removed the write-ahead log: SQLite finds nothing wrong."""
    with Journal(place / "journal.db") as journal:
        append(journal, 1, 30)
        take(journal)
        whole = memory(journal)
        journal._database.connection.execute("DELETE FROM journal WHERE seq > 25")
    with Journal(place / "journal.db") as journal:
        assert memory(journal) == whole
        append(journal, 31, 32)
        assert [record.seq for record in journal.read(24)] == [25, 31, 32]
        assert memory(journal).state == after(32)


# When they are taken ------------------------------------------------------------------------------------

SMALL = Limits(records=10, share=0.0, old=15, removed=7, history=1 << 30, apart=0.0, again=0.0)


class Life:
    """A coordinator as far as its journal goes: records, and a look at each tick."""

    def __init__(self, directory: Path, limits: Limits = SMALL) -> None:
        after = max(map(snapshot.number, snapshot.found(directory)), default=0)
        self.journal = Journal(directory / "journal.db", after=after)
        begun, self.kept = reopen(self.journal, SETTINGS)
        self.snapshotter = Snapshotter(self.journal, begun, limits=limits)

    def go(self, count: int) -> None:
        """Write so many records more, one a tick."""
        for _ in range(count):
            number = self.journal.last + 1
            append(self.journal, number, number)
            self.look()

    def look(self) -> None:
        self.snapshotter.look(0, lambda: memory(self.journal))
        self.snapshotter.wait()


def whole(directory: Path) -> Kept:
    """What all records amount to, without any snapshot: from a copy of the journal and its old records."""
    copy = directory.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for pattern in ("journal.db*", "history-*"):
        for path in directory.glob(pattern):
            shutil.copy(path, copy)
    with Journal(copy / "journal.db") as journal:
        begun, kept = reopen(journal, SETTINGS)
        assert begun.seq == 0
        return kept


def test_snapshots_come_and_old_records_go(place: Path) -> None:
    life = Life(place)
    life.go(200)
    found = [snapshot.number(path) for path in snapshot.found(place)]
    assert found == [200, 190], "the newest two"
    rows = life.journal._database.connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    assert rows < 60, "what is in both was moved out"
    assert [record.seq for record in life.journal.read()] == list(range(1, 201))
    assert memory(life.journal) == whole(place)
    life.journal.close()
    again = Life(place)
    assert again.kept == whole(place)
    again.go(3)
    assert [snapshot.number(path) for path in snapshot.found(place)] == [200, 190]
    assert not life.snapshotter.trouble and not again.snapshotter.trouble


def test_nothing_is_taken_of_a_full_disk_nor_refused_because_of_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    life = Life(place)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        life.go(40)
        assert "file system is full" in life.snapshotter.trouble
        assert sum("file system is full" in each.message for each in caplog.records) == 1, "said once"
        assert not snapshot.found(place)
    life.go(1)
    assert not life.snapshotter.trouble and len(snapshot.found(place)) == 1
    life.journal.tight = True
    life.go(30)
    assert len(snapshot.found(place)) == 1, "none while the journal lives on its reserve"


def test_a_snapshot_that_cannot_be_read_again_replaces_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(place)
    life.go(20)
    before = snapshot.found(place)
    write = snapshot.write

    def broken(*arguments: object, **more: object) -> Path:
        path = write(*arguments, **more)  # type: ignore[arg-type]  # as they came
        path.write_bytes(path.read_bytes()[:-3])
        return path

    monkeypatch.setattr(snapshot, "write", broken)
    life.go(10)
    assert snapshot.found(place) == before and "damaged" in life.snapshotter.trouble


def test_a_mistake_in_the_thread_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object, **__: object) -> Path:
        raise ZeroDivisionError("one")

    monkeypatch.setattr(snapshot, "write", mistaken)
    life = Life(place)
    life.go(12)
    assert "ZeroDivisionError" in life.snapshotter.trouble
    assert memory(life.journal) == whole(place)


def test_without_old_records_and_without_a_snapshot_nothing_is_begun(place: Path) -> None:
    """Too little is left to know what goes on; with a snapshot it is enough."""
    limits = msgspec.structs.replace(SMALL, history=0)
    life = Life(place, limits)
    life.go(120)
    kept = memory(life.journal)
    with Journal(place / "journal.db", read_only=True) as reader:
        assert not reader.complete()
    life.journal.close()
    assert Life(place).kept == kept
    for path in snapshot.found(place):
        path.unlink()
    with pytest.raises(JournalError, match="no longer its oldest records") as caught:
        Life(place)
    assert caught.value.hint
    assert "no longer its oldest records" in known_state(place.parent).damage


@pytest.mark.costly
def test_a_kill_at_any_moment_loses_nothing(place: Path) -> None:
    """A real process that writes records, snapshots and old records, killed again and again."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom tests.runtime.coordinator import test_snapshots as t\n"
        "life = t.Life(Path(sys.argv[1]))\n"
        "while True:\n    life.go(1)\n    print(life.journal.last, flush=True)\n"
    )
    chance = random.Random(7)
    told = 0
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        try:
            first = child.stdout.readline()
            assert first, "it did not start"
            for _ in range(chance.randint(0, 40)):
                child.stdout.readline()
            time.sleep(chance.random() / 100)
        finally:
            os.kill(child.pid, signal.SIGKILL)
            rest = child.stdout.read()
            child.wait()
        told = max(told, *(int(line) for line in [first, *rest.splitlines()] if line.strip().isdigit()))
        kept = whole(place)
        with Journal(place / "journal.db") as journal:
            assert journal.damage is None and journal.last >= told - 1
            assert [record.seq for record in journal.read()] == list(range(1, journal.last + 1))
            assert memory(journal) == kept
    assert snapshot.found(place) and list(place.glob("history-*"))
    life = Life(place)
    life.go(12)
    assert not list(place.glob(".snapshot-*")) and not list(place.glob(".history-*")), "half ones are removed"
