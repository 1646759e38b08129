"""The template: an interpreter with loaded modules that functions' processes are forked from.

The template is started as a new process, not as a fork of the caller: in a fork of a program with threads,
locks may be held for ever. For each requested attempt it forks the attempt's runner (``program_runner``).
After the first successful call of a function it imports the modules that the call has imported, so that later
calls inherit them; a template that has threads afterwards cannot be forked, and ends.

Run as ``python -m whesl.runtime.functions.fork_server SOCKET CALLS`` with two inherited sockets: one for
requests to the template, and one by which functions' processes request calls of their own. A message is a
letter and descriptors: ``START`` with a socket and an attempt's standard streams, ``IMPORT`` with a file.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from whesl.runtime.functions import function_process, isolator_connection
from whesl.runtime.isolator.launch import program_runner

START, IMPORT = b"s", b"i"
DESCRIPTORS = 4
NAME = b"whesl-function"  # name of the program's process, unlike its runner's; at most 15 bytes
UNFIT = 3  # exit status of a template that cannot be forked any more


def serve(asked: socket.socket, calls: socket.socket) -> int:
    """Fork runners until no process can request one any more, and return the exit status.

    Args:
        asked: the socket that requests come from.
        calls: the socket by which functions' processes request calls.
    """
    # no process waits for a runner, which writes its status into a file
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    importlib.import_module("whesl.runtime.functions.payload")  # imported once for all forks
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(asked, 1, DESCRIPTORS)
        if not message:
            return 0
        if message == IMPORT:
            _import(descriptors[0])
            if threading.active_count() > 1:
                return UNFIT
        elif os.fork() == 0:
            asked.close()
            isolator_connection.inherit(calls)
            _run(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _import(file: int) -> None:
    """Import the modules listed in a file, which a successful call has imported."""
    with contextlib.suppress(OSError, ValueError), open(file, "rb", closefd=False) as opened:
        told = json.load(opened)
        sys.path[:] = told["path"]
        for name in told["modules"]:
            with contextlib.suppress(Exception, SystemExit):  # an error shows in the next call
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _run(descriptors: list[int]) -> NoReturn:
    """Become an attempt's runner, in a fork of the template."""
    code = 126
    try:
        os.setsid()
        told, *streams = descriptors
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        with socket.socket(fileno=told) as link:
            begin = received(link)
            os.environ.clear()
            os.environ.update(begin["environment"])
            os.chdir(begin["workdir"])
            # The mark is set before the answer, since the isolator finds the runner by it.
            program_runner.take_mark(begin["mark"])
            link.sendall(str(os.getpid()).encode())
        for descriptor in streams:
            if descriptor > 2:
                os.close(descriptor)
        code = program_runner.run(begin["status"], _function(begin["call"]))
    except BaseException as error:  # this fork must not go on as the template
        with contextlib.suppress(Exception):
            sys.stderr.write(f"whesl: a function's process could not begin: {error!r}\n")
            sys.stderr.flush()
    finally:
        os._exit(code)


def _function(directory: str) -> Callable[[], NoReturn]:
    def become() -> NoReturn:
        # A new interpreter ignores these signals.
        for signum in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(signum, signal.SIG_IGN)
        # Without a new seed each process would draw the same numbers; Python's random reseeds after a fork.
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        with open("/proc/self/comm", "wb") as name:  # noqa: PTH123
            name.write(NAME)
        os._exit(function_process.main(directory))

    return become


def received(link: socket.socket) -> Any:
    """Return the JSON that the other side of a socket sends before it closes the sending direction.

    Args:
        link: a stream socket.
    """
    content = bytearray()
    while block := link.recv(1 << 16):
        content += block
    return json.loads(content)


if __name__ == "__main__":
    os._exit(serve(*(socket.socket(fileno=int(word)) for word in sys.argv[1:3])))
