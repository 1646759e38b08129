"""The interpreter that functions' processes are forked from: it has loaded what they need, and runs none
itself.

It is a process of its own, started anew and not a fork of the caller: a fork of a program with threads may
find their locks held for ever. For each attempt that is asked for it forks the attempt's runner
(``program_runner``). After the first good call of a function it imports the modules that the call has
imported, so that later ones inherit them; what has threads afterwards cannot be forked, and ends.

Run as ``python -m whesl.runtime.functions.template SOCKET CALLS``, sockets that it has inherited: one by
which it is asked, and one by which functions' processes ask for calls of their own. A message is one letter,
and
descriptors: ``START`` with a socket and the standard streams of an attempt, ``IMPORT`` with a file.
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
from typing import TYPE_CHECKING, Any, NoReturn

from whesl.runtime.functions import connection, process
from whesl.runtime.isolator.launch import program_runner

if TYPE_CHECKING:
    from collections.abc import Callable

START, IMPORT = b"s", b"i"
DESCRIPTORS = 4
NAME = b"whesl-function"  # 15 bytes at most: by it, the program is told from its runner
UNFIT = 3  # its exit status when it cannot be forked any more


def serve(asked: socket.socket, calls: socket.socket) -> int:
    """Fork runners until no process can ask for one any more, and return the exit status.

    Args:
        asked: where the messages come from.
        calls: where functions' processes ask for calls.
    """
    # no process waits for a runner: its status stands in a file
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    importlib.import_module("whesl.runtime.functions.payload")  # for all that are forked
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
            connection.inherit(calls)
            _run(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _import(file: int) -> None:
    """Import modules that a good call has imported before."""
    with contextlib.suppress(OSError, ValueError), open(file, "rb", closefd=False) as opened:
        told = json.load(opened)
        sys.path[:] = told["path"]
        for name in told["modules"]:
            with contextlib.suppress(Exception, SystemExit):  # then the call itself shows it
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _run(descriptors: list[int]) -> NoReturn:
    """Become an attempt's runner."""
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
            # The mark before the answer: the isolator finds the runner by it.
            program_runner.take_mark(begin["mark"])
            link.sendall(str(os.getpid()).encode())
        for descriptor in streams:
            if descriptor > 2:
                os.close(descriptor)
        code = program_runner.run(begin["status"], _function(begin["call"]))
    except BaseException as error:  # nothing of this process may go on as the template
        with contextlib.suppress(Exception):
            sys.stderr.write(f"whesl: a function's process could not begin: {error!r}\n")
            sys.stderr.flush()
    finally:
        os._exit(code)


def _function(directory: str) -> Callable[[], NoReturn]:
    def become() -> NoReturn:
        # As in an interpreter that has just begun.
        for signum in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(signum, signal.SIG_IGN)
        if (
            "numpy.random" in sys.modules
        ):  # else each process would draw the same numbers; random sees to it itself
            sys.modules["numpy.random"].seed()
        with open("/proc/self/comm", "wb") as name:  # noqa: PTH123
            name.write(NAME)
        os._exit(process.main(directory))

    return become


def received(link: socket.socket) -> Any:
    """Return the JSON that the other side sends until it sends no more.

    Args:
        link: a stream.
    """
    content = bytearray()
    while block := link.recv(1 << 16):
        content += block
    return json.loads(content)


if __name__ == "__main__":
    os._exit(serve(*(socket.socket(fileno=int(word)) for word in sys.argv[1:3])))
