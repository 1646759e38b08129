"""The process of a function: reads the call, calls the function, writes the outcome.

Run as ``python -m whesl.runtime.functions.function_process DIRECTORY`` with the call's directory, or
called in a fork of ``fork_server``. The number of the attempt is in the environment.
"""

from __future__ import annotations

import contextlib
import faulthandler
import glob
import io
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whesl.model.outcomes import FUNCTION_RAISED
from whesl.runtime.functions import rules
from whesl.runtime.functions.errors import InputMissingError, OutputMissingError
from whesl.runtime.functions.options import MARKED, Files, Options, Protected, retried

PLACE = "path.json"  # file in the call's directory with the search path for modules
IMPORTED = "imported.json"  # file in an attempt's directory with the modules that its function has imported
RESTARTS = "WHESL_RESTART_COUNT"
# Module that a process must not inherit by fork, since its state belongs to one process.
_UNSHARED = "mpi4py.MPI"


def main(directory: str) -> int:
    """Run an attempt, and return its exit status.

    Args:
        directory: the call's directory.
    """
    faulthandler.enable()  # at a segmentation fault, print the line
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Each line is written at once, for rules and limits on silence.
        sys.stdout.reconfigure(line_buffering=True)
    before = set(sys.modules)
    attempt = int(os.environ.get(RESTARTS, "0")) + 1
    with open(f"{directory}/{PLACE}") as file:  # noqa: PTH123
        sys.path[:] = json.load(file)
    from whesl.runtime.functions import (  # imported after the path is set, which cloudpickle needs
        payload,
        task,
    )

    options = Options()
    try:
        call = payload.read_call(f"{directory}/{payload.CALL}")
        protected: Protected = getattr(call.function, MARKED)
        options = protected.options
        value = _called(protected, attempt, call.args, dict(call.kwargs))
        outcome = payload.Outcome(value=value)
    except BaseException as error:  # the caller also gets SystemExit and KeyboardInterrupt
        trace = "".join(traceback.format_exception(type(error), error, _own(error)))
        outcome = payload.Outcome(error=error, traceback=trace)
    with contextlib.suppress(OSError):
        task.write_held_progress()
    place = f"{directory}/attempt-{attempt}"
    again = outcome.error is not None and retried(options, outcome.error)
    outcome = payload.write_outcome(f"{place}/{payload.OUTCOME}", outcome)
    if outcome.error is None:
        _tell_imported(place, before)
    elif outcome.traceback:
        sys.stderr.write(outcome.traceback)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the function may have closed the stream
            stream.flush()
    return 0 if outcome.error is None else rules.AGAIN if again else FUNCTION_RAISED


def _called(protected: Protected, attempt: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    options, function = protected.options, protected.function
    args, kwargs = changed(function, args, kwargs, options.changes(attempt, "arguments"))
    inputs = files(options.inputs, args, kwargs)
    outputs = files(options.outputs, args, kwargs)
    for pattern in inputs:
        if not glob.glob(pattern) and not os.path.lexists(pattern):  # noqa: PTH207
            raise InputMissingError(f"{options.name} was not called: its input {pattern} is missing")
    value = function(*args, **kwargs)
    if wrong := broken(outputs, inputs):
        raise OutputMissingError(f"{options.name} returned without its outputs: {'; '.join(wrong)}")
    return value


def changed(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], changes: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return a call's arguments with some of them changed, whether given by position or by name.

    Args:
        function: the function that is called.
        args, kwargs: the call's arguments.
        changes: new values, by name.
    """
    if not changes:
        return args, kwargs
    import inspect

    bound = inspect.signature(function).bind(*args, **kwargs)
    further = [one.name for one in bound.signature.parameters.values() if one.kind is one.VAR_KEYWORD]
    for name, value in changes.items():
        if name in bound.signature.parameters and name not in further:
            bound.arguments[name] = value
        else:  # the function takes any name: ``check_arguments`` has refused others
            bound.arguments.setdefault(further[0], {})[name] = value
    return bound.args, bound.kwargs


def files(named: Files, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Return absolute paths (globs) of the files in an option.

    Args:
        named: one path, several, or a function of the call's arguments that returns either.
        args, kwargs: the call's arguments.
    """
    told = named(*args, **kwargs) if callable(named) else named
    several = [told] if isinstance(told, str | os.PathLike) else told
    return [os.path.abspath(os.fspath(one)) for one in several]  # noqa: PTH100


def broken(outputs: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return the faults of output files, a sentence each: one is missing, or older than an input.

    Args:
        outputs, inputs: absolute globs of the files.
    """
    if not outputs:
        return []
    from whesl.language.detections.base import Broken, Promise
    from whesl.runtime.detect import output_file_checks

    now = time.monotonic()
    promises = [Promise(path=one, broken=Broken.MISSING) for one in outputs]
    promises += [Promise(path=one, broken=Broken.OLDER, than=than) for one in outputs for than in inputs]
    looks = [
        output_file_checks.looked(one, str, now + output_file_checks.LAG, now + output_file_checks.TIME)
        for one in promises
    ]
    return [look.wrong for look in looks if look.wrong]


def _own(error: BaseException) -> Any:
    """Return an exception's traceback from the function's own first line on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace or error.__traceback__


def _tell_imported(place: str, before: set[str]) -> None:
    """Write the modules that a successful call has imported, so that later processes inherit them."""
    new = [name for name, one in sys.modules.items() if name not in before and getattr(one, "__spec__", None)]
    if not new or _UNSHARED in sys.modules:
        return
    with contextlib.suppress(OSError), open(f"{place}/{IMPORTED}", "w") as file:  # noqa: PTH123
        json.dump({"path": sys.path, "modules": new}, file)


if __name__ == "__main__":
    status = main(sys.argv[1])
    os._exit(status)
