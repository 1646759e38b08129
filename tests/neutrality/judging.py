"""A whole run of the suite: what differs, which of it nobody knew, and what is mended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
        mended: known defects that do not show any more.
    """

    runs: dict[tuple[str, str], tuple[Difference, ...]]
    new: dict[tuple[str, str], str]
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
    new = {}
    for twin in wanted:
        if twin.compared:
            name = (twin.case.name, twin.way.name)
            plain, other = found.get((twin.case.name, plain_of(twin.way).name)), found.get(name)
            if plain is None or other is None:
                new[name] = "it did not run"
                continue
            runs[name] = defects(differences(plain, other), volatile(twin.case))
            there = unknown(*name, runs[name], known)
            new[name] = shown(there)
            if any(one.aspect == "submitted" for one in there):
                new[name] += f"\n    it said: {other.said}"
    return Verdict(runs=runs, new=new, mended=mended(runs, known))
