"""Whole logs out of work, noise and failures. Seeded: the same number gives the same log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.runtime.diagnose.corpus.recipe import Recipe, recipes
from tests.runtime.diagnose.corpus.work import ENDS, HEAD, NOISE, PROGRAMS

VARIANTS = 2  # logs of each failure: the decisive line near the end, and far from it
WELL = 60
RANKS = 48


class Case(NamedTuple):
    """A log, and what is right. ``cls`` is empty for a job that ended well; lines count from 1."""

    name: str
    seen: bool
    text: str
    cls: str = ""
    lines: frozenset[int] = frozenset()
    advice: tuple[str, ...] = ()
    rank: int | None = None
    node: str | None = None


def cases() -> list[Case]:
    """Return all logs of the corpus."""
    found = []
    for known, failures in ((True, recipes("seen")), (False, recipes("unseen"))):
        for number, recipe in enumerate(failures):
            for variant in range(VARIANTS):
                name = f"{'seen' if known else 'unseen'}-{number:02}-{variant}"
                found.append(_dead(name, recipe, known, far=variant == 1))
    found += [_well(f"well-{number:02}", seen_=number % 2 == 0) for number in range(WELL)]
    return found


def _labels(rng: random.Random) -> str:
    return rng.choice(
        ("", "", "{rank}: ", "[rank{rank}]: ", "[default{rank}]:", "[1,{rank}]<stderr>:", "[{rank}] ")
    )


def _stamp(rng: random.Random) -> str:
    return rng.choice(
        (
            "",
            "",
            "",
            "2024-05-01T12:00:{s:02}.123 ",
            "2024-05-01 12:00:{s:02},123 ",
            "[2024-05-01 12:00:{s:02}] ",
        )
    )


def _work(
    rng: random.Random, program: str, first: int, count: int, label: str, noise: float
) -> Iterator[str]:
    prefix = label.format(rank=0)
    for line in PROGRAMS[program](rng, first, count):
        yield prefix + line
        if rng.random() < noise:
            yield rng.choice(NOISE)


def _dead(name: str, recipe: Recipe, known: bool, *, far: bool) -> Case:
    rng = random.Random(name)
    rank, node = rng.randrange(1, RANKS), f"n{rng.randrange(10, 99)}"
    label = _labels(rng)
    stamp = _stamp(rng)

    def filled(text: str) -> str:
        other = (rank + rng.randrange(1, RANKS)) % RANKS
        for key, value in (("{rank}", rank), ("{node}", node), ("{other}", other)):
            text = text.replace(key, str(value))
        return text

    own = label.format(rank=rank) if recipe.label else ""
    lines = rng.sample(HEAD, 6) + list(_work(rng, recipe.program, 1, rng.randrange(40, 300), label, 0.02))
    right = set()
    block = [*recipe.before, recipe.decisive, *recipe.after]
    for index, text in enumerate(block):
        at = stamp.format(s=index % 60)
        lines.append(at + own + filled(text))
        if index == len(recipe.before) or any(words in text for words in recipe.also):
            right.add(len(lines))
    for _ in range(rng.randrange(100, 400) if far else rng.randrange(0, 6)):
        if not recipe.others:
            break
        other = (rank + rng.randrange(1, RANKS)) % RANKS
        lines.append(stamp.format(s=30) + label.format(rank=other) + filled(rng.choice(recipe.others)))
    if far and not recipe.others:
        lines += [f"    frame {n}: 0x{rng.randrange(2**40):x} in ??" for n in range(rng.randrange(100, 200))]
    for text in recipe.summary:
        lines.append(filled(text))
        if any(words in text for words in recipe.also):
            right.add(len(lines))
    told_rank = "rank" in recipe.where and (
        bool(own and label) or any("{rank}" in t for t in (*block, *recipe.summary))
    )
    told_node = "node" in recipe.where and any("{node}" in t for t in (*block, *recipe.summary))
    return Case(
        name,
        known,
        "\n".join(lines) + "\n",
        recipe.cls,
        frozenset(right),
        recipe.advice,
        rank if told_rank else None,
        node if told_node else None,
    )


def _well(name: str, *, seen_: bool) -> Case:
    rng = random.Random(name)
    program = rng.choice(sorted(PROGRAMS))
    label = _labels(rng)
    lines = rng.sample(HEAD, 6) + list(_work(rng, program, 1, rng.randrange(60, 400), label, 0.05))
    if rng.random() < 0.4:
        # Trouble that the program went on after.
        trouble = rng.choice([*recipes("seen"), *recipes("unseen")])
        fit = trouble.cls in (
            "out-of-memory-gpu",
            "quota",
            "filesystem-error",
            "launcher/rendezvous",
            "filesystem-full",
        )
        if fit:
            lines.append(
                trouble.decisive.replace("{rank}", "3").replace("{node}", "n12")
                + " (attempt 1 of 3, retrying)"
            )
            lines += _work(rng, program, 400, 120, label, 0.02)
    lines += ENDS[program]
    if rng.random() < 0.3:
        lines.append("job finished with exit code 0")
    return Case(name, seen_, "\n".join(lines) + "\n")
