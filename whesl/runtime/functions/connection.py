"""The caller's side: the kept isolator of this process, started at the first call.

It is found by no name and no file: both ends of its socket are inherited. A function's process has inherited
the socket of those that it was forked from; its calls are served by the same one.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from whesl.model import home as places
from whesl.runtime.wire.private_directory import make_private

CALL = b"c"  # the message that asks for a call; with it come its socket, standard output and standard error
_TRIES = 3  # keepers, for one call
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Connection:
    """Asks a kept isolator for calls; it is started where there is none, or none any more.

    Args:
        asked: its socket, where this process has inherited one.
    """

    def __init__(self, asked: socket.socket | None = None) -> None:
        self._lock = threading.Lock()
        self._asked = asked
        self._links: set[socket.socket] = set()
        self._programs: list[subprocess.Popen[bytes]] = []

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have a call looked after until it is over, and return how it ended (``call_keeper.Answer``).

        Args:
            request: the fields of ``call_keeper.Request``.

        Raises ConnectionError when no kept isolator can be had, OSError.
        """
        for _ in range(_TRIES):
            ours, theirs = socket.socketpair()
            self._links.add(ours)
            try:
                with theirs:
                    self._ask(theirs)
                answer = _exchange(ours, request)
                if answer is not None:
                    return answer
            finally:  # an exception that comes meanwhile ends the call: its keeper sees this side close
                self._links.discard(ours)
                ours.close()
        raise ConnectionError(f"what looks after calls was ended {_TRIES} times: see {_log()}")

    def _ask(self, link: socket.socket) -> None:
        with contextlib.ExitStack() as opened, self._lock:
            streams = [_open(descriptor, opened) for descriptor in (1, 2)]
            for again in (True, False):
                if self._asked is None:
                    self._asked = self._start()
                try:
                    socket.send_fds(self._asked, [CALL], [link.fileno(), *streams])
                    return
                except OSError:  # the server has ended
                    self._asked.close()
                    self._asked = None
                    if not again:
                        raise

    def _start(self) -> socket.socket:
        self._programs = [program for program in self._programs if program.poll() is None]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        file = os.open(_log(), _APPEND, 0o600)
        with theirs, os.fdopen(file, "ab") as log:
            self._programs.append(
                subprocess.Popen(
                    [sys.executable, "-m", "whesl.runtime.functions.server", str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    env=dict(os.environ),  # without the variables that libraries in C have set
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        return ours

    def forget(self) -> None:
        """Let go of what another process uses, in a fork of it."""
        for each in (self._asked, *self._links):
            if each is not None:
                each.close()


_present = Connection()


def present() -> Connection:
    """Return the connection of this process."""
    return _present


def inherit(asked: socket.socket | None) -> None:
    """Use a kept isolator that another process has started; None for one of this process's own.

    Args:
        asked: its socket.
    """
    global _present  # each process has one connection
    _present = Connection(asked)


def _after_fork() -> None:
    _present.forget()
    inherit(None)


os.register_at_fork(after_in_child=_after_fork)


def home() -> str:
    """Return the home, made private to the user. Raises HomeError, OSError."""
    here = os.path.abspath(os.path.expanduser(places.chosen()))  # noqa: PTH100, PTH111
    make_private(here)
    return here


def _log() -> str:
    folder = f"{home()}/functions"
    make_private(folder)
    return f"{folder}/log"


def _exchange(link: socket.socket, request: dict[str, Any]) -> dict[str, Any] | None:
    """Send a request and return the answer; None where the process that had to answer was killed."""
    try:
        link.sendall(json.dumps(request).encode())
        link.shutdown(socket.SHUT_WR)
        content = bytearray()
        while not content.endswith(b"\n"):
            block = link.recv(1 << 16)
            if not block:
                return None
            content += block
    except ConnectionError:
        return None
    answer: dict[str, Any] = json.loads(content)
    return answer


def _open(descriptor: int, opened: contextlib.ExitStack) -> int:
    """Return a standard stream's descriptor, that of the null device where it is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        return opened.enter_context(Path(os.devnull).open("r+b", buffering=0)).fileno()
    return descriptor
