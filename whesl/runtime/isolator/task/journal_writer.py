"""Which of the isolator's records are on disk, and which wait in memory since the disk is full."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable
from typing import Any, Protocol

from whesl.runtime.journal import JournalError
from whesl.runtime.journal.records.isolator_records import AnyRecord

LOG = logging.getLogger(__name__)


class Store(Protocol):
    """Where records are kept (``journal.Journal``)."""

    tight: bool

    def append_many(self, records: list[tuple[str, Any]], time: float) -> object:
        """Write records of one moment, all or none. Raises JournalError."""
        ...


class Records:
    """Writes records before anything else is done.

    A journal that cannot be written (the quota that a task has filled may be the journal's own) must not keep
    that task from being recovered: the records wait, and are written with the next ones, each with the time
    at which the core took it in: budgets and back-offs are rebuilt from those.

    Args:
        store: the task's journal.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[str, Any, float]] = []
        self.trouble = ""  # why the journal cannot be written now, a sentence for people

    @property
    def waiting(self) -> int:
        """How many records are in memory alone."""
        return len(self._waiting)

    def write(self, records: Iterable[AnyRecord], now: float) -> bool:
        """Write records, after those that wait; False when they wait as well.

        Args:
            records: the core's, of one transition.
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
