"""Commands of WHESL that a test calls: each in a process of its own, a child of this one.

A process that begins with an interpreter imports for some tenths of a second of a processor before it does
anything, thousands of times in all tests. A fork of ``tests.command_server`` has these modules already. The
isolator of ``whesl exec`` is a fork of the command. What is tested of the beginning of a process (which
modules are loaded, signals while they are, an interpreter's options), and what is found by its command line
or by its environment, needs a program of its own. So does what a test has patched in this process.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.command_server import Call

_ONE = threading.Lock()  # one call at a time: the server answers in turn
# Of before any test: who looks for processes by what a test has set would find the server and its forks.
_ENVIRONMENT = dict(os.environ)


def whesl(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    check: bool = False,
    input: str | None = None,  # noqa: A002 - as subprocess.run names it
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    """Call a command and return its status and what it has printed.

    Args:
        arguments: what follows ``whesl``.
        env: all its environment; None for this process's.
        timeout: seconds after which it is killed, on an idle machine.
        check: whether another status than 0 is an error.
        input: what it reads; None for what ``stdin`` says.
        more: what else ``begin`` takes; without it what is printed is returned as text.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
        subprocess.CalledProcessError: its status is not 0, and ``check`` is set.
    """
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    if input is not None:
        more["stdin"] = subprocess.PIPE
    with begin(*arguments, env=env, **more) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    result = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        result.check_returncode()
    return result


def begin(*arguments: str | Path, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.Popen[Any]:
    """Start a command and return its process.

    Args:
        arguments: what follows ``whesl``.
        env: all its environment; None for this process's.
        more: ``cwd``, ``start_new_session``, the streams and how they are read, as for ``subprocess.Popen``.
    """
    program = str(Path(sys.executable).with_name("whesl"))
    return _Command([program, *map(str, arguments)], env=env, **more)


class _Command(subprocess.Popen[Any]):
    """A command that the server starts; all else is as of any other process."""

    def _execute_child(  # type: ignore[no-untyped-def] # typeshed leaves it out
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
        restore_signals, gid, gids, uid, umask, start_new_session, process_group=-1,
    ) -> None:  # fmt: skip
        """Start the process: instead of the method that makes a fork of this one."""
        assert not (preexec_fn or pass_fds or shell or executable), "a program of its own can have these"
        call = pickle.dumps(
            Call(
                words=args[1:],
                environment=dict(os.environ if env is None else env),
                directory=str(cwd or Path.cwd()),
                session=start_new_session,
            )
        )
        streams = [own if given == -1 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        with _ONE:
            server = _server()
            socket.send_fds(server, [len(call).to_bytes(4, "big")], streams)
            server.sendall(call)
            self.pid = int.from_bytes(server.recv(4, socket.MSG_WAITALL), "big")
        assert self.pid, "the server of commands has ended"
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


@cache
def _server() -> socket.socket:
    """Return the connection to the server, which ends with this process."""
    mine, its = socket.socketpair()
    subprocess.Popen(
        [sys.executable, "-m", "tests.command_server", str(its.fileno())],
        cwd=Path(__file__).resolve().parent.parent,
        env=_ENVIRONMENT,
        pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL,
    )
    its.close()
    return mine
