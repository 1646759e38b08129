"""What daemons read again: journals, their records, and the files of a task's directory."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from tests.fuzz.harness import Harness
from tests.runtime.coordinator.world import DIAMOND, FULL, RULES, World, raised
from tests.runtime.isolator.conftest import exception, make_setup
from whesl.files import decode_errors
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.workflow.submission import bad_nodes_file, exactly_once_submission
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError
from whesl.report.collection import gather
from whesl.report.report_builder import summarise
from whesl.runtime.coordinator import json_views
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.core import journal_replay
from whesl.runtime.coordinator.core.changes import apply_record
from whesl.runtime.coordinator.counters import Figures
from whesl.runtime.coordinator.storage import snapshots
from whesl.runtime.coordinator.storage.snapshots import Kept
from whesl.runtime.isolator import resume
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.journal import snapshot
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.database import Anchor
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.snapshot import Head, SnapshotError
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.journal.store import Journal
from whesl.runtime.node_agent.messages import LinkFile
from whesl.runtime.wire.endpoint import read_endpoint
from whesl.runtime.wire.messages import RecoveryRequest

NOW = 1_000_000.0
_RECORDS = 40
_MEMORY = Path("/dev/shm")


def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="whesl-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None))


def _whole() -> bytes:
    """Return a journal's file, with pages of every sort: a table of several levels."""
    directory = _scratch()
    try:
        with Journal(directory / "j.db") as journal:
            for number in range(_RECORDS):
                journal.append("kept", {"n": number, "pad": "p" * 300}, NOW + number)
        return (directory / "j.db").read_bytes()
    finally:
        shutil.rmtree(directory)


_WHOLE = _whole()


def patched(data: bytes, whole: bytes = _WHOLE) -> bytes:
    """Return a damaged file, a journal's if no other is given: the first byte says how.

    0: the rest is the file. 1: cut at a place (three bytes), the rest appended. Otherwise each group of five
    bytes is a place (three bytes), a length (one) and a byte to write there.
    """
    kind, rest = data[:1], data[1:]
    if kind == b"\0":
        return rest
    content = bytearray(whole)
    if kind == b"\1":
        return bytes(content[: int.from_bytes(rest[:3], "big") % len(content)]) + rest[3:]
    for start in range(0, len(rest) - 4, 5):
        place = int.from_bytes(rest[start : start + 3], "big") % len(content)
        length = 1 + rest[start + 3]
        content[place : place + length] = bytes([rest[start + 4]]) * len(content[place : place + length])
    return bytes(content)


def journal(data: bytes) -> None:
    """Open a damaged journal, to read and to go on: what is read was written, what is lost is said."""
    directory = _scratch()
    try:
        path = directory / "j.db"
        path.write_bytes(patched(data))
        damaged = path.read_bytes() != _WHOLE
        try:
            with Journal(path, read_only=True) as reader:
                _right(reader)
        except JournalError as error:
            assert error.reason in ("damaged", "input-output"), error
            assert error.hint
        before = path.read_bytes()
        try:
            with Journal(path) as writer:
                seen = _right(writer)
                assert seen == set(range(_RECORDS)) or writer.damage is not None, "lost in silence"
                if writer.damage is not None:
                    assert damaged
                    assert Path(writer.damage.file).read_bytes() == before
                writer.append("more", {}, NOW)
        except JournalError as error:
            assert error.reason == "damaged", error
            assert error.hint
            assert path.read_bytes() == before
    finally:
        shutil.rmtree(directory)


def _right(opened: Journal) -> set[int]:
    """Return the records that are there; each has to be what was written, as it was written."""
    seen = set()
    for record in opened.read():
        if record.kind == "kept":
            number = record.data["n"]
            assert record.data == {"n": number, "pad": "p" * 300}
            assert (record.seq, record.time) == (number + 1, NOW + number)
            seen.add(number)
    return seen


def _snapshot() -> bytes:
    """Return a snapshot, with pieces of every sort."""
    directory = _scratch()
    try:
        world = World()
        world.workflow()
        peer = world.register("a")
        world.tell(peer, RecoveryRequest(raised=raised(FULL, "a")))
        kept = Kept(state=world.state.durable(), inbox=[("s", "i", 3, (5,))])
        head = Head(last=Anchor(len(world.journal), NOW, 1), first=Anchor(1, NOW, 2))
        return snapshot.write(directory, head, snapshots.pieces(kept)).read_bytes()
    finally:
        shutil.rmtree(directory)


_SNAPSHOT = _snapshot()


def restored(data: bytes) -> None:
    """Read a damaged snapshot, and one whose checksums hold whatever is in it.

    As of a damaged journal, or, when the first byte is 3, each line is a word and the JSON of a piece.
    """
    directory = _scratch()
    try:
        if data[:1] == b"\3":
            lines = (line.partition(b" ") for line in data[1:].split(b"\n"))
            found = [(word.decode("ascii", "replace"), content) for word, _, content in lines]
            path = snapshot.write(directory, Head(last=Anchor(1, NOW, 1)), found)
            with contextlib.suppress(SnapshotError):
                _, kept = snapshots.read(path)
                msgspec.json.encode(json_views.status_view(kept.state))
                assert snapshots.read(
                    snapshot.write(directory, Head(last=Anchor(2, NOW, 1)), snapshots.pieces(kept))
                )
            return
        path = directory / "snapshot-000000000001"
        path.write_bytes(patched(data, _SNAPSHOT))
        try:
            snapshots.read(path)
        except SnapshotError as error:
            assert path.read_bytes() != _SNAPSHOT, error
        else:
            assert path.read_bytes() == _SNAPSHOT, "damage that was not seen"
    finally:
        shutil.rmtree(directory)


