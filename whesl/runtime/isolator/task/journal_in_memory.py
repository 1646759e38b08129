"""A journal in memory, for a task whose journal's file cannot be made: it ends with its isolator.

A path that is longer than SQLite takes, or a directory in which nothing can be made, must not keep a task
from being watched and ended. What is lost with the isolator is what the next one finds by the attempts'
directories.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence

import msgspec

from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal import Journal, JournalError
from whesl.runtime.journal.archived_records import Record
from whesl.runtime.journal.records.isolator_records import AnyRecord

LOG = logging.getLogger(__name__)
# Bytes reserved for some hundred records, for when the journal's disk is full.
RESERVE = 256 * 1024
# Bytes of a path. SQLite takes 512 (``MAX_PATHNAME``), with the names of the files that it makes beside it.
LONGEST_PATH = 500


class MemoryJournal:
    """Records in memory, for a ``Journal`` that cannot be had."""

    damage = None
    tight = False

    def __init__(self) -> None:
        self._records: list[Record] = []

    def append_many(self, records: Sequence[tuple[str, AnyRecord]], time: float) -> None:
        """Keep records of one moment, seconds since the epoch."""
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
    """Open a task's journal; where its file is not there and cannot be made, return one in memory.

    Raises JournalError when there is a file that cannot be opened: its records must not be passed over.
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
