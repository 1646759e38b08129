"""``python -m tests.neutrality``: the whole suite, or a part of it, with all differences shown."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from fnmatch import fnmatchcase

import msgspec

from tests.neutrality import sites
from tests.neutrality.cases import NAMED, brief, generated, smaller, spread
from tests.neutrality.judging import Found, Repeated, judged, verdict
from tests.neutrality.known import KNOWN
from tests.neutrality.records import CONTROLS, WAYS, Case, Way
from tests.neutrality.running import run_all, twins
from whesl.managers.workflow.wrapping_changes import page


def main() -> int:
    """Run what is asked for; return 1 where something differs again that nobody knew."""
    parser = argparse.ArgumentParser(prog="python -m tests.neutrality", description=__doc__)
    parser.add_argument("--only", default="*", help="cases, as globs with commas between")
    parser.add_argument("--ways", default="*", help="ways, in the same way")
    parser.add_argument("--brief", action="store_true", help="the part that make test runs")
    parser.add_argument("--each-way", action="store_true", help="each case in all ways, not in three of them")
    parser.add_argument("--seed", type=int, default=1, help="of generated combinations")
    parser.add_argument("--count", type=int, default=0, help="how many combinations are generated")
    parser.add_argument("--times", type=int, default=1, help="run each so often, for what differs by chance")
    parser.add_argument("--control", action="store_true", help="compare plain runs with plain ones")
    parser.add_argument("--page", action="store_true", help="print docs/what-wrapping-changes.md")
    parser.add_argument("--manager", choices=list(sites.SITES), default="slurm")
    parser.add_argument("--nodes", type=int, default=24)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--piece", type=int, default=60, help="cases that are run and told of together")
    parser.add_argument("--from-piece", type=int, default=1, help="go on with this one")
    parser.add_argument("--keep", action="store_true", help="wait for Enter before the cluster ends")
    chosen = parser.parse_args()
    if chosen.page:
        print(page(), end="")
        return 0
    ways = list(CONTROLS.values()) if chosen.control else list(WAYS)
    pairs = _pairs(chosen, [way for way in ways if _named(way.name, chosen.ways)])
    pieces = [pairs[first : first + chosen.piece] for first in range(0, len(pairs), chosen.piece)]
    began, runs, count, clean = time.monotonic(), 0, Counter[Repeated](), True
    with sites.SITES[chosen.manager](chosen.nodes) as site:
        for number, piece in enumerate(pieces[chosen.from_piece - 1 :], chosen.from_piece):
            wanted = twins(piece, site.manager)
            found, mended = judged(site, wanted, chosen.at_once)
            for known in mended:
                print(f"mended, to be taken out of tests/neutrality/known.py: {known}")
            for one in found:
                _tell(site, one, chosen.at_once)
            runs, clean = runs + len(wanted), clean and not mended
            count.update(one.kind for one in found)
            told = f"{len(wanted)} runs, {len(found)} differ, {time.monotonic() - began:.0f} s"
            print(f"piece {number} of {len(pieces)}: {told}", flush=True)
        if chosen.keep:
            input(f"{site.root} ")
    told = ", ".join(f"{kind.value}: {count[kind]}" for kind in Repeated)
    print(f"{len(pairs)} cases, {runs} runs; {told}; {time.monotonic() - began:.0f} s")
    return 0 if clean and not count[Repeated.AGAIN] else 1


def _named(name: str, globs: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs.split(","))


def _pairs(chosen: argparse.Namespace, ways: list[Way]) -> list[tuple[Case, Way]]:
    """Return all cases that are asked for, each with a way."""
    if chosen.brief:
        pairs = [(case, way) for way in ways for case in brief().get(way.name, ())]
    elif chosen.each_way or chosen.control:
        pairs = [(case, way) for case in NAMED for way in ways]
    else:
        pairs = spread(NAMED, ways)
    pairs = [(case, way) for case, way in pairs if _named(case.name, chosen.only)]
    if chosen.times > 1:
        pairs = [
            (msgspec.structs.replace(case, name=f"{case.name}, run {number}"), way)
            for number in range(1, chosen.times + 1)
            for case, way in pairs
        ]
    return pairs + [(case, way) for way in ways for case in generated(chosen.seed, chosen.count)]


def _tell(site: sites.Site, one: Found, at_once: int) -> None:
    """Print a difference, of a generated case that differs again also its smallest part that does."""
    case, way = one.twin.case, one.twin.way
    print(f"{one.kind.value}: {one}\n{one.told}", end="")
    if one.kind is Repeated.AGAIN and case.name.startswith("seed-"):
        least = shrunk(site, case, way, at_once)
        print(f"{one} differs for: {', '.join(least.features)}")


def shrunk(site: sites.Site, case: Case, way: Way, at_once: int) -> Case:
    """Leave out features of a case, one after the other, as long as something still differs."""
    while candidates := smaller(case):
        wanted = twins([(one, way) for one in candidates], site.manager)
        result = verdict(wanted, run_all(site, wanted, at_once), KNOWN)
        still = [one for one in candidates if result.new.get((one.name, way.name))]
        if not still:
            break
        case = still[0]
    return case


if __name__ == "__main__":
    sys.exit(main())
