"""Journal records: one type for each kind, of a task's journal and of the coordinator's.

These functions check the content of records for readers. A union of all types lets mypy check that each type
is handled.
"""

from __future__ import annotations

from functools import cache

import msgspec

from whesl.runtime.journal.records import coordinator_records, isolator_records

__all__ = ["coordinator", "isolator", "of_coordinator", "of_isolator"]


def of_isolator(content: bytes | msgspec.Raw) -> isolator_records.AnyRecord:
    """Decode a record of a task's journal. Raises the exceptions in ``files.decode_errors``."""
    return _isolator().decode(content)


def of_coordinator(content: bytes | msgspec.Raw) -> coordinator_records.AnyRecord:
    """Decode a record of the coordinator's journal. Raises the exceptions in ``files.decode_errors``."""
    return _coordinator().decode(content)


# A decoder is made at the first record, since a daemon with an empty journal needs none.
@cache
def _isolator() -> msgspec.json.Decoder[isolator_records.AnyRecord]:
    return msgspec.json.Decoder(isolator_records.AnyRecord)


@cache
def _coordinator() -> msgspec.json.Decoder[coordinator_records.AnyRecord]:
    return msgspec.json.Decoder(coordinator_records.AnyRecord)
