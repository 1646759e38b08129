"""The coordinator's state as a snapshot, and the record after which a journal has to be read.

A change of a struct that would make older snapshots unreadable needs a higher
``runtime.journal.snapshot.VERSION``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import FOREIGN
from whesl.model.configuration_changes import Configuration
from whesl.model.workflow import BadNode, Task
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.coordinator.core.state import (
    Recovery,
    RequeueEntry,
    Settings,
    State,
    TaskEntry,
    WorkflowEntry,
)
from whesl.runtime.coordinator.counters import Figures
from whesl.runtime.journal import snapshot
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.snapshot import Head, Piece, SnapshotError
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.delivery import Remembered

# Entries in one piece: encoding a piece blocks all other threads for some tenths of a millisecond.
_SLICE = 100


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a snapshot: the coordinator's memory of its journal.

    ``inbox`` identifies the messages that were taken, so that repeated messages are recognised.
    """

    state: State
    inbox: list[Remembered] = []
    figures: Figures = msgspec.field(default_factory=Figures)


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The start for reading a journal: the state up to the record ``seq``.

    ``path`` is the snapshot's file (None without one), of ``size`` bytes. ``said`` are sentences on snapshots
    that were not usable; ``others`` are the files of snapshots that belong to other journals.
    """

    kept: Kept
    seq: int = 0
    path: Path | None = None
    size: int = 0
    said: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()


class _Small(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a state whose size is bounded."""

    cancels: dict[str, str]
    controls: dict[str, records.Control]
    commands: dict[str, records.Command]
    bad_nodes: dict[str, BadNode]


def pieces(kept: Kept) -> Iterator[Piece]:
    """Yield the pieces of a snapshot. The state is immutable, so any thread may do so."""
    state = kept.state
    yield "figures", msgspec.json.encode(kept.figures)
    yield from _sliced("inbox", kept.inbox)
    for entry in state.workflows.values():
        # Tasks and counted exceptions of a workflow are unbounded: they follow in separate pieces.
        flow = msgspec.structs.asdict(entry)
        del flow["counted"]
        flow["workflow"] = msgspec.structs.replace(entry.workflow, tasks=())
        yield "workflow", msgspec.json.encode(flow)
        yield from _sliced("workflow-tasks", entry.workflow.tasks)
        yield from _sliced("workflow-counted", entry.counted)
    yield from _sliced("tasks", state.tasks.values())
    yield from _sliced("live", state.live)
    yield from _sliced("aliases", state.aliases.items())
    yield from _sliced("recoveries", state.recoveries.values())
    yield from _sliced("recoveries-by-task", state.recoveries_by_task.items())
    yield from _sliced("requeues", state.requeues.values())
    small = _Small(
        cancels=state.cancels, controls=state.controls, commands=state.commands, bad_nodes=state.bad_nodes
    )
    yield "small", msgspec.json.encode(small)


def _sliced(word: str, content: Iterable[Any]) -> Iterator[Piece]:
    rest = iter(content)
    while some := list(islice(rest, _SLICE)):
        yield word, msgspec.json.encode(some)


_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "figures": msgspec.json.Decoder(Figures),
    "inbox": msgspec.json.Decoder(list[Remembered]),
    "workflow": msgspec.json.Decoder(WorkflowEntry),
    "workflow-tasks": msgspec.json.Decoder(list[Task]),
    "workflow-counted": msgspec.json.Decoder(list[str]),
    "tasks": msgspec.json.Decoder(list[TaskEntry]),
    "live": msgspec.json.Decoder(list[str]),
    "aliases": msgspec.json.Decoder(list[tuple[str, str]]),
    "recoveries": msgspec.json.Decoder(list[Recovery]),
    "recoveries-by-task": msgspec.json.Decoder(list[tuple[str, tuple[str, ...]]]),
    "requeues": msgspec.json.Decoder(list[RequeueEntry]),
    "small": msgspec.json.Decoder(_Small),
}


