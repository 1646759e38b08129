"""Protected functions in real processes: what comes back, and what becomes of those that fail."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import whesl
from tests.runtime.functions import samples
from tests.runtime.functions.conftest import records
from tests.runtime.isolator.bench import records as journal_of
from tests.waiting import until
from whesl.runtime.functions.rules import DIRECTORY, PROGRESS
from whesl.runtime.isolator.task.taskdir import TaskDir

pytestmark = pytest.mark.xdist_group("functions")  # one kept isolator for all


def test_a_function_runs_in_a_process_of_its_own_with_all_that_its_caller_has(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OF_THE_CALLER", "set")
    seen = samples.told(1, "two", name={"three": [4]})
    assert seen["args"] == (1, "two")
    assert seen["kwargs"] == {"name": {"three": [4]}}
    assert seen["pid"] not in (os.getpid(), 0)
    assert seen["cwd"] == str(tmp_path)
    assert seen["environment"]["OF_THE_CALLER"] == "set"
    assert seen["environment"]["WHESL_TASK"].startswith("functions/told")
    assert seen["group"] == seen["pid"]
    assert seen["stdin"] == ""
    assert not records(home, "told"), "nothing happened to the call, and nothing of it is kept"


def test_what_a_function_prints_goes_where_its_caller_prints(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    @whesl.task
    def printing() -> None:
        print("to stdout")
        print("to stderr", file=sys.stderr)
        os.system("echo by a program")

    printing()
    out, err = capfd.readouterr()
    assert out.splitlines() == ["to stdout", "by a program"]
    assert err == "to stderr\n"


def test_closures_lambdas_and_methods(home: Path) -> None:
    base = np.arange(3)
    add = whesl.task(lambda value: base + value)
    assert add(np.int64(2)).tolist() == [2, 3, 4]
    assert samples.Shape(3).area(times=2) == 18
    assert samples.Shape.twice(4) == 8
    assert samples.Shape(3).twice(5) == 10

    class LocalError(Exception):
        pass

    @whesl.task
    def fails() -> None:
        raise LocalError("own")

    with pytest.raises(LocalError, match="own") as caught:
        fails()
    # cloudpickle leaves out the names of source files (3.1.3, ``_code_reduce``): no line was shown.
    assert 'raise LocalError("own")' in str(caught.value.__cause__)


def test_processes_draw_numbers_of_their_own(home: Path) -> None:
    draw = whesl.task(lambda: float(np.random.rand()))  # its global state is what a fork inherits
    assert len({draw() for _ in range(2)}) == 2


def test_arguments_and_results_that_are_large(home: Path) -> None:
    many = np.arange(2_000_000)
    double = whesl.task(lambda array: array * 2)
    assert (double(many) == many * 2).all()


def test_an_exception_comes_back_with_its_type_and_its_traceback(home: Path) -> None:
    with pytest.raises(samples.PlainError) as caught:
        samples.raising("plain")
    assert caught.value.code == 3
    trace = str(caught.value.__cause__)
    assert "in deeper" in trace and 'raise PlainError("three", 3)' in trace
    assert "whesl/runtime/functions" not in trace, "it begins with the function itself"
    (record,) = records(home, "raising")
    (ended,) = [data for kind, data in journal_of(TaskDir(record)) if kind == "exited"]
    assert "cause" not in ended, "its output is not searched for what the exception says"
    assert (
        "PlainError"
        in (record / "attempt-1" / "stderr").read_text() + (record / "attempt-1" / "stdout").read_text()
    )


def test_what_ends_a_program_is_an_exception_of_the_call(home: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        samples.raising("interrupt")


def test_what_cannot_be_given_back_is_told_with_its_type(home: Path) -> None:
    with pytest.raises(whesl.UnpicklableError, match=r"samples\.OddError: odd 4") as caught:
        samples.raising("odd")
    assert "in deeper" in str(caught.value.__cause__)
    with pytest.raises(whesl.UnpicklableError, match="result of type _thread"):
        samples.raising("lock")
    with pytest.raises(whesl.UnpicklableError, match="a call of told cannot be given"):
        samples.told(threading.Lock())


@pytest.mark.parametrize(
    ("how", "said", "status"),
    [("exit", "with status 7", 7), ("segfault", "by signal 11", 139)],
)
def test_a_process_that_ends_without_a_result(home: Path, how: str, said: str, status: int) -> None:
    with pytest.raises(whesl.FunctionDiedError, match=said) as caught:
        samples.dying(how)
    assert caught.value.status == status
    record = Path(caught.value.record)
    assert (record / "journal.db").exists()
    if how == "segfault":
        assert "Segmentation fault" in (record / "attempt-1" / "stderr").read_text()


def test_a_good_status_alone_is_no_result(home: Path) -> None:
    with pytest.raises(whesl.FunctionError, match="without a result"):
        samples.dying("well")


def test_attempts_with_other_arguments_and_environment(home: Path, tmp_path: Path) -> None:
    """After an exception, then after a death; a variable stays set, arguments are those of the attempt."""
    assert samples.smaller(tmp_path / "count") == (8, "safe ${x}", 2)
    assert len(records(home, "smaller")) == 1, "what happened can be read afterwards"


def test_only_what_is_named_is_tried_again(home: Path, tmp_path: Path) -> None:
    assert samples.flaky(tmp_path / "one", FileNotFoundError("a kind of OSError")) == 1
    with pytest.raises(KeyError):
        samples.flaky(tmp_path / "two", KeyError("not named"))
    assert (tmp_path / "two").read_text() == "x"


def test_outputs_that_are_missing_or_old(home: Path, tmp_path: Path) -> None:
    assert samples.writing(tmp_path / "out", place=tmp_path / "count") == "returned"
    assert (tmp_path / "count").read_text() == "xx"
    with pytest.raises(FileNotFoundError, match=r"input .*none is missing"):
        samples.converting(tmp_path / "none")
    (tmp_path / "input").touch()
    with pytest.raises(whesl.OutputMissingError, match="is older than"):
        samples.converting(tmp_path / "input")


def test_a_silent_function_is_ended(home: Path) -> None:
    with pytest.raises(whesl.FunctionSilentError, match=r"^silent: no output for 1 s"):
        samples.silent()


def test_a_function_without_progress_is_called_again(home: Path, tmp_path: Path) -> None:
    assert samples.stalling(tmp_path / "count") == 1
    assert (tmp_path / "count").read_text() == "xx"


def test_of_a_burst_the_last_number_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    for number in range(9999):
        whesl.progress(number)
    told = tmp_path / PROGRESS
    until(lambda: told.read_text().endswith("\n9998\n"), "the last number", 30.0)
    assert len(told.read_text().split()) < 999
    with pytest.raises(ValueError, match="at least 0"):
        whesl.progress(-1)


def test_a_function_calls_another_one(home: Path) -> None:
    number, inner, own = samples.outer(6)
    assert number == 6
    assert len({inner, own, os.getpid()}) == 3


def test_many_threads_call_at_once(home: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(samples.told, range(6)))
    assert [one["args"][0] for one in seen] == list(range(6))
    assert len({one["pid"] for one in seen}) == 6


def test_rules_of_a_file_hold_for_functions_by_their_names(home: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.esl"
    rules.write_text(
        "DECLARE ENTITY JOB\nDECLARE EXCEPTION_TYPE JOB_LEVEL\nDECLARE RESOURCE JOB[REPLACE]\n"
        "DECLARE EXCEPTION DIVERGED JOB_LEVEL JOB [solve] LIMIT 1\n"
        'EXCEPTION DETECTION DIVERGED LOG "diverged" output\n'
        'EXCEPTION RECOVERY STEP DIVERGED JOB JOB.REPLACE {"environment": {"DT": "0.1"}}\n'
    )

    def body() -> str:
        if "DT" not in os.environ:
            print("diverged", flush=True)
            signal.pause()
        return os.environ["DT"]

    assert whesl.task(rules=rules, name="solve")(body)() == "0.1"


def test_wrong_rules_are_told_before_anything_runs(home: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.esl").write_text("DECLARE NOTHING\n")
    with pytest.raises(Exception, match=r"bad\.esl") as caught:
        whesl.task(rules=[tmp_path / "bad.esl"])(lambda: None)()
    assert type(caught.value).__name__ == "UsageError"


@pytest.mark.parametrize("by", ["signal", "exception"])
def test_an_interrupt_of_the_caller_ends_the_function(by: str, home: Path, tmp_path: Path) -> None:
    """By a signal, or by an exception that another thread sets, as one of Parsl's does for a ``walltime``."""
    started = tmp_path / "started"
    # A daemon's command that another test has called in this process leaves its own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        until(started.exists, "the function runs", 20)
        caller = threading.main_thread().ident or 0
        if by == "signal":
            # The kernel may give a signal to the process to another thread: the waiting one hears nothing.
            signal.pthread_kill(caller, signal.SIGINT)
        else:
            set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
            set_exception(ctypes.c_ulong(caller), ctypes.py_object(KeyboardInterrupt))

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        samples.waiting(started)
    thread.join(60)
    pid = int(started.read_text())
    until(lambda: not Path(f"/proc/{pid}").exists(), "its process has ended", 5)
