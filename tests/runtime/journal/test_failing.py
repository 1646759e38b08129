"""A journal whose file system fails at any write: nothing is lost, comes twice, or is told wrongly."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.runtime.journal import database, database_integrity, store
from whesl.runtime.journal.database import Database
from whesl.runtime.journal.sqlite_errors import JournalError, page_unread, translated
from whesl.runtime.journal.store import Journal
from whesl.runtime.journal.table import SCHEMA

NOW = 1700000000.0


def error(message: str, code: int) -> sqlite3.OperationalError:
    """Return what sqlite3 raises (from Python 3.11 on with its code)."""
    made = sqlite3.OperationalError(message)
    made.sqlite_errorcode = code  # type: ignore[attr-defined]  # as Python 3.11 sets it
    made.sqlite_errorname = "SQLITE_IOERR_WRITE"  # type: ignore[attr-defined]  # as above
    return made


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whesl.runtime.journal.database.time.sleep", lambda _: None)
    monkeypatch.setattr("whesl.files.file_retry.time.sleep", lambda _: None)


# What happens to one insert: it is done, it fails before, or it is done and fails all the same.
HAPPENS = st.lists(st.sampled_from(["done", "fails", "done and fails", "stale"]), min_size=1, max_size=12)


@pytest.mark.costly
@settings(max_examples=examples(60), deadline=None)
@given(happens=HAPPENS, limit=st.sampled_from([0.0, 2.0]))
def test_errors_at_each_write(
    tmp_path_factory: pytest.TempPathFactory, happens: list[str], limit: float
) -> None:
    """``limit`` 0: nothing is repeated, and the caller calls again with more to write, as daemons do."""
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    left = list(happens)
    real = database.insert

    def insert(db: sqlite3.Connection, taken: list[tuple[object, ...]]) -> None:
        what = left.pop(0) if left else "done"
        if what in ("done", "done and fails"):
            real(db, taken)
        if what == "stale":
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        if what != "done":
            raise error("disk I/O error", 778)

    patch = pytest.MonkeyPatch()
    patch.setattr(store, "insert", insert)
    patch.setattr(store, "WRITING", limit)
    try:
        expected: list[int] = []
        waiting: list[tuple[str, dict[str, int]]] = []
        with Journal(path, reserve=64 * 1024) as journal:
            for number in range(20):
                waiting.append(("n", {"n": number}))
                expected.append(number)
                try:
                    journal.append_many(waiting, NOW)
                except JournalError as failed:
                    assert failed.reason == "input-output", failed
                else:
                    waiting = []
                    assert not journal.tight, "an error of the file system is no full disk"
            while waiting:
                try:
                    journal.append_many(waiting, NOW)
                    waiting = []
                except JournalError:
                    pass
        with Journal(path) as journal:
            assert [record.data["n"] for record in journal.read()] == expected
            assert [record.seq for record in journal.read()] == list(range(1, len(expected) + 1))
            assert journal.damage is None
    finally:
        patch.undo()


def test_reading_goes_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path / "j.db") as journal:
        journal.append_many([("n", {"n": number}) for number in range(5)], NOW)
        connections = 0
        real = Database._connect

        def connect(self: Database) -> sqlite3.Connection:
            nonlocal connections
            connections += 1
            if connections < 4:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(self.path))
            return real(self)

        monkeypatch.setattr(Database, "_connect", connect)
        journal._database._let_go()
        assert [record.data["n"] for record in journal.read()] == list(range(5))
        assert connections == 4


def test_a_page_that_cannot_be_read_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's check says so in its verdict; the file was put aside as damaged for that."""
    assert page_unread("*** in database main ***\nTree 2 page 3: unable to get the page. error code=266")
    assert not page_unread("*** in database main ***\nTree 2 page 3: unable to get the page. error code=11")
    assert not page_unread("ok")
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        journal.append("n", {}, NOW)
    monkeypatch.setattr(database, "page_unread", lambda _: True)
    monkeypatch.setattr(database, "READING", 0.0)
    monkeypatch.setattr(Database.repeated, "__defaults__", (0.0,))
    with pytest.raises(JournalError) as raised:
        Journal(path)
    assert raised.value.reason == "input-output" and "EIO" in raised.value.message
    assert list(tmp_path.glob("*damaged*")) == []


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("disk I/O error", 10, "input-output"),
        ("unable to open database file", 14, "read-only"),
        ("database or disk is full", 13, "full"),
        ("attempt to write a readonly database", 8, "read-only"),
        ("database disk image is malformed", 11, "damaged"),
    ],
)
def test_each_error_is_told_as_what_it_is(tmp_path: Path, said: str, code: int, reason: str) -> None:
    assert translated(error(said, code), tmp_path / "j.db", "write to").reason == reason


@pytest.mark.parametrize("wal", [True, False])
def test_a_journal_is_made_in_one_piece(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "j.db"
    database_integrity.create(path, SCHEMA, wal=wal, spare=64 * 1024)
    assert path.stat().st_size >= 64 * 1024
    assert list(tmp_path.iterdir()) == [path]
    with Journal(path, reserve=64 * 1024) as journal:
        assert journal.append("n", {}, NOW) == 1 and not journal.tight


@pytest.mark.parametrize("call", ["copy2", "fsync", "replace"])
def test_a_dead_host_s_journal_is_renewed_although_a_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """One stale handle ended a job that was to go on with its task: "the lock cannot be taken over"."""
    place, name = {"copy2": (shutil, call), "fsync": (os, call), "replace": (Path, call)}[call]
    real, failed = getattr(place, name), [True, True]

    def fails(*arguments: object) -> object:
        if failed and failed.pop():
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(*arguments)

    path = tmp_path / "journal.db"
    with Journal(path):
        pass
    before = path.read_bytes(), path.stat().st_ino
    monkeypatch.setattr(database_integrity, "local", lambda _: False)
    monkeypatch.setattr(place, name, fails)
    database_integrity.renew(path)
    assert not failed
    assert path.read_bytes() == before[0] and path.stat().st_ino != before[1]
    assert [found.name for found in tmp_path.glob(".*renewed")] == []


@pytest.mark.parametrize("failing", [0, 1, 2, 3])
def test_a_damaged_journal_is_carried_over_although_a_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The new file's connection was opened anew after an error, and the old one then used: a traceback."""
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        for number in range(3):
            journal.append("a", {"n": number}, NOW + number)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE journal SET crc = crc + 1 WHERE seq = 2")
    db.close()
    calls = 0
    repeated = Database.repeated

    def fails(self: Database, call: Any, doing: str, limit: float = 60.0) -> Any:
        nonlocal calls
        if ".rescue-" in self.path.name and doing == "write to":
            calls += 1
            if calls - 1 == failing:
                told = repeated(self, call, doing, limit)
                self._let_go()  # as after a second error
                return told
        return repeated(self, call, doing, limit)

    monkeypatch.setattr(Database, "repeated", fails)
    with Journal(path) as journal:
        assert [record.data.get("n") for record in journal.read() if record.kind == "a"] == [0, 2]
        assert journal.damage is not None and journal.damage.missing == (2,)
    assert calls == 3


def test_a_writer_waits_briefly_for_a_lock_of_somebody_else(tmp_path: Path) -> None:
    """It waited 10 s at each record, deaf to SIGTERM: a task with a locked journal did not end for long."""
    with Journal(tmp_path / "journal.db") as journal:
        waits = journal._database.connection.execute("PRAGMA busy_timeout").fetchone()[0]
    assert waits <= 1000 * database.WRITING
