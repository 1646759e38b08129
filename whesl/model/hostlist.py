"""Slurm's host lists, ``n[01-03,7],login``, to names and back; Flux's sets of numbers (idsets).

Only itertools is imported: launcher shims load this module at every start of a launcher, and importing ``re``
takes 6 ms.
Form: man page scontrol(1), "show hostnames", and slurm.conf(5), NodeName.
"""

from __future__ import annotations

from itertools import product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The most names of a list, more than any machine has nodes: a damaged list must not fill the memory.
MAX_HOSTS = 200_000

_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"
_PLAIN = frozenset(_DIGITS + _LETTERS)
_MAX_DIGITS = 18


def expand(text: str) -> tuple[str, ...]:
    """Return the host names of a host list in the list's order, repeats included.

    An empty list has no names. Raises ValueError for text that is not a host list, such as the words that
    Slurm's commands print instead of one (``None assigned``, ``(null)``, ``n/a``).
    """
    names: list[str] = []
    for entry in _split(text.strip(), text):
        names.extend(_expand_entry(entry, text))
        if len(names) > MAX_HOSTS:
            raise ValueError(f"host list with more than {MAX_HOSTS} names: {text[:80]!r}")
    return tuple(names)


def compress(names: Iterable[str]) -> str:
    """Return the host list for names; ``expand`` gives the same names in the same order.

    Neighbours that differ only in their last number share brackets. Raises ValueError for an impossible name.
    """
    entries: list[str] = []
    group: tuple[str, str] | None = None
    numbers: list[str] = []

    def close() -> None:
        if group is not None:
            body = ranges(numbers)
            entries.append(group[0] + (f"[{body}]" if len(numbers) > 1 else body) + group[1])

    for name in names:
        if not name or not _PLAIN.issuperset(name):
            raise ValueError(f"not a host name: {name!r}")
        stem = name.rstrip(_LETTERS)
        prefix = stem.rstrip(_DIGITS)
        number = stem[len(prefix) :]
        # Brackets need a name with a prefix and a number that is not too long for Slurm.
        key = (prefix, name[len(stem) :]) if prefix and 0 < len(number) <= _MAX_DIGITS else None
        if key is None or key != group:
            close()
            group, numbers = key, []
        if key is None:
            entries.append(name)
        else:
            numbers.append(number)
    close()
    return ",".join(entries)


def ranges(numbers: list[str]) -> str:
    """Return numbers, given in order as digits, as ranges like ``01-03,7``; each number keeps its width."""
    parts: list[str] = []
    first = last = numbers[0] if numbers else ""
    for number in [*numbers[1:], ""]:
        if number and number == str(int(last) + 1).zfill(len(last)):
            last = number
            continue
        parts.append(first if first == last else f"{first}-{last}")
        first = last = number
    return ",".join(parts)


def idset(text: str) -> list[int]:
    """Return the numbers of a Flux idset (RFC 22), ``0-3,7`` or ``[0-3,7]``; raise ValueError on others."""
    try:
        return [int(number) for number in _expand_ranges(text.strip("[]"), text)]
    except ValueError:
        raise ValueError(f"not an idset: {text[:40]!r}") from None


def _split(text: str, whole: str) -> list[str]:
    """Split at the commas outside brackets."""
    if not text:
        return []
    entries, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise ValueError(f"unbalanced brackets in the host list {whole[:80]!r}")
        if character == "," and depth == 0:
            entries.append(text[start:index])
            start = index + 1
    if depth:
        raise ValueError(f"unbalanced brackets in the host list {whole[:80]!r}")
    return [*entries, text[start:]]


def _expand_entry(entry: str, whole: str) -> Iterable[str]:
    pieces: list[list[str]] = []
    count = 1
    for index, part in enumerate(entry.replace("]", "[").split("[")):
        if index % 2:
            pieces.append(_expand_ranges(part, whole))
        elif _PLAIN.issuperset(part):
            pieces.append([part])
        else:
            raise ValueError(f"not a host list: {whole[:80]!r}")
        count *= len(pieces[-1])
        if count > MAX_HOSTS:
            raise ValueError(f"host list with more than {MAX_HOSTS} names: {whole[:80]!r}")
    if not entry or entry.startswith(("[", "-")):
        raise ValueError(f"not a host list: {whole[:80]!r}")
    return ("".join(parts) for parts in product(*pieces))


def _expand_ranges(body: str, whole: str) -> list[str]:
    numbers: list[str] = []
    for part in body.split(","):
        low, dash, high = part.partition("-")
        ends = (low, high) if dash else (low, low)
        if not all(0 < len(end) <= _MAX_DIGITS and not end.strip(_DIGITS) for end in ends):
            raise ValueError(f"not a range of numbers in the host list {whole[:80]!r}: {part!r}")
        first, last = map(int, ends)
        if not first <= last < first + MAX_HOSTS:
            raise ValueError(f"not a range of numbers in the host list {whole[:80]!r}: {part!r}")
        numbers.extend(str(number).zfill(len(low)) for number in range(first, last + 1))
    return numbers
