"""``python -m tests.simulation``: replay one seed, or run many."""

from __future__ import annotations

import argparse
import sys

from tests.simulation.many import run_many
from tests.simulation.scenario import draw
from tests.simulation.shrink import shrunk, told
from tests.simulation.system import play
from tests.simulation.world import InvariantError


def main(arguments: list[str] | None = None) -> int:
    """Run; returns 0 when everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this one, with its trace")
    parser.add_argument("--whole", action="store_true", help="do not shrink a failing seed")
    parser.add_argument("--seeds", type=int, help="run so many")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default: 0)")
    parser.add_argument("--processes", type=int, default=None, help="default: one for each core")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return replay(given.seed, whole=given.whole)
    if given.seeds is None:
        parser.error("--seed N or --seeds COUNT is needed")
    return run_many(given.first, given.seeds, given.processes)


def replay(seed: int, *, whole: bool) -> int:
    """Print what happens in a seed; a failing one is shrunk first."""
    scenario = draw(seed)
    try:
        system = play(scenario, trace=True)
    except InvariantError as violation:
        if not whole:
            scenario, tries = shrunk(scenario, violation.invariant)
            print(f"seed {seed} shrunk in {tries} tries; what is left of it:")
        try:
            play(scenario, trace=True)
        except InvariantError as smaller:
            violation = smaller
        print("\n".join((told(scenario), *violation.lines, "", f"seed {seed}: {violation}")))
        return 1
    print("\n".join((told(scenario), *system.world.lines, "", f"seed {seed} held")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
