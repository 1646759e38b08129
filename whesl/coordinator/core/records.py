"""The coordinator's journal as its state: the one place where what is durable changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from whesl.coordinator.core.changes import CHANGES, Data
from whesl.coordinator.core.persistent_map import Builder, Map, Undo, take_back
from whesl.coordinator.core.state import Settings, State
from whesl.model.decoding import FOREIGN
from whesl.model.errors import WheslError

# The maps of the state. Found once: to look at a class's fields means to evaluate all its annotations.
_MAPS = tuple(field.name for field in msgspec.structs.fields(State) if isinstance(field.default, Map))


class RecordError(WheslError):
    """A record's content is not what this version writes."""


def apply(state: State, kind: str, data: Data, time: float) -> State:
    """Return the state after a record; records of unknown kind change nothing.

    Args:
        state: the state before.
        kind: the record's word.
        data: its content, as JSON builtins.
        time: when it was written, seconds since the epoch.

    Raises RecordError.
    """
    change = CHANGES.get(kind)
    if change is None:
        return state
    try:
        return change(state, data, time)
    except FOREIGN as error:
        raise RecordError(
            f"a record of kind '{kind}' is not understood ({error!r})",
            hint="it was damaged, or written by another version of WHESL",
        ) from error


def rebuild(records: Iterable[tuple[str, Data, float]], settings: Settings = Settings()) -> State:  # noqa: B008 - frozen
    """Return the state that a journal's records (kind, data, time; in order) describe. Raises RecordError."""
    replay = Replay(settings)
    for kind, data, time in records:
        replay.take(kind, data, time)
    return replay.state()


class Replay:
    """Applies a journal's records one after the other, several times as quickly as ``apply`` one by one.

    Args:
        settings: of the state.
        begun: the state before the first record; None: the journal's beginning.
    """

    def __init__(self, settings: Settings = Settings(), begun: State | None = None) -> None:  # noqa: B008 - frozen
        whole = State() if begun is None else begun
        self._undo: Undo = []
        self._builders: dict[str, Builder[Any, Any]] = {
            name: Builder(self._undo, getattr(whole, name)) for name in _MAPS
        }
        self._state = msgspec.structs.replace(whole, settings=settings, **self._builders)

    def take(self, kind: str, data: Data, time: float) -> None:
        """Apply the next record. Arguments as of ``apply``.

        Raises RecordError; the record is left out then, and the next one may be taken.
        """
        self._undo.clear()
        try:
            self._state = apply(self._state, kind, data, time)
        except RecordError:
            take_back(self._undo)
            raise

    def state(self) -> State:
        """Return the state; nothing can be applied here any more."""
        built = {name: builder.built() for name, builder in self._builders.items()}
        return msgspec.structs.replace(self._state, **built)
