"""A journal in memory, for a task whose journal file cannot be made; lost when the isolator ends.

A path that is too long for SQLite, or a directory in which no file can be made, must not prevent a task from
being supervised. The next isolator finds the attempts by their directories instead.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence

import msgspec

from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.records.isolator_records import AnyRecord
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

LOG = logging.getLogger(__name__)
# Bytes of the journal's reserve for a full disk: some hundred records.
RESERVE = 256 * 1024
# Bytes of the longest journal path. SQLite takes 512 (``MAX_PATHNAME``), with suffixes of its other files.
LONGEST_PATH = 500


class MemoryJournal:
    """Records in memory, in place of a ``Journal`` that cannot be made."""

    damage = None
    tight = False

    def __init__(self) -> None:
        self._records: list[Record] = []

    def append_many(self, records: Sequence[tuple[str, AnyRecord]], time: float) -> None:
        """Keep records that have the same time.

        Args:
            records: kind and content of each record, kept as JSON.
            time: seconds since the epoch.
        """
        for kind, data in records:
            content = msgspec.Raw(msgspec.json.encode(data))
            self._records.append(Record(seq=len(self._records) + 1, time=time, kind=kind, content=content))

    def read(self) -> Iterator[Record]:
        """Yield the records in order."""
        return iter(tuple(self._records))

    def close(self) -> None:
        """Do nothing."""


TaskJournal = Journal | MemoryJournal


def opened(directory: TaskDir) -> TaskJournal:
    """Open a task's journal; return one in memory where the file is missing and cannot be made.

    Raises JournalError when an existing file cannot be opened, since its records must not be ignored.
    """
    if len(os.fsencode(directory.journal)) > LONGEST_PATH:
        return _in_memory(f"the path of the journal {directory.journal} is too long for SQLite")
    try:
        return Journal(directory.journal, reserve=RESERVE, begin_anew=True)
    except JournalError as error:
        if directory.journal.is_file():
            raise
        return _in_memory(error.message)


def _in_memory(why: str) -> MemoryJournal:
    LOG.error("%s; what happens is kept in memory alone", why)
    return MemoryJournal()
