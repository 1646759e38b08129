"""Functions, arguments, results and exceptions, pickled into files of the call's directory.

Only this module pickles. Whoever can write the files read here can already run programs as the user: each is
a regular file of this user with mode 0600 in a directory with mode 0700, which is checked on the open file.
Data from a socket is never unpickled.
"""

from __future__ import annotations

import contextlib
import copyreg
import io
import os
import pickle
import stat
import sys
import traceback
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, NamedTuple

import cloudpickle

from whesl.runtime.functions.errors import UnpicklableError

# Names of the file in the call's directory, and of the one in an attempt's directory.
CALL, OUTCOME = "call", "outcome"
_PROTOCOL = 5
_NO_FILE = "<dynamic-code>"  # what cloudpickle 3.1 writes instead of the name of a function's source


class Call(NamedTuple):
    """A call of a protected function: the decorated function and its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Outcome(NamedTuple):
    """How an attempt ended: the function's value, or its exception with the traceback as text."""

    value: Any = None
    error: BaseException | None = None
    traceback: str = ""


def write_call(path: str, call: Call) -> None:
    """Write a call into a file. Raises UnpicklableError, OSError.

    Args:
        path: the file.
        call: the function and its arguments.
    """
    # The main script is imported as multiprocessing does in a spawned process.
    main = sys.modules.get("__mp_main__")
    if main is not None:
        cloudpickle.register_pickle_by_value(main)
    try:
        _write(path, tuple(call))
    except OSError:
        raise
    except Exception as error:  # whatever an object's own methods raise
        name = getattr(call.function, "__qualname__", repr(call.function))
        raise UnpicklableError(f"a call of {name} cannot be given to another process: {error}") from error


def read_call(path: str) -> Call:
    """Return the call in a file; import the function's module, and raise any exception of that import."""
    return Call(*_read(path))


def write_outcome(path: str, outcome: Outcome) -> Outcome:
    """Write an attempt's outcome into a file, and return the outcome as written.

    An exception that cannot be pickled is written without its unpicklable arguments and attributes. If that
    also fails, an ``UnpicklableError`` with its type and text is written. Raises OSError.

    Args:
        path: the file.
        outcome: how the attempt ended.
    """
    try:
        return _written(path, outcome)
    except OSError:
        raise
    except Exception as problem:  # whatever an object's own methods raise
        reason = problem
    if outcome.error is not None:
        with contextlib.suppress(Exception):  # the error of the exception's own methods is reported below
            return _written(path, outcome, lenient=True)
    outcome = _instead(outcome, reason)
    _write(path, tuple(outcome))
    return outcome


def _written(path: str, outcome: Outcome, *, lenient: bool = False) -> Outcome:
    if outcome.error is not None:
        _check_comes_back(outcome.error, lenient=lenient)
    _write(path, tuple(outcome), lenient=lenient)
    return outcome


def read_outcome(path: str) -> Outcome | None:
    """Return an attempt's outcome, None without a file. Raises UnpicklableError, OSError."""
    try:
        return Outcome(*_read(path))
    except FileNotFoundError:
        return None
    except OSError:
        raise
    except Exception as error:  # whatever an object's own methods raise
        raise UnpicklableError(f"what a function has left in {path} cannot be read here: {error}") from error


def _instead(outcome: Outcome, problem: Exception) -> Outcome:
    if outcome.error is None:
        kind = type(outcome.value)
        said = f"a result of type {kind.__module__}.{kind.__qualname__} cannot be given back: {problem}"
        trace = "".join(traceback.format_exception(problem))
        return Outcome(error=UnpicklableError(said), traceback=trace)
    kind = type(outcome.error)
    said = (
        f"{kind.__module__}.{kind.__qualname__}: {outcome.error} (it cannot be given back itself: {problem})"
    )
    return Outcome(error=UnpicklableError(said), traceback=outcome.traceback)


