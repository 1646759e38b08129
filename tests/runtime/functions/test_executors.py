"""Protected functions under executors, and what happens when a part of it all is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

import whesl
from tests.processes import below, words
from tests.runtime.functions import samples
from tests.waiting import until

pytestmark = [pytest.mark.xdist_group("functions"), pytest.mark.costly]  # processes with kept isolators


def test_a_pool_of_processes(home: Path) -> None:
    """A forked worker has an isolator of its own: that of its parent belongs to another process."""
    assert samples.Shape.twice(1) == 2  # the parent's is there
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        assert pool.submit(samples.Shape.twice, 4).result() == 8
        with pytest.raises(whesl.FunctionDiedError, match="signal 9"):
            pool.submit(samples.dying, "kill").result()
        assert pool.submit(samples.Shape.twice, 5).result() == 10, "the worker lives"


_SCRIPT = """\
import sys
import whesl

class OwnError(Exception):
    def __init__(self, code, place):  # Python calls it with one argument, and the pool broke
        super().__init__(f"{code} at {place}")
        self.code = code

@whesl.task
def scripted(number):
    if number < 0:
        raise OwnError(number, "home")
    return number + 1

if __name__ == "__main__":
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        print(pool.submit(scripted, 1).result())
        try:
            pool.submit(scripted, -1).result()
        except OwnError as error:
            print("own", error.code, error)
        print(pool.submit(scripted, 2).result())
"""


def test_functions_of_a_script(kept_home: Path, tmp_path: Path) -> None:
    """Neither their module nor their exceptions can be imported by another process."""
    (tmp_path / "script.py").write_text(_SCRIPT)
    environment = {**os.environ, "WHESL_HOME": str(kept_home)}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["2", "own -1 -1 at home", "3"], done.stderr


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, whesl; print(sorted(one for one in sys.modules if one.startswith('whesl')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['whesl']"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = whesl.nothing


def _kept(module: str) -> list[psutil.Process]:
    """Return the processes of this one that run a module."""
    return [one for one in below(os.getpid()) if words(one)[1:3] == ["-m", module]]


def test_a_call_outlives_the_kept_isolator_and_the_next_one_has_another(home: Path, tmp_path: Path) -> None:
    samples.Shape.twice(1)
    (kept,) = _kept("whesl.runtime.functions.isolator_server")[:1]
    go = tmp_path / "go"

    @whesl.task
    def waits() -> str:
        Path(f"{go}.runs").touch()
        until(go.exists, "its end", 60)
        return "done"

    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(waits)
        until(Path(f"{go}.runs").exists, "the function runs", 20)
        kept.send_signal(signal.SIGKILL)
        kept.wait(20)
        go.touch()
        assert called.result(60) == "done"
    assert samples.Shape.twice(2) == 4
    assert kept.pid not in [one.pid for one in _kept("whesl.runtime.functions.isolator_server")]


def test_a_call_whose_keeper_is_killed_is_taken_up(home: Path, tmp_path: Path) -> None:
    samples.Shape.twice(1)
    before = {one.pid for one in below(os.getpid())}
    keeper = tmp_path / "keeper"

    @whesl.task
    def waits() -> str:
        keeper.with_suffix(".part").write_text("runs")
        keeper.with_suffix(".part").rename(keeper)
        until(keeper.with_suffix(".go").exists, "its end", 60)
        return "done"

    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(waits)
        until(keeper.exists, "the function runs", 20)
        (server,) = _kept("whesl.runtime.functions.isolator_server")[:1]
        (own,) = [
            one for one in server.children() if one.pid not in before and "server" in " ".join(words(one))
        ]
        own.send_signal(signal.SIGKILL)
        until(lambda: not own.is_running() or own.status() == psutil.STATUS_ZOMBIE, "its keeper is dead", 20)
        keeper.with_suffix(".go").touch()
        assert called.result(60) == "done"


def test_the_function_of_a_caller_that_is_killed_is_ended(kept_home: Path, tmp_path: Path) -> None:
    code = "import sys, pathlib; from tests.runtime.functions import samples"
    code += "; samples.waiting(pathlib.Path(sys.argv[1]))"
    environment = {**os.environ, "WHESL_HOME": str(kept_home)}
    started = tmp_path / "started"
    caller = subprocess.Popen(
        [sys.executable, "-c", code, str(started)], cwd=Path(__file__).parents[3], env=environment
    )
    until(started.exists, "the function runs", 30)
    function = psutil.Process(int(started.read_text()))
    caller.kill()
    caller.wait()
    until(lambda: not function.is_running(), "its process has ended", 5)


def test_modules_that_a_good_call_has_imported_are_there_for_the_next(home: Path) -> None:
    there = whesl.task(lambda: "numpy" in sys.modules)

    @whesl.task
    def importing() -> None:
        import numpy  # noqa: F401  # it is what is tried

    importing()
    assert there()
