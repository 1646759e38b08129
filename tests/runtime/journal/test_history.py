"""Old records in files of their own: every reader sees one history, wherever its records lie."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.runtime.journal import archived_records, database_integrity
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.consumer import CAUGHT_UP, JournalConsumer
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

NOW = 1_000_000.0
MANY = 1200  # more than are read at once


def made(path: Path, count: int, first: int = 1) -> Journal:
    journal = Journal(path)
    journal.append_many([("n", {"n": number}) for number in range(first, first + count)], NOW)
    return journal


def numbers(path: Path, since: int = 0) -> list[int]:
    with Journal(path, read_only=True) as journal:
        records = list(journal.read(since))
    assert all(record.data["n"] == record.seq for record in records if record.kind == "n")
    return [record.seq for record in records]


def test_one_history_at_every_moment(tmp_path: Path) -> None:
    """Before, between copying and removing, while a few are removed, and after; twice."""
    path = tmp_path / "j.db"
    with made(path, MANY) as journal:
        everything = list(range(1, MANY + 1))
        for last in (400, 1100):
            with Journal(path, read_only=True) as reader:
                reader.put_away(last)
            assert numbers(path) == everything
            while journal.forget(150):
                assert numbers(path) == everything
                assert numbers(path, since=333) == everything[333:]
        rows = journal._database.row("SELECT count(*), min(seq), max(seq) FROM journal")
        assert rows == (101, 1, MANY)
        journal.append("n", {"n": MANY + 1}, NOW)
    assert [segment[:2] for segment in archived_records.segments(path, origin(path))] == [
        (2, 400),
        (401, 1100),
    ]
    assert numbers(path) == [*everything, MANY + 1]
    with Journal(path) as journal:
        assert journal.damage is None and journal.last == MANY + 1 and journal.complete()


def origin(path: Path) -> int:
    with Journal(path, read_only=True) as journal:
        first = journal.anchor(1)
        assert first is not None
        return first.crc


@settings(max_examples=examples(20), deadline=None)
@given(
    moves=st.lists(st.tuples(st.integers(2, 60), st.integers(0, 40)), max_size=6), since=st.integers(0, 62)
)
def test_whatever_was_moved_when(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, int]], since: int
) -> None:
    path = tmp_path_factory.mktemp("history") / "j.db"
    with made(path, 60) as journal:
        for last, removed in moves:
            journal.put_away(last)
            if removed:
                journal.forget(removed)
            assert list(range(since + 1, 61)) == [record.seq for record in journal.read(since)]


def test_a_reader_that_takes_its_time_sees_what_was_moved_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with made(path, MANY) as journal, Journal(path, read_only=True) as reader:
        records = reader.read()
        seen = [next(records).seq for _ in range(10)]
        journal.put_away(1000)
        while journal.forget(300):
            pass
        assert [*seen, *(record.seq for record in records)] == list(range(1, MANY + 1))


def test_a_reader_that_takes_its_time_keeps_nobody_from_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`whesl events | less` where there is no write-ahead log: readers and the writer take turns."""
    monkeypatch.setattr(database_integrity, "local", lambda _: False)
    path = tmp_path / "j.db"
    with made(path, MANY) as journal, Journal(path, read_only=True) as reader:
        journal._database.connection.execute("PRAGMA busy_timeout=0")
        records = reader.read()
        next(records)
        journal.append("n", {"n": MANY + 1}, NOW)
        assert [record.seq for record in records][-1] == MANY + 1


def test_a_consumer_begins_with_what_was_moved(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with made(path, 50) as journal:
        journal.put_away(30)
        journal.forget(100)
    consumer = JournalConsumer(path, since=20)
    found = [consumer.poll(1) for _ in range(31)]
    assert [each.seq for each in found if isinstance(each, Record)] == list(range(21, 51))
    assert found[-1] is CAUGHT_UP
    consumer.close()


def test_files_of_another_journal_are_not_looked_at(tmp_path: Path) -> None:
    """Its journal was moved away, and a new one begun: nothing is read, nor removed, because of them."""
    path = tmp_path / "j.db"
    with made(path, 50) as journal:
        journal.put_away(40)
    for file in tmp_path.glob("j.db*"):
        file.unlink()
    with Journal(path) as journal:
        journal.append_many([("n", {"n": number}) for number in range(1, 61)], NOW + 1)
        assert not journal.forget(100) and journal.put_away_up_to() == 0
        journal.put_away(40)
        journal.forget(100)
    assert numbers(path) == list(range(1, 61))
    assert len(list(tmp_path.glob("history-*"))) == 2


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "no-gzip"])
def test_damage_is_said_where_it_is(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "j.db"
    with made(path, 400) as journal:
        journal.put_away(300)
        journal.forget(1000)
    (old,) = tmp_path.glob("history-*")
    content = old.read_bytes()
    middle = len(content) // 2
    old.write_bytes(
        {
            "cut": content[:-9],
            "changed": content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
            "empty": b"",
            "no-gzip": b"x" + content,
        }[damage]
    )
    with Journal(path, read_only=True) as journal:
        seen = []
        with pytest.raises(JournalError) as caught:
            seen += [record.seq for record in journal.read()]
        assert caught.value.reason == "damaged" and "--since 300" in caught.value.hint
        assert [record.seq for record in journal.read(300)] == list(range(301, 401))


def test_a_full_disk_leaves_all_records_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j.db"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with made(path, 50) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(JournalError, match="full"):
                journal.put_away(40)
        assert not list(tmp_path.glob("*history-*")) and not journal.forget(100)
        journal.put_away(40)
        assert journal.forget(100)


def test_the_oldest_files_go_when_there_are_too_many(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with made(path, 400) as journal:
        for last in (100, 200, 300):
            journal.put_away(last)
        journal.forget(1000)
        sizes = [segment.path.stat().st_size for segment in archived_records.segments(path, origin(path))]
        (tmp_path / ".history-1.new").write_bytes(b"half")
        assert journal.complete()
        assert not archived_records.shrink(path, origin(path), sum(sizes))
        removed = archived_records.shrink(path, origin(path), sum(sizes[1:]))
        assert [segment[:2] for segment in removed] == [(2, 100)]
        assert not list(tmp_path.glob(".history*"))
        assert numbers(path) == [1, *range(101, 401)] and not journal.complete()
        assert len(archived_records.shrink(path, origin(path), 0)) == 1, "the newest one stays"


def test_damage_to_the_journal_does_not_count_what_was_moved(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with made(path, 400) as journal:
        journal.put_away(300)
        journal.forget(1000)
        journal._database.connection.execute("UPDATE journal SET crc = 0 WHERE seq = 350")
    with Journal(path, after=500) as journal:
        assert journal.damage is not None
        assert journal.damage.missing == (350, *range(401, 501))
        assert journal.last == 501, "a number that was given once is not given again"
        assert journal.complete()
        seen = [record.seq for record in journal.read()]
    assert seen == [*range(1, 350), *range(351, 401), 501]