class Reader:
    """Assembles a snapshot's content from its pieces."""

    def __init__(self) -> None:
        self._flows: list[
            tuple[WorkflowEntry, list[Task], list[str]]
        ] = []  # a workflow with its tasks and counted exceptions
        self._ones: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {word: [] for word in _DECODERS}
        self._shared: dict[bytes, Configuration] = {}

    def take(self, word: str, content: bytes) -> None:
        """Take the next piece. Raises SnapshotError.

        Args:
            word: the kind of the piece.
            content: the encoded piece.
        """
        found = _decoded(word, content)
        if word == "workflow":
            self._flows.append((found, [], []))
        elif word in ("workflow-tasks", "workflow-counted"):
            if not self._flows:
                raise SnapshotError(f"a snapshot's piece '{word}' belongs to nothing")
            _, tasks, counted = self._flows[-1]
            (tasks if word == "workflow-tasks" else counted).extend(found)
        elif not isinstance(found, list):
            self._ones[word] = found
        else:
            self._lists[word] += self._sharing(found) if word == "tasks" else found

    def kept(self, settings: Settings) -> Kept:
        """Return the content of all pieces. Raises SnapshotError when pieces are missing."""
        small, figures = self._ones.get("small"), self._ones.get("figures")
        if small is None or figures is None:
            raise SnapshotError("a snapshot is incomplete")
        lists = self._lists
        state = State(
            settings=settings,
            workflows=Map(map(_whole, self._flows)),
            tasks=Map((entry.id, entry) for entry in lists["tasks"]),
            live=Map((task, None) for task in lists["live"]),
            aliases=Map(lists["aliases"]),
            recoveries=Map((recovery.id, recovery) for recovery in lists["recoveries"]),
            recoveries_by_task=Map(lists["recoveries-by-task"]),
            requeues=Map((entry.token, entry) for entry in lists["requeues"]),
            cancels=small.cancels,
            controls=small.controls,
            commands=small.commands,
            bad_nodes=small.bad_nodes,
        )
        return Kept(state=state, inbox=lists["inbox"], figures=figures)

    def _sharing(self, entries: list[TaskEntry]) -> Iterator[TaskEntry]:
        """Yield tasks; equal configurations become one shared object again."""
        for entry in entries:
            if entry.configuration is _PLAIN:
                yield entry
            else:
                text = msgspec.json.encode(entry.configuration)
                shared = self._shared.setdefault(text, entry.configuration)
                yield msgspec.structs.replace(entry, configuration=shared)


_PLAIN = TaskEntry(id="", workflow="", step="").configuration


def _decoded(word: str, content: bytes) -> Any:
    try:
        return _DECODERS[word].decode(content)
    except FOREIGN as error:
        raise SnapshotError(f"a snapshot's piece '{word}' is not understood ({error!r})") from error


def _whole(parts: tuple[WorkflowEntry, list[Task], list[str]]) -> tuple[str, WorkflowEntry]:
    entry, tasks, counted = parts
    workflow = msgspec.structs.replace(entry.workflow, tasks=tuple(tasks))
    return workflow.id, msgspec.structs.replace(
        entry, workflow=workflow, counted=Map((name, None) for name in counted)
    )


def prove(path: Path, *, breathe: Callable[[], None] = lambda: None) -> None:
    """Verify a snapshot by reading it; nothing of it is kept.

    Args:
        path: the file.
        breathe: called after each piece.

    Raises SnapshotError, FileNotFoundError.
    """

    def take(word: str, content: bytes) -> None:
        _decoded(word, content)
        breathe()

    snapshot.read(path, take)


def read(path: Path, settings: Settings = Settings()) -> tuple[Head, Kept]:  # noqa: B008 - frozen
    """Read a whole snapshot.

    Args:
        path: the file.
        settings: the settings of the state.

    Raises SnapshotError, FileNotFoundError.
    """
    reader = Reader()
    head = snapshot.read(path, reader.take)
    return head, reader.kept(settings)


def begin(journal: Journal, settings: Settings = Settings()) -> Begun:  # noqa: B008 - frozen
    """Return the newest snapshot that is readable and belongs to a journal.

    Without such a snapshot, the journal has to be read from its beginning: the state is empty, ``seq`` is 0.

    Args:
        journal: an open one.
        settings: the settings of the state.

    Raises JournalError when there is no usable snapshot and the journal no longer has its first records.
    """
    said: list[str] = []
    others: list[Path] = []
    for path in snapshot.found(journal.path.parent):
        try:
            head, kept = read(path, settings)
        except FileNotFoundError:
            continue
        except SnapshotError as error:
            said.append(error.message)
            continue
        if not stands(journal, head):
            said.append(f"the snapshot {path} is of another journal")
            others.append(path)
            continue
        size = file_retry.size(path)
        return Begun(
            kept=kept, seq=head.last.seq, path=path, size=size, said=tuple(said), others=tuple(others)
        )
    if not journal.complete():
        raise JournalError(
            f"the journal {journal.path} has no longer its oldest records, and no snapshot can be read",
            reason="damaged",
            hint="; ".join((*said, "put a snapshot or the journal back from a copy of the directory")),
        )
    return Begun(kept=Kept(state=State(settings=settings)), said=tuple(said), others=tuple(others))


def stands(journal: Journal, head: Head) -> bool:
    """Whether a snapshot belongs to a journal: the journal contains the snapshot's last record.

    A damaged journal may have lost that record: then the first record of both has to be the same.

    Args:
        journal: an open journal.
        head: the snapshot's head.
    """
    last = journal.anchor(head.last.seq)
    if last is not None:
        return last == head.last
    return head.first is not None and journal.anchor(head.first.seq) == head.first
