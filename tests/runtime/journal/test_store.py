"""The journal's file: order, durability, damage, errors."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.model.workflow import BadNode
from whesl.runtime.journal import database_integrity, sqlite_errors
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.consumer import CAUGHT_UP, CaughtUp, JournalConsumer
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

NOW = 1_000_000.0


def test_records_come_back_in_order_with_their_content(tmp_path: Path) -> None:
    bad = BadNode(node="n1", reason="r", task="w/t", time=NOW, expires=NOW + 1)
    with Journal(tmp_path / "j.db") as journal:
        assert journal.append("raised", {"a": 1}, NOW) == 1
        assert journal.append_many([("step", {"n": 1}), ("node", bad)], NOW + 1) == [2, 3]
        records = list(journal.read())
    assert [record.kind for record in records] == ["raised", "step", "node"]
    assert records[0] == Record(seq=1, time=NOW, kind="raised", content=msgspec.Raw(b'{"a":1}'))
    assert records[0].data == {"a": 1}
    assert msgspec.convert(records[2].data, BadNode) == bad


def test_reading_since_and_by_kind(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.db") as journal:
        journal.append_many([(kind, {}) for kind in "abab"], NOW)
        assert [r.seq for r in journal.read(2)] == [3, 4]
        assert [r.seq for r in journal.read(kinds=["b"])] == [2, 4]


def test_a_reopened_journal_counts_on(tmp_path: Path) -> None:
    Journal(tmp_path / "j.db").append("a", {}, NOW)
    with Journal(tmp_path / "j.db") as journal:
        assert journal.damage is None
        assert journal.append("b", {}, NOW) == 2


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    Journal(tmp_path / "j.db").append("a", {}, NOW)
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_what_was_appended_outlives_kill_9(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom whesl.runtime.journal.store import Journal\n"
        "j = Journal(Path(sys.argv[1]))\n"
        "n = 0\nwhile True:\n    n += 1\n    print(j.append('n', {'n': n}, 0.0), flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "j.db")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(20):
        child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    told = 20 + len([line for line in child.stdout.read().splitlines() if line])
    child.wait()
    with Journal(tmp_path / "j.db") as journal:
        numbers = [record.data["n"] for record in journal.read()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= told - 1  # the last line may have been cut by the kill


def test_a_second_writer_is_told(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db")
    first.append("a", {}, NOW)
    with pytest.raises(JournalError) as caught:
        second.append("b", {}, NOW)
    assert caught.value.reason == "foreign-writer"
    assert [r.kind for r in first.read()] == ["a"]


def test_several_records_are_written_all_or_none(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "j.db"), Journal(tmp_path / "j.db")
    first.append_many([("a", {}), ("a", {})], NOW)
    with pytest.raises(JournalError):
        second.append_many([("b", {}), ("b", {}), ("b", {})], NOW)
    assert [r.kind for r in first.read()] == ["a", "a"]


def test_a_full_file_system_is_named_and_nothing_is_half_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.db") as journal:
        journal.append("a", {}, NOW)
        pages = journal._database.connection.execute("PRAGMA page_count").fetchone()[0]
        journal._database.connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(JournalError) as caught:
            journal.append_many([("small", {}), ("big", {"x": "y" * 100_000})], NOW)
        assert caught.value.reason == "full"
        assert "WHESL_HOME" in caught.value.hint
        journal._database.connection.execute("PRAGMA max_page_count=100000")
        assert journal.append("b", {}, NOW) == 2
        assert [r.kind for r in journal.read()] == ["a", "b"]


def test_a_full_file_system_leaves_the_reserve(tmp_path: Path) -> None:
    """A limit of SQLite's own keeps the file from growing, as a full disk does; free pages are left."""
    with Journal(tmp_path / "j.db", reserve=200_000) as journal:
        pages = journal._database.connection.execute("PRAGMA page_count").fetchone()[0]
        journal._database.connection.execute(f"PRAGMA max_page_count={pages}")
        for number in range(40):
            journal.append("a", {"n": number, "pad": "p" * 1000}, NOW)
        with pytest.raises(JournalError) as caught:
            journal.append("big", {"x": "y" * 400_000}, NOW)
        assert caught.value.reason == "full"
        journal._database.connection.execute("PRAGMA max_page_count=100000")
        assert journal.append("b", {}, NOW) == 41
        assert [r.seq for r in journal.read()] == list(range(1, 42))


