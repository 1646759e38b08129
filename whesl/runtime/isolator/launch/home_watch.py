"""What the keeper learns of its task while the home's file system hangs, without a call to that file system.

The isolator waits in its files then, and the runner with the program's status in hand. Standard library only.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time

from whesl.files.hanging_file_system import Question
from whesl.runtime.isolator.launch import program_runner

LOOK = 60.0  # seconds between two questions to a file system that answers
SILENT_LOOK = 1.0  # seconds between two looks at a file system that does not answer
SILENCE = 30.0  # seconds without an answer after which the file system hangs
NOTHING_RUNS = 600.0  # seconds for which a hanging isolator may leave its task without an attempt


class HomeWatch(threading.Thread):
    """Looks at the file system of a task's directory, while the keeper may wait in a call to it.

    Attributes:
        isolator: a descriptor of the isolator (pidfd_open(2)), None while none runs.
        ended: the exit status of a first attempt whose runner has ended, else None.

    Args:
        directory: the task's directory.
    """

    def __init__(self, directory: str) -> None:
        super().__init__(daemon=True)
        self._directory = directory
        self._question = Question(directory)
        self._due = time.monotonic() + LOOK
        self._idle_since = math.inf
        self.isolator: int | None = None
        self.ended: int | None = None

    def run(self) -> None:
        """Look whenever a look is due."""
        while True:
            time.sleep(max(self._due - time.monotonic(), 0.0))
            self.look()

    def look(self) -> None:
        """Look; end this process as the program has ended, where the file system hangs."""
        end = self._end(time.monotonic())
        if end is None:
            return
        status, died = end
        with contextlib.suppress(OSError):
            if self.isolator is not None:  # when its files are back, it may start no attempt
                signal.pidfd_send_signal(self.isolator, signal.SIGKILL)
            how = "no attempt runs" if status is None else f"the program ended with status {status}"
            sys.stderr.write(f"whesl: {self._directory} does not answer; {how}, which no rule has judged\n")
            sys.stderr.flush()
        if status is not None and died:
            # Only a main thread may give a signal its default again. A new program begins with the defaults.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {status - 128})
            dies = f"ulimit -c 0; kill -{status - 128} $$; exit {status}"
            os.execv("/bin/sh", ["sh", "-c", dies])  # noqa: S606  # a list
        os._exit(os.EX_SOFTWARE if status is None else status)

    def _end(self, now: float) -> tuple[int | None, bool] | None:
        """Return the program's exit status and whether it died of a signal, None while the task goes on.

        The status is None where no attempt has run for long.
        """
        if now < self._due:
            return None
        self._due = now + SILENT_LOOK
        if self._question.answered():
            self._due, self._idle_since = now + LOOK, math.inf
            return None
        if now < self._question.asked + SILENCE:
            return None
        if runner := program_runner.running(self._directory):
            self._idle_since, self.ended = math.inf, None  # a later attempt, or one that has not ended
            status = program_runner.status_in_name(runner)
            return status if status[0] is not None else None
        self._idle_since = min(self._idle_since, now)
        over = self.ended == 0 or now > self._idle_since + NOTHING_RUNS
        return (self.ended, False) if over else None
