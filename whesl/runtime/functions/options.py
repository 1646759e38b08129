"""The options of ``@whesl.task``, checked. Pure; standard library only: each process of a function loads
this."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from whesl.runtime.functions.errors import FunctionDiedError, OutputMissingError

RETRIES = 3  # default number of retries, as of a rule without LIMIT
MARKED = "__whesl_task__"  # name of a decorated function's attribute with its ``Protected``
_CHANGES = ("arguments", "environment")
Files = str | Sequence[str] | Callable[..., str | Sequence[str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a protected function.

    Attributes:
        retry_on: exceptions after which the function is called again, in a new process.
        retries: greatest number of retries.
        backoff: seconds before the first retry, doubled for each further one.
        attempts: changes at the first retry, the second and so on: ``arguments`` by name, ``environment``.
        inputs: files that have to exist before each attempt.
        outputs: files that have to exist, no older than ``inputs``, after the function has returned.
        silence: seconds without output after which an attempt is ended; None for no limit.
        no_progress: seconds without a higher number for ``whesl.progress`` after which an attempt is ended;
            None for no limit.
        rules: further specifications (ESL), which name the function as a job.
        name: the function's name in rules, journals and reports.
        observe: whether exceptions are only reported, without recovery.
        keep: whether records of calls without an exception are kept, too.
    """

    retry_on: tuple[type[BaseException], ...] = ()
    retries: int = 0
    backoff: float = 0.0
    attempts: tuple[Mapping[str, Any], ...] = ()
    inputs: Files = ()
    outputs: Files = ()
    silence: float | None = None
    no_progress: float | None = None
    rules: tuple[str, ...] = ()
    name: str = ""
    observe: bool = False
    keep: bool = False

    @property
    def retries_deaths(self) -> bool:
        """Whether another attempt follows a process that ended without a result."""
        return bool(self.retries) and any(issubclass(FunctionDiedError, one) for one in self.retry_on)

    def changes(self, attempt: int, what: str) -> dict[str, Any]:
        """Return the changes of an attempt to the arguments or to the environment.

        Args:
            attempt: the attempt's number; attempt 1 changes nothing.
            what: ``arguments`` or ``environment``.
        """
        if attempt < 2 or not self.attempts:
            return {}
        return dict(self.attempts[min(attempt - 2, len(self.attempts) - 1)].get(what, {}))


class Protected(NamedTuple):
    """The undecorated function and its options."""

    function: Callable[..., Any]
    options: Options


def checked(name: str, given: Mapping[str, Any]) -> Options:
    """Return the checked options of a function.

    Args:
        name: the function's name if its options have none.
        given: the options by name, as the user wrote them.

    Raises:
        TypeError: an option is unknown, or has a wrong type.
        ValueError: a number is out of range.
    """
    known = [field.name for field in dataclasses.fields(Options)]
    for option in given:
        if option not in known:
            close = difflib.get_close_matches(option, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise TypeError(f"@whesl.task of {name} has no option {option!r}: {hint}")
    told = dict(given)
    attempts = tuple(_checked_attempts(name, told.get("attempts", ())))
    retry_on = _exceptions(name, told.get("retry_on"))
    retries = told.get("retries")
    asked = retry_on or attempts or any(told.get(limit) is not None for limit in ("silence", "no_progress"))
    if retries is None:
        retries = len(attempts) or (RETRIES if asked or told.get("outputs") else 0)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"@whesl.task of {name}: retries is a number of at least 0, not {retries!r}")
    if retry_on is None:  # without retry_on every failure is retried
        retry_on = (Exception,) if attempts or told.get("retries") else ()
    for files in ("inputs", "outputs"):
        _check_files(name, files, told.get(files, ()))
    for limit in ("silence", "no_progress"):
        _check_seconds(name, limit, told.get(limit), least=1.0)
    _check_seconds(name, "backoff", told.get("backoff", 0.0), least=0.0)
    rules = told.get("rules", ())
    rules = (rules,) if isinstance(rules, str) or hasattr(rules, "__fspath__") else rules
    told |= {
        "attempts": attempts,
        "retries": retries,
        "retry_on": retry_on,
        "rules": tuple(str(one) for one in rules),
        "name": job_name(str(told.get("name") or name)),
    }
    return Options(**told)


def job_name(name: str) -> str:
    """Return a function's name as a name of a job in rules.

    Args:
        name: the function's qualified name.
    """
    short = name.rpartition("<locals>.")[2]
    kept = "".join(one if one.isascii() and (one.isalnum() or one in "_-.") else "_" for one in short)
    return kept.strip("_.") or "function"


def _checked_attempts(name: str, attempts: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(attempts, list | tuple) or not all(isinstance(one, Mapping) for one in attempts):
        raise TypeError(f"@whesl.task of {name}: attempts is a list of dictionaries, not {attempts!r}")
    for number, one in enumerate(attempts, 2):
        where = f"@whesl.task of {name}, attempts, for attempt {number}"
        for key, value in one.items():
            if key not in _CHANGES:
                raise TypeError(f"{where}: {key!r} cannot be changed; {' and '.join(_CHANGES)} can")
            if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value):
                raise TypeError(f"{where}: {key} is a dictionary by name, not {value!r}")
        environment = one.get("environment", {})
        if wrong := [each for each, text in environment.items() if not isinstance(text, str)]:
            raise TypeError(f"{where}: the variable {wrong[0]} takes a text, not {environment[wrong[0]]!r}")
    return attempts


def _exceptions(name: str, given: Any) -> tuple[type[BaseException], ...] | None:
    if given is None:
        return None
    several = given if isinstance(given, tuple | list | set | frozenset) else (given,)
    for one in several:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise TypeError(f"@whesl.task of {name}: retry_on names exceptions, not {one!r}")
    return tuple(several)


def _check_files(name: str, option: str, given: Any) -> None:
    several = [given] if isinstance(given, str) or hasattr(given, "__fspath__") else given
    if callable(given):
        return
    if not isinstance(several, Sequence) or not all(
        isinstance(one, str) or hasattr(one, "__fspath__") for one in several
    ):
        raise TypeError(
            f"@whesl.task of {name}: {option} is paths, or a function that returns them, not {given!r}"
        )


def check_arguments(function: Callable[..., Any], options: Options) -> None:
    """Raise TypeError where ``attempts`` change an argument that the function does not have.

    Args:
        function: the function.
        options: its options.
    """
    if not options.attempts:
        return
    import inspect  # imported only here, since each process of a function loads this module

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return  # functions of some extension modules have no signature
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    known = [one.name for one in parameters if one.kind is not one.VAR_POSITIONAL]
    for number, attempt in enumerate(options.attempts, 2):
        for argument in attempt.get("arguments", {}):
            if argument not in known:
                close = difflib.get_close_matches(argument, known, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'none'}"
                raise TypeError(
                    f"@whesl.task of {options.name}, attempts, for attempt {number}: "
                    f"the function has no argument {argument!r}: {hint}"
                )


def _check_seconds(name: str, option: str, given: Any, *, least: float) -> None:
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"@whesl.task of {name}: {option} is a number of seconds, not {given!r}")
    if not math.isfinite(given) or given < least:
        raise ValueError(f"@whesl.task of {name}: {option} is {least:g} s or more, not {given!r}")


def retried(options: Options, error: BaseException) -> bool:
    """Whether another attempt follows an exception.

    Args:
        options: the function's options.
        error: the exception that the attempt has raised.
    """
    return bool(options.retries) and isinstance(error, (OutputMissingError, *options.retry_on))
