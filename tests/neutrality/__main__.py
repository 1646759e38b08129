"""``python -m tests.neutrality``: the whole suite, or a part of it, with all differences shown."""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatchcase

import msgspec

from tests.neutrality import sites
from tests.neutrality.cases import NAMED, brief, generated, smaller, spread
from tests.neutrality.judging import verdict
from tests.neutrality.known import KNOWN
from tests.neutrality.records import CONTROL, WAYS, Case, Way
from tests.neutrality.running import run_all, twins
from whesl.managers.workflow.wrapping_changes import page


def main() -> int:
    """Run what is asked for; return 1 where something differs that nobody knew."""
    parser = argparse.ArgumentParser(prog="python -m tests.neutrality", description=__doc__)
    parser.add_argument("--only", default="*", help="cases, as a glob")
    parser.add_argument("--ways", default="*", help="ways, as a glob")
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
    parser.add_argument("--keep", action="store_true", help="wait for Enter before the cluster ends")
    chosen = parser.parse_args()
    if chosen.page:
        print(page(), end="")
        return 0
    ways = [CONTROL] if chosen.control else [way for way in WAYS if fnmatchcase(way.name, chosen.ways)]
    if chosen.brief:
        pairs = [(case, way) for way in ways for case in brief().get(way.name, ())]
    elif chosen.each_way:
        pairs = [(case, way) for way in ways for case in NAMED]
    else:
        pairs = spread(NAMED, ways)
    pairs = [(case, way) for case, way in pairs if fnmatchcase(case.name, chosen.only)]
    if chosen.times > 1:
        pairs = [
            (msgspec.structs.replace(case, name=f"{case.name}, run {number}"), way)
            for number in range(1, chosen.times + 1)
            for case, way in pairs
        ]
    pairs += [(case, way) for way in ways for case in generated(chosen.seed, chosen.count)]
    began = time.monotonic()
    with sites.SITES[chosen.manager](chosen.nodes) as site:
        wanted = twins(pairs, site.manager)
        print(f"{len(pairs)} cases, {len(wanted)} runs", flush=True)
        found = run_all(site, wanted, chosen.at_once)
        result = verdict(wanted, found, KNOWN)
        failed = {name: text for name, text in result.new.items() if text}
        for twin in wanted:
            if (twin.case.name, twin.way.name) in failed and twin.case.name.startswith("seed-"):
                least = shrunk(site, twin.case, twin.way, chosen.at_once)
                print(f"{twin.case.name} [{twin.way.name}] differs for: {', '.join(least.features)}")
        if chosen.keep:
            input(f"{site.root} ")
    for (case, way), text in failed.items():
        print(f"FAILED {case} [{way}]\n{text}")
    for one in result.mended:
        print(f"mended, to be taken out of tests/neutrality/known.py: {one}")
    print(f"{len(wanted)} runs, {len(failed)} differ, {time.monotonic() - began:.0f} s")
    return 1 if failed or result.mended else 0


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
