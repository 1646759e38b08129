"""Thousands of seeds hold; each is a world of its own (``python -m tests.simulation --seed N`` shows one)."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulation.many import failures
from tests.simulation.scenario import draw
from tests.simulation.system import play

SEEDS = 5000
PIECE = 250


@pytest.mark.slow
@pytest.mark.processor
@pytest.mark.timeout(600)
def test_the_first_seeds_hold() -> None:
    """On all cores, in interpreters of their own."""
    workers = max(len(os.sched_getaffinity(0)), 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        pieces = pool.map(failures, range(0, SEEDS, PIECE), [PIECE] * (SEEDS // PIECE))
        failed = [failure for piece in pieces for failure in piece]
    shown = "\n".join(f"python -m tests.simulation --seed {seed}  # {text}" for seed, text in failed[:20])
    assert not failed, f"{len(failed)} of {SEEDS} seeds:\n{shown}"


def test_a_seed_is_always_the_same_world() -> None:
    for seed in (3, 11, 25):
        one, two = play(draw(seed), trace=True), play(draw(seed), trace=True)
        assert one.world.lines == two.world.lines
        assert one.place.records == two.place.records
