"""WHESL: the fault-tolerance runtime for HPC workflows."""

import os
import sys

__version__ = "0.1.0"

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from whesl.client.heartbeat import heartbeat, section
    from whesl.runtime.functions.errors import (
        FunctionDiedError,
        FunctionError,
        FunctionSilentError,
        FunctionStalledError,
        InputMissingError,
        OutputMissingError,
        UnpicklableError,
    )
    from whesl.runtime.functions.task import progress, task

    __all__ = [
        "FunctionDiedError",
        "FunctionError",
        "FunctionSilentError",
        "FunctionStalledError",
        "InputMissingError",
        "OutputMissingError",
        "UnpicklableError",
        "heartbeat",
        "progress",
        "section",
        "task",
    ]


def prefer_own_modules() -> None:
    """Look for modules in the installation first, in the user's PYTHONPATH and current directory last.

    A site's environment modules put packages of other interpreters there, and users' directories hold files
    of any name. The environment stays as it is: the user's programs inherit it.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # pathlib takes 5 ms
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    foreign = {*given, *(map(_whole, given) if given != [""] else ())} - {root}
    places = [place for place in sys.path if place not in foreign]
    last = [place for place in sys.path if place in foreign]
    # What `-m` and `-c` put in front is the current directory.
    if sys.argv[:1] in (["-m"], ["-c"]) and places and _is_current(places[0]) and places[0] != root:
        last.append(places.pop(0))
    sys.path[:] = places + last


def drop_coerced_locale() -> None:
    """Take ``LC_CTYPE`` out of the environment where this interpreter has put it there itself (PEP 538).

    What this process starts is to see the variables that its user has set, and no others.
    """
    if os.environ.get("LC_CTYPE") not in ("C.UTF-8", "C.utf8", "UTF-8"):
        return
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  # pathlib takes 5 ms
            given = file.read()  # the environment at the start of the interpreter
    except OSError:
        return
    if b"\0LC_CTYPE=" not in b"\0" + given:
        del os.environ["LC_CTYPE"]


def take_own_name() -> None:
    """Call this process ``whesl``: a script's ``pkill python`` is meant for the script's own programs."""
    try:
        with open("/proc/self/comm", "w") as name:  # noqa: PTH123  # pathlib takes 5 ms
            name.write("whesl")
    except OSError:
        return


# Names of processes that start programs with the same signals ignored as they have themselves.
_HAND_ON = {"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "busybox", "xargs", "find", "make", "timeout"}


def ignored_by_shell() -> "set[int]":
    """Return which of SIGPIPE and SIGXFSZ the caller of this process, if it is a shell, ignores for it.

    Python ignores both at its start, so a process of WHESL cannot tell which it has inherited.
    """
    import _signal  # type: ignore[import-not-found]  # signal without its slow import; typeshed has no stub

    caller = f"/proc/{os.getppid()}"
    try:
        with open(f"{caller}/comm") as comm, open(f"{caller}/status") as status:  # noqa: PTH123  # pathlib takes 5 ms
            named = comm.read().strip() in _HAND_ON
            mask = next((int(line.split()[1], 16) for line in status if line.startswith("SigIgn:")), 0)
    except OSError:  # the caller has ended
        return set()
    return {signum for signum in (_signal.SIGPIPE, _signal.SIGXFSZ) if named and mask >> (signum - 1) & 1}


def become(
    program: str, words: "Sequence[str]", environment: "Mapping[str, str] | None" = None
) -> "NoReturn":
    """Become another program, which inherits neither the signals that Python ignores nor a coerced locale.

    Args:
        program: its path.
        words: its arguments, with its name.
        environment: its whole environment; None: this process's own.

    Raises OSError.
    """
    import _signal  # signal without its slow import

    drop_coerced_locale()
    for signum in {_signal.SIGPIPE, _signal.SIGXFSZ} - ignored_by_shell():
        _signal.signal(signum, _signal.SIG_DFL)
    os.execve(program, [*words], os.environ if environment is None else environment)  # noqa: S606  # a list


# Variables of Python by which WHESL may be installed, or that change nothing for it.
TAKEN = {
    f"PYTHON{name}"
    for name in ("PATH", "HOME", "USERBASE", "NOUSERSITE", "PYCACHEPREFIX", "DONTWRITEBYTECODE", "HASHSEED")
} | {"PYTHONUNBUFFERED"}
ASIDE = "WHESL_ASIDE_"
# WHESL's modules that run users' functions and handlers, for which the users set these variables.
_RUN_USERS_CODE = {
    "whesl.runtime.functions.function_process",
    "whesl.runtime.functions.fork_server",
    "whesl.runtime.operations.custom_handler_host",
}


def set_python_variables_aside() -> None:
    """Run this interpreter as if users had set no variables of Python for their programs, which inherit them.

    PYTHONINSPECT, for example, opens a prompt at an interpreter's end, PYTHONOPTIMIZE drops its help texts.
    """
    given = [name for name in os.environ if name.startswith(ASIDE)]
    for name in given:
        os.environ[name.removeprefix(ASIDE)] = os.environ.pop(name)
    names = {name for name in os.environ if name.startswith("PYTHON") and name[6:7].isalpha()} - TAKEN
    if names and not given and not _RUN_USERS_CODE.intersection(sys.orig_argv):
        drop_coerced_locale()
        environment = {ASIDE * (name in names) + name: value for name, value in os.environ.items()}
        become(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


_DEFINED_IN = {
    "heartbeat": "whesl.client.heartbeat",
    "section": "whesl.client.heartbeat",
    "progress": "whesl.runtime.functions.task",
    "task": "whesl.runtime.functions.task",
}


def __getattr__(name: str) -> "Any":
    """Load what programs import from here, and nothing before they do."""
    from importlib import import_module

    if name in _DEFINED_IN:
        return getattr(import_module(_DEFINED_IN[name]), name)
    if name.endswith("Error"):
        errors = import_module("whesl.runtime.functions.errors")
        if name in vars(errors):
            return getattr(errors, name)
    raise AttributeError(f"module 'whesl' has no attribute {name!r}")


def _whole(place: str) -> str:
    """Return an entry of PYTHONPATH as Python puts it on its path: relative ones, and "", become whole."""
    try:
        return os.path.abspath(place)  # noqa: PTH100
    except OSError:  # the directory was removed
        return place


def _is_current(place: str) -> bool:
    try:
        return place in ("", os.getcwd())  # noqa: PTH109
    except OSError:  # the directory was removed
        return False


def begin() -> None:
    """Begin a process of WHESL's own: with its own modules, in the environment that its user has set."""
    set_python_variables_aside()
    prefer_own_modules()
    drop_coerced_locale()


# While a module of this package is looked for by `-m`, argv has no other name for it.
_FOUND = sys.argv[:1] == ["-m"] and any(word.split(".")[0] == "whesl" for word in sys.orig_argv[1:4])
if _FOUND or os.path.basename(sys.argv[0] if sys.argv else "") == "whesl":  # noqa: PTH119 - pathlib is slow
    begin()