def test_an_exceeded_quota_is_a_full_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite calls it an input-output error; a look at the directory tells."""
    error = sqlite3.OperationalError("disk I/O error")
    assert sqlite_errors.translated(error, tmp_path / "j.db", "write to").reason == "input-output"
    monkeypatch.setattr(sqlite_errors, "no_room", lambda _: True)
    assert sqlite_errors.translated(error, tmp_path / "j.db", "write to").reason == "full"


def test_a_directory_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as caught:
        Journal(tmp_path / "none" / "j.db")
    assert os.strerror(errno.ENOENT) in caught.value.message


def test_readers_need_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as caught:
        Journal(tmp_path / "j.db", read_only=True)
    assert caught.value.reason == "missing"


def test_readers_cannot_write_and_closed_journals_neither(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with pytest.raises(JournalError):
        Journal(tmp_path / "j.db", read_only=True).append("a", {}, NOW)
    journal.close()
    with pytest.raises(JournalError) as caught:
        journal.append("a", {}, NOW)
    assert caught.value.reason == "closed"


def test_remote_file_systems_get_no_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_integrity, "local", lambda _: False)
    with Journal(tmp_path / "j.db") as journal:
        journal.append("a", {}, NOW)
        assert journal._database.connection.execute("PRAGMA journal_mode").fetchone()[0] == "persist"
        assert not (tmp_path / "j.db-shm").exists()


class TestDamage:
    def test_a_record_that_was_altered_is_reported_and_the_rest_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "j.db"
        with Journal(path) as journal:
            journal.append_many([("a", {"n": n}) for n in range(5)], NOW)
        raw = sqlite3.connect(path)
        raw.execute("UPDATE journal SET data = ? WHERE seq = 4", (b'{"n":99}',))
        raw.commit()
        raw.close()
        with Journal(path, read_only=True) as reader:
            seen: list[int] = []
            with pytest.raises(JournalError) as caught:
                seen.extend(record.seq for record in _collect(reader, seen))
            assert caught.value.reason == "damaged"
            assert seen == [1, 2, 3]
        with Journal(path) as journal:
            assert journal.damage is not None
            assert journal.damage.missing == (4,)
            assert Path(journal.damage.file).exists()
            kinds = [(r.seq, r.kind) for r in journal.read()]
            assert kinds == [(1, "a"), (2, "a"), (3, "a"), (5, "a"), (6, "journal-damaged")]
            assert journal.append("b", {}, NOW) == 7
        with Journal(path) as again:
            assert again.damage is None

    def test_a_torn_file_keeps_its_readable_part(self, tmp_path: Path) -> None:
        path = tmp_path / "j.db"
        with Journal(path) as journal:
            for number in range(300):
                journal.append("a", {"n": number, "pad": "x" * 200}, NOW)
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(size // 2)
            file.write(os.urandom(size - size // 2))
        with Journal(path) as journal:
            assert journal.damage is not None
            kept = [r.data["n"] for r in journal.read(kinds=["a"])]
            assert kept[:50] == list(range(50))
            assert len(kept) == journal.damage.kept

    def test_a_file_without_anything_readable_is_never_started_afresh(self, tmp_path: Path) -> None:
        path = tmp_path / "j.db"
        path.write_bytes(b"this was never a database, and nobody must lose it" * 100)
        before = path.read_bytes()
        with pytest.raises(JournalError) as caught:
            Journal(path)
        assert caught.value.reason == "damaged"
        assert path.read_bytes() == before

    @pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(4080)])
    def test_an_empty_or_cut_file_is_no_new_journal(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "j.db"
        path.write_bytes(content)
        for read_only in (True, False):
            with pytest.raises(JournalError) as caught:
                list(Journal(path, read_only=read_only).read())
            assert caught.value.reason == "damaged"
        assert path.read_bytes() == content
        with Journal(path, begin_anew=True) as journal:
            assert [record.kind for record in journal.read()] == ["journal-damaged"]
            assert journal.damage is not None
            assert Path(journal.damage.file).read_bytes() == content

    def test_a_journal_is_made_under_another_name(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "j.db", reserve=100_000) as journal:
            journal.append("a", {}, NOW)
            assert {path.name for path in tmp_path.iterdir()} <= {"j.db", "j.db-wal", "j.db-shm"}

    @pytest.mark.parametrize("place", [0, 17, 32, 40, 60, 2000, 32 + 4120 + 5, 32 + 5 * 4120 + 100])
    def test_what_a_killed_writer_left_in_its_log_is_kept(self, tmp_path: Path, place: int) -> None:
        """Whichever byte of the write-ahead log is damaged, the records in it are carried over or told."""
        program = (
            "import os, sys\nfrom pathlib import Path\nfrom whesl.runtime.journal.store import Journal\n"
            "journal = Journal(Path(sys.argv[1]))\n"
            "for n in range(12): journal.append('a', {'n': n, 'pad': 'p' * 900}, 1.0)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        subprocess.run([sys.executable, "-c", program, str(tmp_path / "j.db")], check=False)
        log = tmp_path / "j.db-wal"
        content = bytearray(log.read_bytes())
        content[place] ^= 0xFF
        log.write_bytes(content)
        with Journal(tmp_path / "j.db") as journal:
            kept = {record.data["n"] for record in journal.read(kinds=["a"])}
            if kept != set(range(12)):
                assert journal.damage is not None
                assert set(journal.damage.missing) >= {n + 1 for n in range(max(kept)) if n not in kept}
            assert len(kept) >= 11

    @settings(max_examples=examples(40), deadline=None)
    @given(position=st.floats(0, 1), content=st.binary(min_size=1, max_size=64))
    def test_no_damage_gives_a_wrong_record(
        self, tmp_path_factory: pytest.TempPathFactory, position: float, content: bytes
    ) -> None:
        path = tmp_path_factory.mktemp("damage") / "j.db"
        with Journal(path) as journal:
            journal.append_many([("a", {"n": n, "pad": "p" * 50}) for n in range(100)], NOW)
        with path.open("r+b") as file:
            file.seek(int(position * (path.stat().st_size - 1)))
            file.write(content)
        try:
            with Journal(path) as journal:
                for record in journal.read(kinds=["a"]):
                    assert record.data == {"n": record.seq - 1, "pad": "p" * 50}
                present = [r.seq for r in journal.read(kinds=["a"])]
                assert present == list(range(1, 101)) or journal.damage is not None
        except JournalError as error:
            assert error.hint


def _collect(journal: Journal, into: list[int]) -> list[Record]:
    for record in journal.read():
        into.append(record.seq)
    return []


class TestConsumer:
    def test_history_then_the_mark_then_live(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "j.db") as journal:
            journal.append_many([("a", {}), ("b", {})], NOW)
            consumer = JournalConsumer(tmp_path / "j.db", since=1)
            first = consumer.poll(0)
            assert isinstance(first, Record) and first.seq == 2
            assert isinstance(consumer.poll(0), CaughtUp)
            with pytest.raises(TimeoutError):
                consumer.poll(0)
            journal.append("c", {}, NOW)
            live = consumer.poll(5)
            assert isinstance(live, Record) and live.kind == "c"
            consumer.close()

    def test_waiting_is_bounded_by_the_given_clock(self, tmp_path: Path) -> None:
        Journal(tmp_path / "j.db")
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        consumer = JournalConsumer(tmp_path / "j.db", clock=lambda: now[0], sleep=sleep)
        assert consumer.poll(1) is CAUGHT_UP
        with pytest.raises(TimeoutError):
            consumer.poll(30)
        assert 30 <= now[0] < 31

    def test_what_another_process_writes_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "j.db"
        Journal(path).close()
        stream = iter(JournalConsumer(path))
        assert next(stream) is CAUGHT_UP
        program = (
            "import sys\nfrom pathlib import Path\nfrom whesl.runtime.journal.store import Journal\n"
            "Journal(Path(sys.argv[1])).append('from-another', {}, 0.0)\n"
        )
        subprocess.run([sys.executable, "-c", program, str(path)], check=True)
        deadline = time.monotonic() + 120
        record = next(stream)
        assert time.monotonic() < deadline
        assert isinstance(record, Record) and record.kind == "from-another"
