"""A persistent map: a changed copy of a large map is cheap, and the original map stays unchanged.

The coordinator's state is frozen, and each event makes a new state. A plain dict of 100,000 tasks takes about
5 ms to copy, which each message of an isolator would cost. Here a map consists of a large dict, which never
changes, and a small dict with the differences. A change copies the small dict; from time to time both are
merged into a new large dict. The small dict is at most as long as the square root of twice the large dict's
length, so a change costs the square root of that length on average (the balance of a two-level log-structured
merge tree; O'Neil et al., The Log-Structured Merge-Tree, 1996).

Keys keep the order of insertion, as in a dict, so that the same events give the same order.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from math import isqrt
from typing import Any, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_SMALLEST = 16
_GONE: Any = object()
_MISSING: Any = object()


class Map(Mapping[K, V]):
    """An immutable map; ``with_``, ``with_all`` and ``without`` return a changed map. Any thread may read it.

    Args:
        content: the initial items, which are copied.
    """

    __slots__ = ("_layers", "_length", "_limit")

    _layers: tuple[dict[K, V], dict[K, V]]

    def __init__(self, content: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._begin(dict(content))

    def _begin(self, whole: dict[K, V]) -> None:
        # One attribute for both dicts: a thread that reads during another thread's merge sees a matching
        # pair.
        self._layers = (whole, {})
        self._length = len(whole)
        self._limit = max(_SMALLEST, isqrt(2 * self._length))

    # Changed copies ------------------------------------------------------------------------------------

    def with_(self, key: K, value: V) -> Map[K, V]:
        """Return the map with a value stored under a key; a present key keeps its place in the order.

        Args:
            key: the key.
            value: the value.
        """
        base, changes = self._layers
        before = changes.get(key, _MISSING)
        if before is _GONE:
            # A removed key that is stored again comes last, as in a dict: its old place has to go first.
            base, changes, before = self._whole(), {}, _MISSING
        changed = changes.copy()
        changed[key] = value
        known = before is not _MISSING or key in base
        return self._made(base, changed, self._length if known else self._length + 1)

    def with_all(self, content: Mapping[K, V]) -> Map[K, V]:
        """Return the map with many items stored, at less cost than one by one."""
        if len(content) > self._limit:
            merged: Map[K, V] = Map.__new__(Map)
            merged._begin({**self._whole(), **content})
            return merged
        base, changes = self._layers
        changed, length = changes.copy(), self._length
        for key, value in content.items():
            before = changed.get(key, _MISSING)
            if before is _GONE:
                # A removed key that is stored again comes last, as in a dict: its old place has to go first.
                return self._one_by_one(content)
            if before is _MISSING and key not in base:
                length += 1
            changed[key] = value
        return self._made(base, changed, length)

    def _one_by_one(self, content: Mapping[K, V]) -> Map[K, V]:
        result = self
        for key, value in content.items():
            result = result.with_(key, value)
        return result

    def without(self, key: K) -> Map[K, V]:
        """Return the map without a key; a missing key is no error."""
        base, changes = self._layers
        if key not in self:
            return self
        changed = changes.copy()
        if key in base:
            changed[key] = _GONE
        else:
            del changed[key]
        return self._made(base, changed, self._length - 1)

    def _made(self, base: dict[K, V], changes: dict[K, V], length: int) -> Map[K, V]:
        made: Map[K, V] = Map.__new__(Map)
        made._layers = (base, changes)
        made._length = length
        made._limit = self._limit
        if len(changes) > self._limit:
            made._begin(_merged(base, changes))
        return made

    # A mapping -----------------------------------------------------------------------------------------

    def __getitem__(self, key: K) -> V:
        base, changes = self._layers
        value: V = changes.get(key, _MISSING)
        if value is _MISSING:
            return base[key]
        if value is _GONE:
            raise KeyError(key)
        return value

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | D, /) -> V | D: ...
    def get(self, key: K, default: Any = None, /) -> Any:
        """Return the value of a key, or ``default`` where the key is missing.

        Args:
            key: a hashable value.
            default: returned for a missing key; it may have another type than the values.
        """
        base, changes = self._layers
        value = changes.get(key, _MISSING)
        if value is _MISSING:
            return base.get(key, default)
        return default if value is _GONE else value

    def __contains__(self, key: object) -> bool:
        base, changes = self._layers
        if key in changes:
            return changes[key] is not _GONE
        return key in base

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[K]:
        return iter(self._whole())

    def keys(self) -> KeysView[K]:
        """Return the keys in the order of insertion."""
        return self._whole().keys()

    def values(self) -> ValuesView[V]:
        """Return the values in the order of their keys."""
        return self._whole().values()

    def items(self) -> ItemsView[K, V]:
        """Return the pairs of key and value in the order of insertion."""
        return self._whole().items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Map):
            return self is other or self._whole() == other._whole()
        return self._whole() == other if isinstance(other, dict) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # not hashable, as a dict is not

    def __repr__(self) -> str:
        return f"Map({self._whole()!r})"

    def _whole(self) -> dict[K, V]:
        """Return the content as one dict, which is cached for the next call; callers must not change it."""
        base, changes = self._layers
        if not changes:
            return base
        whole = _merged(base, changes)
        self._layers = (whole, {})
        self._limit = max(_SMALLEST, isqrt(2 * len(whole)))
        return whole


class Builder(Map[K, V]):
    """A map that changes in place, for uses that do not need the states in between.

    The replay of a journal applies records to builders; ``built`` returns the resulting map. When a record
    turns out to be damaged after some of its changes were made, these changes are undone.

    Args:
        undo: the list that collects changes of all maps of one state; its owner clears it.
        content: the initial items, which are copied.
    """

    __slots__ = ("_undo",)

    def __init__(self, undo: Undo, content: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        super().__init__(content)
        self._undo = undo

    def with_(self, key: K, value: V) -> Builder[K, V]:
        """Store a value under a key and return this same map.

        Args:
            key: the key.
            value: the value.
        """
        content = self._layers[0]
        self._undo.append((self, key, content.get(key, _MISSING)))
        content[key] = value
        self._length = len(content)
        return self

    def with_all(self, content: Mapping[K, V]) -> Builder[K, V]:
        """Store many items and return this same map."""
        for key, value in content.items():
            self.with_(key, value)
        return self

    def without(self, key: K) -> Builder[K, V]:
        """Remove a key, if it is present, and return this same map."""
        content = self._layers[0]
        if key in content:
            self._undo.append((self, key, content.pop(key)))
            self._length = len(content)
        return self

    def _put_back(self, key: K, before: V) -> None:
        content = self._layers[0]
        if before is _MISSING:
            del content[key]
        else:
            content[key] = before
        self._length = len(content)

    def built(self) -> Map[K, V]:
        """Return the finished map; the builder must not be used after that."""
        made: Map[K, V] = Map.__new__(Map)
        made._begin(self._layers[0])
        return made


# Each change: the builder, the key, and the value before the change.
Undo = list[tuple[Builder[Any, Any], Any, Any]]


def take_back(undo: Undo) -> None:
    """Undo changes, the last one first; a key that had been removed returns at the end of the order."""
    while undo:
        builder, key, before = undo.pop()
        builder._put_back(key, before)


def _merged(base: dict[K, V], changes: dict[K, V]) -> dict[K, V]:
    whole = base.copy()
    for key, value in changes.items():
        if value is _GONE:
            del whole[key]
        else:
            whole[key] = value
    return whole
