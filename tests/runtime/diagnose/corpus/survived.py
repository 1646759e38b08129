"""Troubles that a job survives in the ways that programs have for it, and the same before a death. Seeded."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.runtime.diagnose.corpus.recipe import SRUN, TRACE, Recipe, recipes
from tests.runtime.diagnose.corpus.work import ENDS, HEAD, PROGRAMS

# How a program tells of a trouble that it survives; {} is the line of the trouble.
WAYS = {
    "a warning": ["WARNING: {}", "W: {}", "Warning (3): {}"],
    "its own words": [
        "{}; will be attempted once more",
        "{} - next attempt in 60 s",
        "{}; put back in the queue",
    ],
    "the line below": [
        "{}\nrespawned worker 4 as pid 4122",
        "{}\nattempt 2/5",
        "{}\ngoing on without the plot",
    ],
    "some lines below": ["{}\nthe queue is read\nlooking for a node\nsecond try: ok"],
    "the line above": ["WARNING: upload failed:\n{}", "last lines of the log of attempt 1:\n{}"],
    "a record that was caught": ["\n".join([*TRACE, "{}", "using the backup copy"])],
    "a logger": ["12:00:01,123 - app.io - ERROR - {}\n12:00:31,123 - app.io - INFO - reconnected"],
    "a test": ["test_full ...\n{}\nok"],
    "a quotation": ['If you see "{}", look at the quota.', "simulated failure: {}"],
}
# Nobody survives these, and no other program tells of them.
_FINAL = ("time-limit", "preempted/cancelled", "dependency-of-other-rank")
_CALM = [
    f"{verb} {what}"
    for verb in ("reading", "merging", "sorting", "packing")
    for what in ("winds", "rain", "tiles", "maps", "bands", "labels")
]


class Survived(NamedTuple):
    """A log, and the numbers of the lines that tell its death; none for a job that ended well."""

    text: str
    cls: str = ""
    deadly: range = range(0)


def _filled(*lines: str) -> list[str]:
    return [text.replace("{rank}", "3").replace("{node}", "n12").replace("{other}", "5") for text in lines]


def _begun(rng: random.Random, way: str, final: bool) -> tuple[str, Recipe, list[str]]:
    """Return a program, the recipe of its trouble, and the log up to where it has survived that."""
    program = rng.choice(sorted(PROGRAMS))
    known = [each for each in (*recipes("seen"), *recipes("unseen")) if each.cls not in _FINAL]
    trouble = rng.choice([each for each in known if final or not each.others])
    told = rng.choice(WAYS[way]).replace("{}", _filled(trouble.decisive)[0])
    work = PROGRAMS[program](rng, 1, rng.randrange(8, 60))
    return program, trouble, [*rng.sample(HEAD, 4), *work, *told.split("\n")]


def _more(rng: random.Random, program: str) -> list[str]:
    """Return what follows: many steps, a few, or other output."""
    return rng.choice(
        [
            [*PROGRAMS[program](rng, 100, rng.randrange(60, 150))],
            [*PROGRAMS[program](rng, 100, rng.randrange(9, 25))],
            rng.sample(_CALM, rng.randrange(8, 20)),
        ]
    )


def well(seed: str, way: str) -> Survived:
    """Return the log of a job that survived a trouble and ended well."""
    rng = random.Random(seed)
    program, _, lines = _begun(rng, way, True)
    return Survived("\n".join([*lines, *_more(rng, program), *ENDS[program]]) + "\n")


def dead(seed: str, way: str) -> Survived:
    """Return the log of a job that survived a trouble, went on, and died of another one."""
    rng = random.Random(seed)
    program, first, lines = _begun(rng, way, False)
    lines += _more(rng, program)
    death = rng.choice([each for each in recipes("seen") if each.cls != first.cls])
    begin = len(lines) + 1
    lines += _filled(*death.before, death.decisive, *death.after)
    deadly = range(begin, len(lines) + 1)
    return Survived(
        "\n".join([*lines, *_filled(*death.others, *(death.summary or SRUN))]) + "\n", death.cls, deadly
    )
