"""Many seeds over several processes, with progress, a rate, and a last line that says how many held."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from tests.simulation.scenario import draw
from tests.simulation.system import play
from tests.simulation.world import InvariantError

CHUNK = 100
# A world is a heap of cycles that goes as a whole: rare collections cost memory, frequent ones time.
YOUNG = 50_000
SHOWN = 20
TOLD_EVERY = 5.0
LOOK = 0.5  # seconds between two looks at whether it was interrupted


def failures(first: int, count: int) -> list[tuple[int, str]]:
    """Run seeds in this process and return those that failed, with what they broke."""
    failed = []
    for seed in range(first, first + count):
        try:
            play(draw(seed))
        except InvariantError as violation:
            failed.append((seed, str(violation)))
    return failed


def begin_work() -> None:
    """Prepare a process that runs seeds and nothing else."""
    # Ctrl-C is for the one who counts: the workers end their chunk, unless nobody counts any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 100)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _chunks(first: int, count: int) -> Iterator[tuple[int, int]]:
    for start in range(first, first + count, CHUNK):
        yield start, min(CHUNK, first + count - start)


def run_many(first: int, count: int, processes: int | None = None) -> int:
    """Run seeds and print how it goes.

    Args:
        first: the first seed.
        count: how many.
        processes: how many at once; one for each core by default.

    Returns 0 when all of them held, 1 when one did not, 130 when it was interrupted.
    """
    workers = processes or len(os.sched_getaffinity(0))
    began = last = time.monotonic()
    done = 0
    failed: list[tuple[int, str]] = []
    chunks = _chunks(first, count)
    running: dict[Future[list[tuple[int, str]]], int] = {}
    interrupted: list[int] = []
    # It takes note only: an exception at any place would break the pool, or be lost in a callback. So does a
    # second one (timeout(1) sends two).
    before = signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    # A fresh interpreter in each: nothing is shared, whatever started this one.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=begin_work) as pool:
        while not interrupted:
            while len(running) < 2 * workers and (chunk := next(chunks, None)) is not None:
                running[pool.submit(failures, *chunk)] = chunk[1]
            if not running:
                break
            for future in wait(running, timeout=LOOK, return_when=FIRST_COMPLETED).done:
                done += running.pop(future)
                for seed, text in future.result():
                    failed.append((seed, text))
                    if len(failed) <= SHOWN:
                        print(f"seed {seed}: {text[:300]}", flush=True)
                        print(f"  python -m tests.simulation --seed {seed}", flush=True)
            if time.monotonic() - last >= TOLD_EVERY:
                last = time.monotonic()
                print(
                    f"{done} of {count}, {done / (last - began):.0f} a second, {len(failed)} failed",
                    flush=True,
                )
        if interrupted:
            for future in running:
                future.cancel()
            print("interrupted: the worlds that have begun end first", flush=True)
    signal.signal(signal.SIGINT, before)
    seconds = time.monotonic() - began
    rate = done / seconds if seconds else 0.0
    how = "interrupted: " if interrupted else ""
    print(f"{how}{done - len(failed)} of {done} seeds held, {rate:.0f} a second, {seconds:.1f} s", flush=True)
    sys.stdout.flush()
    return 130 if interrupted else int(bool(failed))