def _check_comes_back(error: BaseException, *, lenient: bool) -> None:
    """Raise an exception if another process cannot unpickle an exception as the same one."""
    back = pickle.loads(_dumped(error, lenient=lenient))  # noqa: S301  # of bytes that were made in this line
    if type(back) is not type(error):
        raise TypeError(f"it comes back as {type(back).__qualname__}")


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # cloudpickle has no types
    """A pickler for values that a function returns or raises.

    An exception is unpickled without a call of its ``__init__``. Python's default calls it with
    ``error.args``, the arguments of the base class, which an ``__init__`` with other parameters refuses.
    """

    def __init__(self, file: io.BufferedIOBase, *, lenient: bool = False) -> None:
        """Make a pickler.

        Args:
            file: the file that is written.
            lenient: whether to leave out unpicklable parts of exceptions instead of failing.
        """
        super().__init__(file, _PROTOCOL)
        self._lenient = lenient

    def reducer_override(self, obj: Any) -> Any:
        """Return the function and arguments that remake an object; Python's pickler calls this method."""
        if isinstance(obj, CodeType):
            # cloudpickle leaves out the file's name, without which tracebacks show no lines of the source.
            made, args = self.dispatch_table[CodeType](obj)
            return made, tuple(obj.co_filename if one == _NO_FILE else one for one in args)
        if not isinstance(obj, BaseException) or _says_how_it_is_made(type(obj)):
            return super().reducer_override(obj)
        made, (kind, args), state = _reduced(obj)
        if self._lenient:
            args = tuple(one if _can_be_dumped(one) else repr(one) for one in args)
            state = {name: value for name, value in (state or {}).items() if _can_be_dumped(value)}
        return made, (kind, args), state or None


def _says_how_it_is_made(kind: type[BaseException]) -> bool:
    first = next(one for one in kind.__mro__ if vars(one).keys() & {"__reduce__", "__reduce_ex__"})
    return first.__module__ != "builtins"


def _reduced(error: BaseException) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
    """Return the function and arguments that remake an exception, and its state."""
    reduced: Any = error.__reduce_ex__(_PROTOCOL)
    args, state = reduced[1], reduced[2] if len(reduced) > 2 else None
    if sys.version_info >= (3, 11) and isinstance(error, BaseExceptionGroup):  # noqa: F821  # not in 3.10
        # ``args`` of the group may be those of its own class; Python's base class needs these two.
        args = (error.message, list(error.exceptions))
    return _exception, (type(error), args), state


def _exception(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception made from ``args`` by the built-in base class of its class.

    An executor's worker pickles the exception once more, in this way, too.
    """
    copyreg.pickle(kind, _reduced)
    base = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    made: BaseException = base.__new__(kind, *args)
    base.__init__(made, *args)  # type: ignore[misc]  # it is the base of ``kind`` itself
    return made


def _can_be_dumped(value: Any) -> bool:
    try:
        _dumped(value, lenient=True)
    except Exception:  # whatever an object's own methods raise
        return False
    return True


def _dumped(value: Any, *, lenient: bool) -> bytes:
    file = io.BytesIO()
    _Pickler(file, lenient=lenient).dump(value)
    return file.getvalue()


def _write(path: str, value: Any, *, lenient: bool = False) -> None:
    """Write a private file of the user atomically."""
    partial = f"{path}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(partial, "wb", opener=lambda name, _: os.open(name, flags, 0o600)) as file:
        _Pickler(file, lenient=lenient).dump(value)
    os.replace(partial, path)  # noqa: PTH105  # pathlib costs milliseconds


def _read(path: str) -> Any:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        is_ = os.fstat(file.fileno())
        above = os.stat(os.path.dirname(path))  # noqa: PTH116, PTH120
        private = stat.S_ISREG(is_.st_mode) and not (is_.st_mode | above.st_mode) & 0o077
        if not private or {is_.st_uid, above.st_uid} != {os.geteuid()}:
            raise PermissionError(f"{path} is not read: it is not a file of this user's alone")
        return pickle.load(file)  # noqa: S301  # see above: the user's own file, in a directory of the user's own
