"""An agent's part when the isolator's node stays silent: it starts a successor of the isolator.

The link file names the nodes whose agents do so. The successor finds out by itself whether it may take the
task over (``runtime.isolator.isolator_takeover``). A new link file shows that one has: that isolator has
agents of its own, so the earlier ones end, and do nothing more to the task's processes.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.runtime.node_agent.messages import LinkFile

LEAST_SILENCE = 5.0  # seconds without an answer of the responder until a successor is started
_LOOK = 1.0  # seconds between two looks for a new link file
_RESTARTS = 5  # how often an isolator that was killed is started again


class Succession:
    """The succession to a task's isolator, on the node of one agent.

    Args:
        link: the link file.
        file: its content at the agent's start.
        node: the agent's node.

    ``begun``: another node's isolator, or one that this agent has started, has taken the task over.
    """

    def __init__(self, link: Path, file: LinkFile, node: str) -> None:
        self._link = link
        self._file = file
        self._starts = node in file.successors
        # Looks begin before the lease is over: the agent would end processes of another isolator's attempt.
        self._doubt = file.limit / 3
        self._silence = max(2 * file.limit, LEAST_SILENCE)
        self._next = 0.0
        self._silent = False  # whether it is time for a successor
        self._child: subprocess.Popen[bytes] | None = None
        self.begun = False

    def due(self, now: float, attended: float) -> bool:
        """Whether the responder's answer is overdue, and the link file has to be read again now.

        Once the responder answers again, the isolator that waits to take over is dismissed.

        Args:
            now: monotonic seconds.
            attended: the time of the responder's last answer.
        """
        if now < attended + self._doubt:
            self._dismiss()
        elif now >= self._next:
            self._next, self._silent = now + _LOOK, now >= attended + self._silence
            return True
        return False

    def look(self) -> None:
        """Look for another isolator's link file, and start a successor once. A file system may block this."""
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            if msgspec.json.decode(self._link.read_bytes(), type=LinkFile).keys != self._file.keys:
                self.begun = True
                return
        if self._starts and self._silent and self._child is None:
            self._start()

    @property
    def waits(self) -> bool:
        """Whether a successor of this node runs, so that the agent, which is its parent, may not end."""
        return self._child is not None and self._child.poll() is None

    def attend(self) -> None:
        """Return when the isolator that this agent has started has ended; start a killed one again."""
        for _ in range(_RESTARTS):
            if self._child is None or self._child.wait() >= 0:
                return
            self._start()

    def _start(self) -> None:
        directory = self._link.parent
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            log = file_retry.retried(lambda: os.open(directory / "log", flags, 0o600))
            command = ("-m", "whesl.runtime.isolator", "--task-dir", str(directory), "--succeed")
            self._child = subprocess.Popen(
                (sys.executable, *command), stdin=subprocess.PIPE, stdout=log, stderr=log
            )
            file_retry.close(log)

    def _dismiss(self) -> None:
        """Close the successor's standard input: it ends unless it has taken the task over."""
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
            if self._child.poll() is not None:
                self._child = None
