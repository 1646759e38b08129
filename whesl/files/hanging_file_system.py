"""Whether a file system answers: where a mount's server is away, each call waits until the server is back.

Another process asks, since a process that waits so hears no signal. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import time

_STATS = ("/usr/bin/stat", "/bin/stat")
START_LIMIT = 10.0  # seconds that a file system may take for its answer before it is used


class SilentError(TimeoutError):
    """A file system did not answer."""


class Question:
    """One question to the file system of a path.

    Args:
        path: a path there, which may be missing.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._pid = self._answer = 0
        self.asked = 0.0  # monotonic time of the question

    def answered(self, patience: float = 0.0) -> bool:
        """Ask, unless an earlier question is unanswered, and return whether an answer has come.

        Args:
            patience: seconds to wait for it.
        """
        if not self._pid:
            stat = next((path for path in _STATS if os.access(path, os.X_OK)), "")
            if not stat:
                return True  # nobody can ask
            self._ask(stat)
        if not select.select([self._answer], [], [], patience)[0]:
            return False
        os.close(self._answer)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        self._pid = 0
        return True

    def _ask(self, stat: str) -> None:
        self._answer, write = os.pipe2(os.O_CLOEXEC)
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, write, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        # Attributes come from a cache of this host, the room that is left from the server.
        self._pid = os.posix_spawn(stat, ["stat", "-f", self._path], {}, file_actions=actions)
        os.close(write)
        self.asked = time.monotonic()


def require(path: str) -> None:
    """Raise SilentError where the file system of a path does not answer.

    Args:
        path: a path there, which may be missing.
    """
    if not Question(path).answered(START_LIMIT):
        said = f"its file system did not answer for {START_LIMIT:.0f} s"
        raise SilentError(errno.ETIMEDOUT, said, path)
