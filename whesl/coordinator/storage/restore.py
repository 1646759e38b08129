"""What a coordinator has in memory when it starts: of its newest snapshot, and the records after it."""

from __future__ import annotations

import logging

from whesl.coordinator.core import journal_replay
from whesl.coordinator.core.changes.apply_record import RecordError
from whesl.coordinator.core.journal_replay import Replay
from whesl.coordinator.core.state import Settings
from whesl.coordinator.counters import Figures
from whesl.coordinator.python_gc import put_off
from whesl.coordinator.storage import snapshots
from whesl.coordinator.storage.snapshots import Begun, Kept
from whesl.journal import Journal
from whesl.records.coordinator import Record
from whesl.wire.delivery import Inbox

LOG = logging.getLogger(__name__)


def reopen(journal: Journal, settings: Settings) -> tuple[Begun, Kept]:
    """Return with which snapshot a journal began, and what all of it amounts to.

    Args:
        journal: an open one; its next record comes after what the snapshot knows.
        settings: of the state.

    Raises JournalError.
    """
    with put_off():
        begun = snapshots.begin(journal, settings)
        journal.go_on_after(begun.seq)
        figures, inbox = Figures(), Inbox()
        figures.restore(begun.kept.figures)
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
        return begun, Kept(state=replay.state(), inbox=inbox.memory(), figures=figures.memory())
