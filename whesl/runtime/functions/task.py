"""``@whesl.task``: a function whose calls run in processes of their own, under the rules of a task."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from whesl.model.errors import UsageError
from whesl.runtime.functions import isolator_connection, options, payload, rules
from whesl.runtime.functions.errors import (
    FunctionDiedError,
    FunctionError,
    FunctionSilentError,
    FunctionStalledError,
    RemoteTracebackError,
)
from whesl.runtime.functions.options import MARKED, Protected
from whesl.runtime.wire.private_directory import make_private

P = ParamSpec("P")
R = TypeVar("R")
_DONE = "completed"
_SEEN_BY = {"silence": FunctionSilentError, "progress": FunctionStalledError}
_OFTEN = 0.2  # least seconds between two writes of progress


@overload
def task(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def task(**given: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def task(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Run a function's calls in processes of their own, with rules for failures.

    Used as ``@whesl.task`` or ``@whesl.task(retry_on=OSError, ...)``. The decorated function is called as
    before and returns what it returned before; executors take it as they take any function.

    Args:
        function: the function; a generator or a coroutine is refused.
        given: ``Options`` by name: ``retry_on``, ``retries``, ``backoff``, ``attempts``, ``inputs``,
            ``outputs``, ``silence``, ``no_progress`` (seconds), ``rules``, ``name``, ``observe``, ``keep``.

    Raises:
        TypeError, ValueError: an option is wrong, or the function cannot be a task.
    """
    if function is None:
        return functools.partial(_decorated, given=given)
    return _decorated(function, given)


def _decorated(function: Callable[..., Any], given: dict[str, Any]) -> Callable[..., Any]:
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        raise TypeError(f"@whesl.task takes a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"@whesl.task cannot take {name}: a generator's state stays in its process; return a list"
        )
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"@whesl.task cannot take {name}, a coroutine: have a function call asyncio.run")
    if isinstance(function, type):
        raise TypeError(f"@whesl.task cannot take the class {name}: decorate a function")
    protected = Protected(function, options.checked(name, given))
    options.check_arguments(function, protected.options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _called(call, args, kwargs)

    setattr(call, MARKED, protected)
    return call


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function in a process of its own; return its value or raise its exception."""
    asked: options.Options = getattr(function, MARKED).options
    instance = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(5).hex()}"
    directory = f"{isolator_connection.home()}/tasks/functions/{asked.name}_{instance}"
    make_private(directory)
    try:
        payload.write_call(f"{directory}/{payload.CALL}", payload.Call(function, args, kwargs))
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    request = {
        "directory": directory,
        "name": asked.name,
        "instance": instance,
        "workdir": os.getcwd(),  # noqa: PTH109
        "environment": dict(os.environ),
        "path": [os.path.abspath(place) for place in sys.path],  # noqa: PTH100
        "specification": rules.specification(asked),
        "rules": asked.rules,
        "observe": asked.observe,
    }
    answer = isolator_connection.present().call(request)
    if answer["refused"]:
        _tidy(directory, remove=False)
        raise UsageError(f"{asked.name}: {answer['refused']}")
    outcome: payload.Outcome | None = None
    try:
        outcome = payload.read_outcome(f"{directory}/attempt-{answer['attempt']}/{payload.OUTCOME}")
    finally:
        well = outcome is not None and outcome.error is None and answer["state"] == _DONE
        _tidy(directory, remove=well and answer["attempt"] == 1 and not asked.keep)
    return _judged(asked.name, answer, outcome, directory)


def _judged(name: str, answer: dict[str, Any], outcome: payload.Outcome | None, directory: str) -> Any:
    """Return a call's result, or raise its exception, or the error for a process that ended without a result.

    Args:
        name: the function's name.
        answer: how the call's task ended.
        outcome: the outcome that the last attempt left, None without one.
        directory: the call's directory.
    """
    code, reason = answer["code"], answer["reason"]
    if outcome is not None and outcome.error is not None:
        _raise(outcome.error, outcome.traceback)
    if outcome is not None and code == 0:
        return outcome.value
    attempts = f" in attempt {answer['attempt']}" if answer["attempt"] > 1 else ""
    where = f"{attempts}; see {directory}"
    if timed := re.search(r"\((silence|progress): (.*)\)$", reason):
        raise _SEEN_BY[timed[1]](f"{name}: {timed[2]}{where}", directory)
    ended_well = code == 0 and answer["state"] != _DONE  # for example a rule has skipped the task
    if outcome is not None or ended_well:
        raise FunctionError(f"{name}: {reason or answer['state'] or 'ended by a rule'}{where}", directory)
    how = f"by signal {code - 128}" if code > 128 else f"with status {code}"
    raise FunctionDiedError(f"{name}: its process ended {how}, without a result{where}", directory, code)


def _raise(error: BaseException, trace: str) -> None:
    error.__cause__ = RemoteTracebackError(trace)
    try:
        raise error
    finally:
        del error  # ends the reference circle of the exception, its traceback and this frame


def _tidy(directory: str, *, remove: bool) -> None:
    """Remove a call's directory, or only the arguments and results in it."""
    if remove:
        shutil.rmtree(directory, ignore_errors=True)
        return
    place = Path(directory)
    for file in (place / payload.CALL, *place.glob(f"attempt-*/{payload.OUTCOME}*")):
        with contextlib.suppress(OSError):
            file.unlink()


class _Told:
    """Time of the last write of progress, seconds of the monotonic clock, and the number still to write."""

    at = -math.inf
    held = -1.0
    waiting = False  # whether a thread will write it


def progress(number: float) -> None:
    """Report a function's progress: ``no_progress`` counts from the last time that this number rose.

    Called outside of a protected function, it does nothing. Cheap enough for an inner loop: numbers are
    written at most every fifth of a second, and the last one is always written.

    Args:
        number: steps, epochs, bytes, a fraction: anything that rises. 0 or more.

    Raises ValueError for a number that is negative or not finite, OSError.
    """
    if time.monotonic() >= _Told.at + _OFTEN:
        _write(number)
        return
    _Told.held = _checked(number)
    if not _Told.waiting:
        _Told.waiting = True
        threading.Thread(target=_write_later, daemon=True).start()


def _checked(number: float) -> float:
    if not 0 <= number < math.inf:
        raise ValueError(f"whesl.progress takes a number of at least 0, not {number!r}")
    return number


def _write_later() -> None:
    time.sleep(_OFTEN)
    with contextlib.suppress(OSError):  # the next call tells it
        write_held_progress()


def write_held_progress() -> None:
    """Write the number of the last call, where it is not written yet."""
    _Told.waiting = False  # before the number is taken: whoever holds another one now starts another thread
    number, _Told.held = _Told.held, -1.0
    if number >= 0:
        _write(number)


def _write(number: float) -> None:
    directory = os.environ.get(rules.DIRECTORY)
    if not directory:
        return
    _checked(number)
    _Told.at = time.monotonic()
    text = str(number) if isinstance(number, int) else f"{number:.9f}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(f"{directory}/{rules.PROGRESS}", flags, 0o600)
    try:
        os.write(file, f"{text}\n".encode())
    finally:
        os.close(file)
