"""Thousands of seeds hold; each is a world of its own (``python -m tests.simulation --seed N`` shows one)."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulation.many import begin_work, failures
from tests.simulation.scenario import draw
from tests.simulation.system import play

SEEDS = 150


@pytest.mark.slow
@pytest.mark.busy
@pytest.mark.timeout(1200)
def test_the_first_seeds_hold() -> None:
    """In an interpreter of its own: this one's heap is large."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=begin_work) as worker:
        failed = worker.submit(failures, 0, SEEDS).result()
    shown = "\n".join(f"python -m tests.simulation --seed {seed}  # {text}" for seed, text in failed[:20])
    assert not failed, f"{len(failed)} of {SEEDS} seeds:\n{shown}"


def test_a_seed_is_always_the_same_world() -> None:
    for seed in (3, 11, 25):
        one, two = play(draw(seed), trace=True), play(draw(seed), trace=True)
        assert one.world.lines == two.world.lines
        assert one.place.records == two.place.records
