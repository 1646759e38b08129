"""A whole run of the suite: what differs, which of it nobody knew, and what is mended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec

from tests.neutrality.cases import volatile
from tests.neutrality.comparing import Known, defects, differences, mended, shown, unknown
from tests.neutrality.records import Difference, Outcome
from tests.neutrality.running import Twin, plain_of


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all runs.

    Attributes:
        runs: what differs, by the names of case and way, rows of the table left out.
        new: the same without what is known, as text for people; "" where nothing is new.
        aspects: the names of what is new.
        mended: known defects that do not show any more.
    """

    runs: dict[tuple[str, str], tuple[Difference, ...]]
    new: dict[tuple[str, str], str]
    aspects: dict[tuple[str, str], frozenset[str]]
    mended: tuple[Known, ...]


def verdict(
    wanted: Sequence[Twin], found: Mapping[tuple[str, str], Outcome], known: Sequence[Known]
) -> Verdict:
    """Return what is to be said of the runs.

    Args:
        wanted: all that were to be run.
        found: the outcomes, by the names of case and way.
        known: defects that are known.
    """
    runs: dict[tuple[str, str], tuple[Difference, ...]] = {}
    new, aspects = {}, {}
    for twin in wanted:
        if twin.compared:
            name = (twin.case.name, twin.way.name)
            plain, other = found.get((twin.case.name, plain_of(twin.way).name)), found.get(name)
            if plain is None or other is None:
                new[name], aspects[name] = "it did not run", frozenset(("run",))
                continue
            runs[name] = defects(differences(plain, other), volatile(twin.case))
            there = unknown(*name, runs[name], known)
            new[name], aspects[name] = shown(there), frozenset(one.aspect for one in there)
            if any(one.aspect == "submitted" for one in there):
                new[name] += f"\n    it said: {other.said}"
    return Verdict(runs=runs, new=new, aspects=aspects, mended=mended(runs, known))


class Repeated(Enum):
    """What a second run says of a difference, with a second plain run beside it."""

    AGAIN = "differs again"
    ONCE = "differed once"
    CHANCE = "differs between two plain runs, too"


def repeated(first: frozenset[str], second: frozenset[str], control: frozenset[str]) -> Repeated:
    """Judge a difference by its repetition.

    Args:
        first: aspects in which the wrapped run differed from the plain one.
        second: the same of another wrapped run and another plain one.
        control: aspects in which a further plain run differs from that plain one.
    """
    if (first & second) - control:
        return Repeated.AGAIN
    return Repeated.CHANCE if first & control else Repeated.ONCE
