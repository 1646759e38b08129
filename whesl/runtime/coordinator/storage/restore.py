"""The state that a coordinator starts with, from its newest snapshot and the records after that."""

from __future__ import annotations

import logging
from copy import deepcopy

from whesl.runtime.coordinator.core import journal_replay
from whesl.runtime.coordinator.core.changes.apply_record import RecordError
from whesl.runtime.coordinator.core.journal_replay import Replay
from whesl.runtime.coordinator.core.state import Settings
from whesl.runtime.coordinator.python_gc import put_off
from whesl.runtime.coordinator.storage import snapshots
from whesl.runtime.coordinator.storage.snapshots import Begun, Kept
from whesl.runtime.journal.records.coordinator_records import Record
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.delivery import Inbox

LOG = logging.getLogger(__name__)


def reopen(journal: Journal, settings: Settings) -> tuple[Begun, Kept]:
    """Return the snapshot that reading starts from, and the state and counts after all records.

    Args:
        journal: an open journal; its next record gets a number after the snapshot's.
        settings: the settings of the state.

    Raises JournalError.
    """
    with put_off():
        begun = snapshots.begin(journal, settings)
        journal.go_on_after(begun.seq)
        figures, inbox = deepcopy(begun.kept.figures), Inbox()
        inbox.restore(begun.kept.inbox)
        replay = Replay(settings, begun.kept.state)
        for record in journal.read(begun.seq):
            try:
                found = journal_replay.read(record)
                if isinstance(found, Record) and found.message is not None:
                    inbox.note(*found.message)
                replay.take(found, record.time)
            except RecordError as error:
                LOG.error("the journal %s: %s", journal.path, error.message)
            else:
                figures.take(found)
        return begun, Kept(state=replay.state(), inbox=inbox.memory(), figures=figures)
