"""Looking at the coordinator's state from outside: by asking it, or by its journal while it is down."""

from __future__ import annotations

from pathlib import Path

import msgspec

from whesl.coordinator.core import journal_replay
from whesl.coordinator.core.changes.apply_record import RecordError, apply
from whesl.coordinator.core.journal_replay import Replay
from whesl.coordinator.core.state import State
from whesl.coordinator.python_gc import put_off
from whesl.coordinator.storage import snapshots
from whesl.journal import Journal, JournalError
from whesl.model import home as places


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The state as the journal describes it. ``damage`` says what of the journal could not be read."""

    state: State
    seq: int = 0
    damage: str = ""


def journal_file(home: Path) -> Path:
    """Return the path of the coordinator's journal below a WHESL home."""
    return places.coordinator_journal(home)


def known_state(home: Path, since: Known | None = None) -> Known:
    """Return the coordinator's state, whether it runs or not: everything of it is in its journal.

    Args:
        home: the WHESL home.
        since: an earlier answer, to read only what came after it.

    A journal that was never begun is an empty state.
    """
    with put_off():
        return _read(home) if since is None else _read_on(home, since)


def _read(home: Path) -> Known:
    replay, seq, damage = Replay(), 0, ""
    try:
        with Journal(journal_file(home), read_only=True) as journal:
            begun = snapshots.begin(journal)
            replay, seq = Replay(begun=begun.kept.state), begun.seq
            for record in journal.read(seq):
                seq = record.seq
                try:
                    replay.take(journal_replay.read(record), record.time)
                except RecordError as error:
                    damage = _not_understood(journal, seq, error)
    except JournalError as error:
        if error.reason != "missing":
            damage = error.message
    return Known(state=replay.state(), seq=seq, damage=damage)


def _read_on(home: Path, since: Known) -> Known:
    state, seq, damage = since.state, since.seq, since.damage
    try:
        with Journal(journal_file(home), read_only=True) as journal:
            for record in journal.read(seq):
                seq = record.seq
                try:
                    state = apply(state, journal_replay.read(record), record.time)
                except RecordError as error:
                    damage = _not_understood(journal, seq, error)
    except JournalError as error:
        if error.reason != "missing":
            damage = error.message
    return Known(state=state, seq=seq, damage=damage)


def _not_understood(journal: Journal, seq: int, error: RecordError) -> str:
    return f"the journal {journal.path}: record {seq}: {error.message}"
