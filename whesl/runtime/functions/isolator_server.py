"""The isolator that is kept for many calls: one for each process that calls protected functions.

The server loads the modules of keepers and isolators once, starts the template, and forks a keeper
(``forked_call_isolator``) for each call. It is a child of the caller and gets calls by an inherited socket,
which no other process can reach, so that no authentication is needed. A call goes on if the server dies;
the caller starts another server.

Run as ``python -m whesl.runtime.functions.isolator_server SOCKET``.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import subprocess
import sys

from whesl.runtime.functions import forked_call_isolator
from whesl.runtime.functions.forked_call_isolator import Template
from whesl.runtime.functions.isolator_connection import CALL

_DESCRIPTORS = 3  # descriptors of a call: a socket, standard output, standard error


class Server:
    """Serves one process, and the functions that it calls.

    Args:
        asked: the socket that the caller's requests come from.
    """

    def __init__(self, asked: socket.socket) -> None:
        self._asked: socket.socket | None = asked
        # Sockets for calls by functions, whose processes inherit the second one from the template.
        self._nested, self._inherited = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._template: Template | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._imports = True
        # Process id of each call's keeper, and socket to the caller, by the keeper's pidfd.
        self._calls: dict[int, tuple[int, socket.socket]] = {}
        # The keeper's pidfd, by the descriptor of the socket to the caller.
        self._callers: dict[int, int] = {}
        self._poller = select.poll()

    def serve(self) -> None:
        """Serve until the caller is gone and its calls have ended."""
        self._start_template()
        assert self._asked is not None
        self._poller.register(self._asked, select.POLLIN)
        self._poller.register(self._nested, select.POLLIN)
        forked_call_isolator.prepare()
        gc.collect()
        gc.freeze()
        while self._asked is not None or self._calls:
            for descriptor, _ in self._poller.poll():
                self._happened(descriptor)

    def _happened(self, descriptor: int) -> None:
        if self._asked is not None and descriptor == self._asked.fileno():
            if not self._hear(self._asked):
                self._poller.unregister(descriptor)
                self._asked.close()
                self._asked = None
        elif descriptor == self._nested.fileno():
            self._hear(self._nested)
        elif descriptor in self._calls:
            self._end(descriptor)
        elif descriptor in self._callers:
            self._poller.unregister(descriptor)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._calls[self._callers[descriptor]][0], signal.SIGTERM)
        elif self._template is not None and descriptor == self._template.asked.fileno():
            self._template_ended()

    def _hear(self, source: socket.socket) -> bool:
        """Take a call from a socket; return False where no process can send one any more."""
        message, descriptors, _, _ = socket.recv_fds(source, 1, _DESCRIPTORS)
        if message == CALL and len(descriptors) == _DESCRIPTORS:
            self._begin(socket.socket(fileno=descriptors[0]), descriptors[1:])
        return bool(message)

    def _begin(self, link: socket.socket, streams: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            for other in (
                self._asked,
                self._nested,
                self._inherited,
                *(each for _, each in self._calls.values()),
            ):
                if other is not None:
                    other.close()
            for descriptor in self._calls:
                os.close(descriptor)
            forked_call_isolator.main(link, streams, self._template)
        for descriptor in streams:
            os.close(descriptor)
        keeper = os.pidfd_open(pid)
        self._calls[keeper] = pid, link
        self._callers[link.fileno()] = keeper
        self._poller.register(keeper, select.POLLIN)
        # The server only watches whether the caller closes the connection; the keeper reads its messages.
        self._poller.register(link, 0)

    def _end(self, keeper: int) -> None:
        pid, link = self._calls.pop(keeper)
        self._poller.unregister(keeper)
        os.close(keeper)
        os.waitpid(pid, 0)
        del self._callers[link.fileno()]
        with contextlib.suppress(KeyError):  # the caller had already closed the connection
            self._poller.unregister(link)
        link.close()

    def _start_template(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        passed = (theirs.fileno(), self._inherited.fileno())
        self._program = subprocess.Popen(
            [sys.executable, "-m", "whesl.runtime.functions.fork_server", *map(str, passed)],
            pass_fds=passed,
        )
        theirs.close()
        self._template = Template(ours, self._program.pid, dict(os.environ), self._imports)
        self._poller.register(ours, 0)

    def _template_ended(self) -> None:
        """Start another template that imports nothing, since an import has ended the last template."""
        assert self._template is not None and self._program is not None
        self._poller.unregister(self._template.asked)
        self._template.asked.close()
        self._program.wait()
        self._template = None
        if self._imports:
            self._imports = False
            self._start_template()


def main(descriptor: int) -> None:
    """Serve the process that has started this one.

    Args:
        descriptor: descriptor of the socket to that process.
    """
    Server(socket.socket(fileno=descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)
