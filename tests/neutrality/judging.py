"""A whole run of the suite: what differs, which of it nobody knew, and what differs again in a second run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec

from tests.neutrality.cases import volatile
from tests.neutrality.comparing import Known, defects, differences, mended, shown, unknown
from tests.neutrality.known import KNOWN
from tests.neutrality.records import CONTROLS, Difference, Outcome
from tests.neutrality.running import Twin, plain_of, run_all, twins
from tests.neutrality.sites import Site


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


def repeated(first: frozenset[str], second: frozenset[str], chance: frozenset[str]) -> Repeated:
    """Judge a difference by its repetition.

    Args:
        first: aspects in which the wrapped run differed from the plain one.
        second: the same of another wrapped run and another plain one.
        chance: aspects in which plain runs differ from each other.
    """
    if (first & second) - chance:
        return Repeated.AGAIN
    return Repeated.CHANCE if first & chance else Repeated.ONCE


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What differs of one wrapped run.

    Attributes:
        twin: the run.
        kind: what the repetition says of it.
        told: the differences, as text for people.
    """

    twin: Twin
    kind: Repeated
    told: str

    def __str__(self) -> str:
        """Return the run's name."""
        return f"{self.twin.case.name} [{self.twin.way.name}]"


def lasting(found: Sequence[Found]) -> dict[str, str]:
    """Return the differences that showed again, as text for people, by the names of their runs."""
    return {str(one): one.told for one in found if one.kind is Repeated.AGAIN}


def judged(site: Site, wanted: Sequence[Twin], at_once: int = 16) -> tuple[list[Found], tuple[Known, ...]]:
    """Run all twins, and once more what differs, beside two plain ones.

    What the three plain runs of a case differ in themselves is no difference.

    Args:
        site: the cluster.
        wanted: all that is to be run.
        at_once: how many of them at once.

    Returns what differs, and the known defects that do not show any more.
    """
    outcomes = run_all(site, wanted, at_once)
    first = verdict(wanted, outcomes, KNOWN)
    failed = [twin for twin in wanted if first.new.get((twin.case.name, twin.way.name))]
    pairs = [(twin.case, twin.way) for twin in failed]
    again = twins([*pairs, *((case, CONTROLS[way.command]) for case, way in pairs)], site.manager)
    repetition = run_all(site, again, at_once) if again else {}
    second = verdict(again, repetition, KNOWN)
    found = []
    for twin in failed:
        name = (twin.case.name, twin.way.name)
        plain = (twin.case.name, plain_of(twin.way).name)
        chance = second.aspects[twin.case.name, CONTROLS[twin.way.command].name]
        if plain in outcomes and plain in repetition:
            chance |= {one.aspect for one in differences(outcomes[plain], repetition[plain])}
        kind = repeated(first.aspects[name], second.aspects[name], chance)
        told = f"{first.new[name]}\n"
        if kind is Repeated.AGAIN:
            told += f"  the second time:\n{second.new[name]}\n"
        found.append(Found(twin=twin, kind=kind, told=told))
    return found, first.mended
