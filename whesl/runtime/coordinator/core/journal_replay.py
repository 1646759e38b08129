"""The coordinator's state rebuilt from the records of its journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from whesl.files.decode_errors import FOREIGN
from whesl.runtime.coordinator.core.changes.apply_record import NOT_UNDERSTOOD, RecordError, apply
from whesl.runtime.coordinator.core.persistent_map import Builder, Map, Undo, take_back
from whesl.runtime.coordinator.core.state import Settings, State
from whesl.runtime.journal.records import of_coordinator
from whesl.runtime.journal.records.coordinator_records import AnyRecord

# The fields of the state that are maps, found once: ``fields`` evaluates all annotations of a class.
_MAPS = tuple(field.name for field in msgspec.structs.fields(State) if isinstance(field.default, Map))


class Written(Protocol):
    """A record as the journal stores it (``whesl.runtime.journal``)."""

    @property
    def kind(self) -> str: ...
    @property
    def content(self) -> msgspec.Raw: ...


def read(record: Written) -> AnyRecord:
    """Decode a journal's record to its type. Raises RecordError."""
    try:
        return of_coordinator(record.content)
    except FOREIGN as error:
        raise RecordError(
            f"a record of kind '{record.kind}' is not understood ({error})", hint=NOT_UNDERSTOOD
        ) from error


def rebuild(written: Iterable[tuple[AnyRecord, float]], settings: Settings = Settings()) -> State:  # noqa: B008 - frozen
    """Return the state that a sequence of records describes. Raises RecordError.

    Args:
        written: records in order, each with its time in seconds since the epoch.
        settings: the settings of the state.
    """
    replay = Replay(settings)
    for record, time in written:
        replay.take(record, time)
    return replay.state()


class Replay:
    """Applies a journal's records in order, in place: several times as fast as calls of ``apply``.

    Args:
        settings: the settings of the state.
        begun: the state before the first record; None: the empty state.
    """

    def __init__(self, settings: Settings = Settings(), begun: State | None = None) -> None:  # noqa: B008 - frozen
        whole = State() if begun is None else begun
        self._undo: Undo = []
        self._builders: dict[str, Builder[Any, Any]] = {
            name: Builder(self._undo, getattr(whole, name)) for name in _MAPS
        }
        self._state = msgspec.structs.replace(whole, settings=settings, **self._builders)

    def take(self, record: AnyRecord, time: float) -> None:
        """Apply the next record.

        Raises RecordError for a record that cannot be applied. Its changes are undone, and the replay may go
        on with the next record.

        Args:
            record: the record.
            time: when the record was written, seconds since the epoch.
        """
        self._undo.clear()
        try:
            self._state = apply(self._state, record, time)
        except RecordError:
            take_back(self._undo)
            raise

    def state(self) -> State:
        """Return the state; no more records may be applied after that."""
        built = {name: builder.built() for name, builder in self._builders.items()}
        return msgspec.structs.replace(self._state, **built)
