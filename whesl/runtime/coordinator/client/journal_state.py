"""The coordinator's state, read from its journal, whether it runs or not."""

from __future__ import annotations

from pathlib import Path

import msgspec

from whesl.model import home as places
from whesl.runtime.coordinator.core import journal_replay
from whesl.runtime.coordinator.core.changes.apply_record import RecordError, apply
from whesl.runtime.coordinator.core.journal_replay import Replay
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.python_gc import put_off
from whesl.runtime.coordinator.storage import snapshots
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The state that the journal describes. ``damage`` describes the unreadable part of the journal."""

    state: State
    seq: int = 0
    damage: str = ""


def known_state(home: Path, since: Known | None = None) -> Known:
    """Return the coordinator's state from its journal; the coordinator need not run.

    Args:
        home: the WHESL home.
        since: an earlier answer, to read only what came after it.

    Where no journal exists yet, the state is empty.
    """
    # The first read applies many records in place; a later read applies few, for which copies cost less.
    state, seq, damage = (since.state, since.seq, since.damage) if since is not None else (None, 0, "")
    replay = Replay()
    try:
        with put_off(), Journal(places.coordinator_journal(home), read_only=True) as journal:
            if state is None:
                begun = snapshots.begin(journal)
                replay, seq = Replay(begun=begun.kept.state), begun.seq
            for record in journal.read(seq):
                seq = record.seq
                try:
                    found = journal_replay.read(record)
                    if state is None:
                        replay.take(found, record.time)
                    else:
                        state = apply(state, found, record.time)
                except RecordError as error:
                    damage = f"the journal {journal.path}: record {seq}: {error.message}"
    except JournalError as error:
        if error.reason != "missing":
            damage = error.message
    return Known(state=replay.state() if state is None else state, seq=seq, damage=damage)
