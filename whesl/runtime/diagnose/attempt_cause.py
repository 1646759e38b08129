"""What a failed attempt died of, asked of a process of its own, so that who waits loads nothing heavy.

The process reads at most so much of each file, in bounded memory and time: what it cannot say by then is not
known. Whoever waits for it polls, and may drop it at any time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.model.evidence import Advice, Cause, CauseClass

TIME = 30.0  # seconds for all of it
_MOST = 1 << 20  # bytes of an answer
# A file called random.py in the present directory is no module of WHESL (from Python 3.11 on).
_SAFE = ["-P"] if sys.version_info >= (3, 11) else []


# Signals that a program brings upon itself.
_OWN = {
    signal.SIGSEGV: "an access to memory that is not its own",
    signal.SIGBUS: "an access to memory that is not there, as of a mapped file that became shorter",
    signal.SIGFPE: "a division by zero, or an overflow",
    signal.SIGILL: "an instruction that the processor does not have, as of a program built for another one",
    signal.SIGABRT: "the program ended itself by abort()",
}


def of_signal(number: int) -> Cause | None:
    """Return what a signal alone says of a silent attempt; None where others may have sent it.

    Args:
        number: the signal that ended it, 0 for none.
    """
    if number not in _OWN:
        return None
    name = signal.Signals(number).name
    return Cause(
        cause=CauseClass.BUG,
        sentence=f"It ended by {name}: {_OWN[signal.Signals(number)]}; its output says nothing of it.",
        advice=Advice.NONE,
        sure=0.6,
    )


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is told. ``files``: where the attempt's part of each begins, bytes; by path."""

    files: dict[str, int]


class AttemptCause:
    """A diagnosis under way.

    Args:
        files: the attempt's output, and at which byte it begins in each file.
        now: seconds of a clock that never goes back.
    """

    def __init__(self, files: Mapping[str, int], now: float) -> None:
        self._deadline = now + TIME
        self._child: subprocess.Popen[bytes] | None = None
        self._answer = os.memfd_create("cause", os.MFD_CLOEXEC)
        self.cause: Cause | None = None
        try:
            self._child = subprocess.Popen(
                [sys.executable, *_SAFE, "-m", "whesl.runtime.diagnose.attempt_process"],
                stdin=subprocess.PIPE,
                stdout=self._answer,
                stderr=subprocess.DEVNULL,
                cwd="/",
            )
            assert self._child.stdin is not None
            with self._child.stdin as stdin:
                stdin.write(msgspec.json.encode(Asked(files=dict(files))))
        except OSError:  # no process could be made, or it has died: nothing is known then
            self.drop()

    def over(self, now: float) -> bool:
        """Whether the answer is there, or none will come; ``cause`` is it."""
        child = self._child
        if child is None:
            return True
        if child.poll() is None:
            if now >= self._deadline:
                self.drop()
            return self._child is None
        with contextlib.suppress(OSError, *UNDECODABLE):
            content = os.pread(self._answer, _MOST, 0)
            self.cause = msgspec.json.decode(content, type=Cause | None) if not child.returncode else None
        self.drop()
        return True

    def drop(self) -> None:
        """End it, whether or not it has answered."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None
        if self._answer >= 0:
            os.close(self._answer)
            self._answer = -1


def written(files: Mapping[str, int]) -> dict[str, int]:
    """Return those of an attempt's files that hold anything of it: without output nothing can be said.

    Args:
        files: at which byte the attempt's part of each begins, by path.
    """
    found = {}
    for path, begin in files.items():
        with contextlib.suppress(OSError):
            size = os.stat(path).st_size  # noqa: PTH116 - a path as text
            if os.path.isfile(path) and size:  # noqa: PTH113
                found[path] = begin if begin < size else 0 if begin > size else size
    return {path: begin for path, begin in found.items() if begin < os.stat(path).st_size}  # noqa: PTH116
