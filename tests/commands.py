"""Commands of WHESL that a test calls: each in a process of its own, a fork of this one.

A process that begins with an interpreter imports for some tenths of a second of a processor before it does
anything, thousands of times in all tests. A fork has the modules that this process has; what a command has
imported besides is imported here, too, so that the next one finds it. The isolator of ``whesl exec`` is a
fork of the command. What is tested of the beginning of a process (which modules are loaded, signals while
they are, an interpreter's options), and what is found by its command line or by its environment, needs a
program of its own. So does what reads a journal that the test itself has open: SQLite's connections do not
stand a fork.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from whesl import cli
from whesl.runtime.isolator import __main__ as isolator
from whesl.runtime.isolator.launch import isolator_keeper


def whesl(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    check: bool = False,
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    """Call a command and return its status and what it has printed.

    Args:
        arguments: what follows ``whesl``.
        env: all its environment; None for this process's.
        timeout: seconds after which it is killed, on an idle machine.
        check: whether another status than 0 is an error.
        more: what else ``subprocess.run`` takes.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
        subprocess.CalledProcessError: its status is not 0, and ``check`` is set.
    """
    words, be = _fork(arguments, env)
    more = {"capture_output": True, "text": True, **more}
    return subprocess.run(words, preexec_fn=be, timeout=timeout, check=check, **more)


def begin(*arguments: str | Path, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.Popen[Any]:
    """Start a command and return its process; ``more`` is what else ``subprocess.Popen`` takes."""
    words, be = _fork(arguments, env)
    return subprocess.Popen(words, preexec_fn=be, **more)


def _fork(
    arguments: tuple[str | Path, ...], env: Mapping[str, str] | None
) -> tuple[list[str], Callable[[], None]]:
    """Return a command's words, and what becomes the command in a new process."""
    words = [str(word) for word in arguments]
    for name in set(_loaded().read_text().splitlines()) - set(sys.modules):
        with suppress(Exception):  # it was for that process alone
            importlib.import_module(name)
    program = str(Path(sys.executable).with_name("whesl"))
    return [program, *words], partial(_be, words, dict(os.environ if env is None else env), _loaded())


@cache
def _loaded() -> Path:
    """Return the file in which commands name the modules that they had to import."""
    descriptor, name = tempfile.mkstemp(prefix="whesl-loaded-")
    os.close(descriptor)
    mine = os.getpid()
    atexit.register(lambda: Path(name).unlink(missing_ok=True) if os.getpid() == mine else None)
    return Path(name)


def _be(words: list[str], environment: dict[str, str], loaded: Path) -> NoReturn:
    """Be the command, in the new process: nothing of this one's goes on in it.

    Args:
        words: what follows ``whesl``.
        environment: all its environment.
        loaded: a file to which the names of modules are added that it has imported.
    """
    code = 1
    try:
        _leave_files()
        gc.enable()
        _forget_handlers()
        _take_streams()
        logging.root.handlers.clear()
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv = [str(Path(sys.executable).with_name("whesl")), *words]
        before = set(sys.modules)
        # A task's isolator is a fork, too; one that a keeper starts anew is a program of its own.
        isolator_keeper.start_isolator = partial(isolator_keeper.start_isolator, loaded=isolator.main)
        try:
            cli.main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        with loaded.open("a") as file:
            file.write("".join(f"{name}\n" for name in set(sys.modules) - before if "__m" not in name))
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _leave_files() -> None:
    """Have no file open but the three streams: who called the command waits for the end of a pipe.

    The numbers stay in use. Libraries close their own when they are forked again, and Arrow ends the process
    where that fails.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        if int(name) > 2 and int(name) != nothing:
            os.dup2(nothing, int(name), inheritable=False)


def _forget_handlers() -> None:
    """Handle signals as each interpreter does that has just begun.

    What tests, and the libraries that they load, have set is for the tests' process: with a library's handler
    of SIGTERM a command went on for ever.
    """
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)


def _take_streams() -> None:
    """Read and write the new process's own streams, where pytest's were."""
    places = {
        "stdin": (0, "r", "strict"),
        "stdout": (1, "w", "strict"),
        "stderr": (2, "w", "backslashreplace"),
    }
    for name, (number, mode, errors) in places.items():
        stream = open(number, mode, errors=errors, closefd=False)  # noqa: SIM115 - as long as the process
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
