"""The writer of the isolator's records: to disk, or to memory while the disk is full."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable
from typing import Any, Protocol

from whesl.runtime.journal.records.isolator_records import AnyRecord
from whesl.runtime.journal.sqlite_errors import JournalError

LOG = logging.getLogger(__name__)


class Store(Protocol):
    """Where records are kept (``journal.Journal``)."""

    tight: bool

    def append_many(self, records: list[tuple[str, Any]], time: float) -> object:
        """Write records that have the same time, all or none. Raises JournalError.

        Args:
            records: kind and content of each record.
            time: seconds since the epoch.
        """


class Records:
    """Writes records to the journal.

    A journal that cannot be written (a task may have used up the quota of its own journal) must not prevent
    the task's recovery: the records wait in memory, and are written with the next ones. Each keeps the time
    of its transition, since budgets and back-offs are rebuilt from these times.

    Args:
        store: the task's journal.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[str, Any, float]] = []
        self.trouble = ""  # why the journal cannot be written now, a sentence for users

    @property
    def waiting(self) -> int:
        """The number of records that are only in memory."""
        return len(self._waiting)

    def write(self, records: Iterable[AnyRecord], now: float) -> bool:
        """Write records after the waiting ones; return False when they have to wait, too.

        Args:
            records: the records of one transition of the core.
            now: seconds since the epoch.
        """
        self._waiting += [(record.kind, record, now) for record in records]
        if not self._waiting:
            return True
        try:
            while self._waiting:
                taken, moment = next(itertools.groupby(self._waiting, lambda record: record[2]))
                together = [(kind, data) for kind, data, _ in moment]
                self._store.append_many(together, taken)
                del self._waiting[: len(together)]
        except JournalError as error:
            self._note(f"{error.message}; what happens is kept in memory for now")
            return False
        tight = "the disk of its journal is full; the reserve for that is used"
        self._note(tight if self._store.tight else "")
        return True

    def _note(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            LOG.error("%s", trouble)
        elif self.trouble and not trouble:
            LOG.info("the journal can be written again")
        self.trouble = trouble
