"""Journal records: one type for each kind, of a task's journal and of the coordinator's.

Readers of journals have the content checked here. A union of all types lets mypy see that each is handled.
"""

from __future__ import annotations

from functools import cache

import msgspec

from whesl.runtime.journal.records import coordinator_records, isolator_records

__all__ = ["coordinator", "isolator", "of_coordinator", "of_isolator"]


def of_isolator(content: bytes | msgspec.Raw) -> isolator_records.AnyRecord:
    """Return a record of a task's journal. Raises what ``files.decode_errors`` has."""
    return _isolator().decode(content)


def of_coordinator(content: bytes | msgspec.Raw) -> coordinator_records.AnyRecord:
    """Return a record of the coordinator's journal. Raises as ``of_isolator``."""
    return _coordinator().decode(content)


# Made when the first record is read: a daemon that begins with an empty journal needs none.
@cache
def _isolator() -> msgspec.json.Decoder[isolator_records.AnyRecord]:
    return msgspec.json.Decoder(isolator_records.AnyRecord)


@cache
def _coordinator() -> msgspec.json.Decoder[coordinator_records.AnyRecord]:
    return msgspec.json.Decoder(coordinator_records.AnyRecord)