class _Line(msgspec.Struct):
    kind: str
    data: dict[str, Any] = {}


_SETUP = make_setup(exception(), coordinator=True)
_BEGUN = records.Workflow(workflow=DIAMOND, spec=RULES, rjms="local", observe=False, environment={})


def history(data: bytes) -> None:
    """Rebuild both daemons' states, and the report, from records of any content: other versions' too."""
    written: list[tuple[str, dict[str, Any], float]] = []
    for number, line in enumerate(data.split(b"\n")):
        try:
            found = msgspec.json.decode(line, type=_Line)
        except UNDECODABLE:
            continue
        written.append((found.kind, {"kind": found.kind, **found.data}, NOW + number))
    replay, figures = journal_replay.Replay(), Figures()
    replay.take(_BEGUN, NOW)
    for kind, content, time in written:
        raw = msgspec.Raw(msgspec.json.encode(content))
        with contextlib.suppress(apply_record.RecordError):
            record = journal_replay.read(Record(seq=1, time=time, kind=kind, content=raw))
            replay.take(record, time)
            figures.take(record)
    state = replay.state()
    msgspec.json.encode(json_views.status_view(state))
    msgspec.json.encode(json_views.nodes_view(state, NOW))
    # Both journals in a home, for the report.
    home = _scratch()
    try:
        task = home / "tasks" / "w" / "a"
        for place in (home / "coordinator", task):
            place.mkdir(parents=True)
            with Journal(place / "journal.db") as opened:
                for kind, content, time in written:
                    opened.append(kind, content, time)
        known_state(home)
        job = Job(setup=msgspec.structs.replace(_SETUP, task=DIAMOND.tasks[0], workflow="w"))
        (task / "job.json").write_bytes(msgspec.json.encode(job))
        with Journal(task / "journal.db") as opened:
            resume.state_of(opened, TaskDir(task), job, Clock(lambda: NOW))
        assert summarise(gather(home, "w")) is not None
    finally:
        shutil.rmtree(home)


def files(data: bytes) -> None:
    """Read each small file of a home and of a task, with these bytes in it."""
    home = _scratch()
    try:
        directory = TaskDir(home / "tasks" / "w" / "a")
        directory.make()
        for kind in (Job, Result, LinkFile):
            directory.job_file.write_bytes(data)
            decode_errors.load(directory.job_file, kind)
        directory.lock_file.write_bytes(data)
        assert directory.owner() is None
        directory.attempt(1).mkdir()
        directory.status(1).write_bytes(data)
        taskdir.read_status(directory.status(1))
        (home / "coordinator").mkdir()
        places.endpoint(home).write_bytes(data)
        read_endpoint(home)
        bad_nodes_file.bad_nodes_file(home).write_bytes(data)
        bad_nodes_file.read(home, NOW)
        submissions = home / "ledger"
        ledger = exactly_once_submission.Ledger(submissions, "t")
        with ledger.locked():
            pass
        for path in submissions.glob("*.lock"):
            path.with_suffix(".json").write_bytes(data)
        with contextlib.suppress(CouldNotObserveError):
            ledger.read()
    finally:
        shutil.rmtree(home)


HARNESSES = (
    Harness("journal", journal),
    Harness(
        "history",
        history,
        (
            '{"kind":"registered","data":{"task":"w/a","alias":"","workflow":"w","step":"a","instance":'
            '"","workspace":"","rjms":"","job_id":"1","claim":"1.0","nodes":[],"peer":"p","attempt":0,"'
            'state":"registered","fresh":false}}\n',
            '{"kind":"report","data":{"task":"w/a","time":1.0,"record":{"kind":"lease-ended","node":"n"'
            ',"attempt":1,"reason":""}}}\n',
            '{"kind":"begun","data":{"claim":"c1","rjms":"","job_id":"","observe":false}}\n',
            '{"kind":"attempt","data":{"attempt":1,"token":"t","nodes":[],"configuration_version":0}}\n',
            '{"kind":"launched","data":{"attempt":1,"pid":0,"started":0}}\n',
            '{"kind":"exited","data":{"attempt":1,"code":1,"signal":0}}\n',
            '{"kind":"raised","data":{"raised":{"exception":"CRASH","task":"w/a","attempt":1,"ordinal":'
            '1,"time":1.0,"evidence":[],"transformed_from":[],"reached":{}}}}\n',
            '{"kind":"decided","data":{"exception":"CRASH","ordinal":1,"action":"recover","reason":"","'
            'level":"","steps":[],"backoff":0.0,"request":false}}\n',
            '{"kind":"fenced","data":{"attempt":1,"seconds":0.0}}\n',
            '{"kind":"step-done","data":{"ordinal":1,"index":0,"outcome":"continue"}}\n',
            '{"kind":"finished","data":{"code":0,"state":"completed"}}\n',
        ),
    ),
    Harness(
        "snapshot",
        restored,
        (
            "\3figures {}\n",
            'small {"cancels":{},"controls":{},"commands":{},"bad_nodes":{}}\n',
            'tasks [{"id":"w/a","workflow":"w","step":"a"}]\n',
            'live ["w/a"]\n',
            'aliases [["w/b","w/a"]]\n',
            'recoveries-by-task [["w/a",["w/a#1"]]]\n',
            'inbox [["s","i",1,[3]]]\n',
            'workflow {"workflow":{"id":"w","name":"w","wms":"","root":""},"spec":null,"rjms":"",'
            '"observe":false,"environment":{},"time":1.0,"history":{}}\n',
            'workflow-tasks [{"id":"w/a","step":"a"}]\n',
            'workflow-counted ["w/a#1@1.0"]\n',
        ),
    ),
    Harness("files", files, ('{"pid":1,', "run            \n", "0              \n", "-" * 15 + "\n")),
)
