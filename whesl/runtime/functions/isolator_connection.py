"""The caller's side: the kept isolator of this process, started at the first call.

The isolator has no name and no file: both ends of its socket are inherited. A function's process inherits the
socket of the process it was forked from, so that the same isolator serves its calls.
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

CALL = b"c"  # message for a new call, sent with the call's socket and the caller's standard output and error
_TRIES = 3  # greatest number of keepers for one call
# Seconds after which a waiting caller runs Python code again. Only there an exception is raised that another
# thread has set in it, as Parsl does when a ``walltime`` is over.
_WAKE = 0.5
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Connection:
    """Requests calls from a kept isolator, which is started where none is running.

    Args:
        asked: the isolator's socket if this process has inherited it, else None.
    """

    def __init__(self, asked: socket.socket | None = None) -> None:
        self._lock = threading.Lock()
        self._asked = asked
        self._links: set[socket.socket] = set()
        self._programs: list[subprocess.Popen[bytes]] = []

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Request a call, wait for its end, and return how it ended (``forked_call_isolator.Answer``).

        Args:
            request: the fields of ``forked_call_isolator.Request``.

        Raises ConnectionError when no kept isolator can be started, OSError.
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
            finally:  # an exception here ends the call: its keeper sees this side of the socket close
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
                    [sys.executable, "-m", "whesl.runtime.functions.isolator_server", str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    env=dict(os.environ),  # without variables that C libraries have set
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        return ours

    def forget(self) -> None:
        """Drop the connection in a fork, since the parent process goes on using it."""
        for each in (self._asked, *self._links):
            if each is not None:
                each.close()


_present = Connection()


def present() -> Connection:
    """Return the connection of this process."""
    return _present


def inherit(asked: socket.socket | None) -> None:
    """Use the kept isolator that another process has started.

    Args:
        asked: the isolator's socket; None to start a new isolator.
    """
    global _present  # each process has one connection
    _present = Connection(asked)


def _after_fork() -> None:
    _present.forget()
    inherit(None)


os.register_at_fork(after_in_child=_after_fork)


def home() -> str:
    """Return the WHESL home, made private to the user. Raises HomeError, OSError."""
    here = os.path.abspath(os.path.expanduser(places.chosen()))  # noqa: PTH100, PTH111
    make_private(here)
    return here


def _log() -> str:
    folder = f"{home()}/functions"
    make_private(folder)
    return f"{folder}/log"


def _exchange(link: socket.socket, request: dict[str, Any]) -> dict[str, Any] | None:
    """Send a request and return the answer; None where the answering process was killed."""
    try:
        link.sendall(json.dumps(request).encode())
        link.shutdown(socket.SHUT_WR)
        link.settimeout(_WAKE)
        content = bytearray()
        while not content.endswith(b"\n"):
            try:
                block = link.recv(1 << 16)
            except TimeoutError:
                continue
            if not block:
                return None
            content += block
    except ConnectionError:
        return None
    answer: dict[str, Any] = json.loads(content)
    return answer


def _open(descriptor: int, opened: contextlib.ExitStack) -> int:
    """Return a standard stream's descriptor, or that of the null device if the stream is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        return opened.enter_context(Path(os.devnull).open("r+b", buffering=0)).fileno()
    return descriptor
