"""What a call of a protected function takes, beside a bare call in a process of the same executor.

python benchmarks/function_calls.py [--quick] [--json FILE] [--only WORD]

Bare and protected calls take turns, one at a time. Executors that are not installed are left out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from measure import Figure, NotHereError, arguments, median, percentile, run_parts, scratch

import whesl

MORE = 50.0  # milliseconds that a protected call may take more than a bare one
CALLS, FEW = 60, 12
Submit = Callable[..., Any]  # takes a function and its arguments, and returns its result


def bare(number: int) -> int:
    """Do nothing: what is measured is the way there and back."""
    return number + 1


def arrays(number: int) -> int:
    """Need a library that loads for long."""
    import numpy as np

    return int(np.arange(number).sum())


@whesl.task
def protected(number: int) -> int:
    """Do nothing, in a process of its own; Parsl brings no other functions of a script."""
    return number + 1


@whesl.task
def protected_arrays(number: int) -> int:
    """Need the library, in a process of its own."""
    import numpy as np

    return int(np.arange(number).sum())


def main() -> None:
    """Measure."""
    parts = [
        ("concurrent.futures", lambda quick: _compared("concurrent.futures", _pool, quick)),
        ("dask.distributed", lambda quick: _compared("dask.distributed", _dask, quick)),
        ("parsl", lambda quick: _compared("parsl", _parsl, quick)),
        ("executorlib", lambda quick: _compared("executorlib", _executorlib, quick)),
        ("whesl exec", _by_a_helper),
    ]
    run_parts(arguments("What a call of a protected function takes."), parts)


@contextlib.contextmanager
def _pool() -> Iterator[Submit]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield lambda function, *args: pool.submit(function, *args).result()


@contextlib.contextmanager
def _dask() -> Iterator[Submit]:
    _need("distributed")
    from distributed import Client, LocalCluster

    with LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield lambda function, *args: client.submit(function, *args, pure=False).result()


@contextlib.contextmanager
def _parsl() -> Iterator[Submit]:
    _need("parsl")
    import parsl

    executor = parsl.HighThroughputExecutor(max_workers_per_node=1, address="127.0.0.1")
    with parsl.load(parsl.Config(executors=[executor], run_dir=str(Path.cwd() / "runinfo"))):
        yield lambda function, *args: parsl.python_app(function)(*args).result()


@contextlib.contextmanager
def _executorlib() -> Iterator[Submit]:
    _need("executorlib")
    from executorlib import SingleNodeExecutor

    # Without a block a process starts for each call, and a kept isolator with it.
    with SingleNodeExecutor(max_workers=1, block_allocation=True) as executor:
        yield lambda function, *args: executor.submit(function, *args).result()


def _need(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise NotHereError(f"there is no {module}")


def _compared(
    name: str, executor: Callable[[], contextlib.AbstractContextManager[Submit]], quick: bool
) -> list[Figure]:
    calls = FEW if quick else CALLS
    with scratch() as place:
        os.chdir(place)  # executors write where they run
        os.environ["WHESL_HOME"] = str(place / "home")
        with executor() as submit:
            pairs = ((bare, protected), (arrays, protected_arrays))
            for each in pairs * 2:  # processes start, modules are imported
                for function in each:
                    submit(function, 1)
            figures = []
            for plain, own in pairs:
                floor, taken = [], []
                for number in range(calls):
                    floor.append(_timed(submit, plain, number))
                    taken.append(_timed(submit, own, number))
                what = "importing NumPy" if plain is arrays else "doing nothing"
                more = median(taken) - median(floor)
                note = f"protected: {median(taken):.1f} ms, 95 % within {percentile(taken, 0.95):.1f} ms"
                figures.append(
                    Figure(f"{name}, {what}: more a call", more, "ms", MORE, floor=median(floor), note=note)
                )
    return figures


def _timed(submit: Submit, function: Callable[..., Any], number: int) -> float:
    began = time.perf_counter()
    submit(function, number)
    return (time.perf_counter() - began) * 1000


def _by_a_helper(quick: bool) -> list[Figure]:
    """Measure what a helper of one's own does: `whesl exec` before an interpreter that calls the function."""
    command = [sys.executable, "-m", "whesl", "exec", "--quiet", "--", sys.executable, "-c", "print(1 + 1)"]
    taken = []
    with scratch() as place:
        environment = {**os.environ, "WHESL_HOME": str(place / "home")}
        for _ in range(2 + (FEW if quick else CALLS) // 4):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment, cwd=place)
            taken.append((time.perf_counter() - began) * 1000)
    return [Figure("whesl exec before python -c, doing nothing: a call", median(taken[2:]), "ms")]


if __name__ == "__main__":
    main()
