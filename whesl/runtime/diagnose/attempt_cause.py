"""The cause of a failed attempt, found by a separate process, so that the caller loads no large modules.

The process reads a limited part of each file, in limited memory and time; without an answer by then, the
cause is unknown. The caller polls for the answer, and may stop the process at any time.
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

TIME = 30.0  # seconds for the whole diagnosis
_MOST = 1 << 20  # greatest size of an answer, bytes
# -P (from Python 3.11 on): a file such as random.py in the working directory is not imported.
_SAFE = ["-P"] if sys.version_info >= (3, 11) else []


# Signals that a program causes itself.
_OWN = {
    signal.SIGSEGV: "an access to memory that is not its own",
    signal.SIGBUS: "an access to memory that is not there, as of a mapped file that became shorter",
    signal.SIGFPE: "a division by zero, or an overflow",
    signal.SIGILL: "an instruction that the processor does not have, as of a program built for another one",
    signal.SIGABRT: "the program ended itself by abort()",
}


def of_signal(number: int) -> Cause | None:
    """Return the cause of an attempt without output by its signal; None where others may have sent that.

    Args:
        number: the signal that ended the attempt, 0 for none.
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
    """The input of the process. ``files``: offset of the attempt's output in each file, bytes, by path."""

    files: dict[str, int]


class AttemptCause:
    """A running diagnosis of an attempt.

    Args:
        files: offset of the attempt's output in each file, bytes, by path.
        now: time of a monotonic clock, seconds.
    """

    def __init__(self, files: Mapping[str, int], now: float) -> None:
        self._deadline = now + TIME
        self._child: subprocess.Popen[bytes] | None = None
        self._answer = os.memfd_create("cause", os.MFD_CLOEXEC)
        self.cause: Cause | None = None
        try:
            self._child = subprocess.Popen(
                [sys.executable, *_SAFE, "-m", "whesl.runtime.diagnose.attempt_cause_process"],
                stdin=subprocess.PIPE,
                stdout=self._answer,
                stderr=subprocess.DEVNULL,
                cwd="/",
            )
            assert self._child.stdin is not None
            with self._child.stdin as stdin:
                stdin.write(msgspec.json.encode(Asked(files=dict(files))))
        except OSError:  # the process could not start or has died: the cause stays unknown
            self.drop()

    def over(self, now: float) -> bool:
        """Whether the diagnosis is over; ``cause`` then is the answer, None where the cause is unknown."""
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
        """End the process, whether or not it has answered."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None
        if self._answer >= 0:
            os.close(self._answer)
            self._answer = -1


def written(files: Mapping[str, int]) -> dict[str, int]:
    """Return the files that contain output of an attempt, with its offset in each.

    Args:
        files: offset of the attempt's output in each file, bytes, by path.
    """
    found = {}
    for path, begin in files.items():
        with contextlib.suppress(OSError):
            size = os.stat(path).st_size  # noqa: PTH116 - a path as text
            if os.path.isfile(path) and size:  # noqa: PTH113
                found[path] = begin if begin < size else 0 if begin > size else size
    return {path: begin for path, begin in found.items() if begin < os.stat(path).st_size}  # noqa: PTH116
