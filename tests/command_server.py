"""The process of which the commands that tests call are forks: ``python -m tests.command_server DESCRIPTOR``.

A fork costs the more the more memory a process has. This one holds a tenth of the memory of a process that
has imported all tests, and a task is four forks, one of the other. What a command has imported besides is
imported here, too, so that the next one finds it, except by a command that computes with arrays.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import pickle
import platform
import signal
import socket
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from whesl import cli
from whesl.cli import group  # noqa: F401 - all commands but exec need it
from whesl.runtime.isolator import __main__ as isolator
from whesl.runtime.isolator.launch import isolator_start

_CLONE = {"x86_64": 56, "aarch64": 220}  # numbers of the system call clone(2)
_CLONE_PARENT, _CLONE_CHILD_CLEARTID, _CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
_PR_GET_TID_ADDRESS = 40


@dataclass(frozen=True)
class Call:
    """A command to be called.

    Attributes:
        words: what follows ``whesl``.
        environment: all its environment.
        directory: where it runs.
        session: whether it leads a session of its own.
    """

    words: list[str]
    environment: dict[str, str]
    directory: str
    session: bool


def serve(calls: socket.socket, loaded: Path) -> None:
    """Start a process for each call, until the tests' process ends.

    Args:
        calls: gives the length of a call with the three streams of its process, and the call; is told the
            number of the process.
        loaded: a file in which commands name the modules that they had to import.
    """
    while True:
        length, streams, *_ = socket.recv_fds(calls, 4, 3)
        if not length:
            return
        call: Call = pickle.loads(calls.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL))
        for name in set(loaded.read_text().splitlines()) - set(sys.modules):
            with suppress(Exception):  # it was for that process alone
                importlib.import_module(name)
        gc.freeze()  # no search for garbage writes to memory that a fork shares
        pid = fork_sibling()
        if pid == 0:
            _be(call, streams, loaded)
        for stream in streams:
            os.close(stream)
        calls.sendall(pid.to_bytes(4, "big"))


def fork_sibling() -> int:
    """Fork this process, which has one thread; the new one is a child of this one's parent.

    No library's handlers of forks are called: none is loaded here that has threads.

    Returns: the number of the new process; 0 within it.
    """
    kernel, python = ctypes.PyDLL(None, use_errno=True), ctypes.pythonapi
    # Where the C library holds the thread's number, which is another one in the new process.
    place = ctypes.c_void_p()
    kernel.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(place), 0, 0, 0)
    tid = _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID if place.value else 0
    python.PyOS_BeforeFork()
    flags = _CLONE_PARENT | signal.SIGCHLD | tid
    # The fourth argument is the place on one architecture, the fifth on the other; the other one is not used.
    pid: int = kernel.syscall(_CLONE[platform.machine()], flags, None, None, place, place)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pid


def _be(call: Call, streams: list[int], loaded: Path) -> NoReturn:
    """Be the command, in the new process: nothing of this one's goes on in it."""
    code = 1
    try:
        for own, given in enumerate(streams):
            os.dup2(given, own)
        if call.session:
            os.setsid()
        os.chdir(call.directory)
        _leave_files()
        gc.enable()
        _forget_handlers()
        _take_streams()
        logging.root.handlers.clear()
        os.environ.clear()
        os.environ.update(call.environment)
        sys.path[:0] = filter(None, call.environment.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv = [str(Path(sys.executable).with_name("whesl")), *call.words]
        before = set(sys.modules)
        # A task's isolator is a fork, too; one that a keeper starts anew is a program of its own.
        isolator_start.start_isolator = partial(isolator_start.start_isolator, loaded=isolator.main)
        try:
            cli.main(call.words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        new = set(sys.modules) - before
        if "numpy" not in new:  # each fork would wait for its threads, which a fork does not have
            with loaded.open("a") as file:
                file.write("".join(f"{name}\n" for name in new if "__m" not in name))
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


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile(prefix="whesl-loaded-") as file, suppress(KeyboardInterrupt):
        serve(socket.socket(fileno=int(sys.argv[1])), Path(file.name))
