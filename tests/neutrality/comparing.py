"""What differs between two outcomes, and which differences are defects. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from tests.neutrality.records import Difference, Outcome
from whesl.managers.workflow.wrapping_changes import CHANGES

# Seconds by which a signal may come later than in the plain job, as on a busy machine.
LATE = 15.0


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A defect that is known: cases, ways and aspects as globs, and why it is not mended yet.

    ``sometimes``: whether it shows in some runs only, so that one without it proves nothing.
    """

    cases: tuple[str, ...]
    aspects: tuple[str, ...]
    reason: str
    ways: tuple[str, ...] = ("run*",)
    sometimes: bool = False

    def covers(self, case: str, way: str) -> bool:
        """Whether a case in a way is one of those."""
        return _any(case, self.cases) and _any(way, self.ways)


def _any(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def differences(plain: Outcome, wrapped: Outcome) -> tuple[Difference, ...]:
    """Return all aspects that differ, in order of their names; moments do where the wrapped job is late."""
    names = sorted(plain.aspects.keys() | wrapped.aspects.keys())
    return tuple(
        Difference(aspect=name, plain=plain.aspects.get(name), wrapped=wrapped.aspects.get(name))
        for name in names
        if not _same(name, plain.aspects.get(name), wrapped.aspects.get(name))
    )


def _same(name: str, plain: str | None, wrapped: str | None) -> bool:
    if name.startswith("when:"):
        # A file that one of them lacks is a difference of its own. A plain job may be late on a busy machine.
        return plain is None or wrapped is None or float(wrapped) - float(plain) <= LATE
    return plain == wrapped


def defects(found: Iterable[Difference], volatile: Sequence[str]) -> tuple[Difference, ...]:
    """Return the differences that no row of the table explains, nor two plain runs of the case."""
    allowed = [*volatile, *(glob for change in CHANGES for glob in change.aspects)]
    return tuple(one for one in found if not _any(one.aspect, allowed))


def unknown(
    case: str, way: str, found: Iterable[Difference], known: Sequence[Known]
) -> tuple[Difference, ...]:
    """Return the differences that nobody knew."""
    globs = [glob for one in known if one.covers(case, way) for glob in one.aspects]
    return tuple(one for one in found if not _any(one.aspect, globs))


def mended(
    found: Mapping[tuple[str, str], Sequence[Difference]], known: Sequence[Known]
) -> tuple[Known, ...]:
    """Return the known defects that show in none of the runs in which they could.

    Args:
        found: what differs, by the names of case and way.
        known: the defects.
    """
    return tuple(
        one
        for one in known
        if not one.sometimes
        and any(one.covers(*run) for run in found)
        and not any(
            one.covers(*run) and any(_any(each.aspect, one.aspects) for each in there)
            for run, there in found.items()
        )
    )


def shown(found: Sequence[Difference], most: int = 25) -> str:
    """Return differences for people: a line for each, a unified diff where a text has several lines."""
    lines = []
    files = Counter(
        one.aspect.split(":")[1]
        for one in found
        if one.aspect.startswith(("env", "job")) and one.wrapped is None
    )
    for one in found:
        if one.wrapped is None and files.get(one.aspect.split(":")[1], 0) > 10:
            if files[one.aspect.split(":")[1]] < 10_000:
                lines.append(f"{one.aspect} and {files[one.aspect.split(':')[1]] - 1} more: wrapped nothing")
            files[one.aspect.split(":")[1]] = 10_000
            continue
        plain, wrapped = one.plain, one.wrapped
        if plain is not None and wrapped is not None and "\n" in plain + wrapped:
            both = difflib.unified_diff(
                plain.splitlines(), wrapped.splitlines(), "plain", "wrapped", lineterm="", n=1
            )
            lines += [f"{one.aspect}:", *(f"    {_printable(line)}" for line in list(both)[:12])]
        else:
            lines.append(f"{one.aspect}: plain {_printable(plain)}, wrapped {_printable(wrapped)}")
    return "\n".join(lines[:most])


def _printable(text: str | None) -> str:
    if text is None:
        return "nothing"
    return (repr(text) if len(text) < 300 else repr(text[:300]) + "...").replace("\\n", " ")
