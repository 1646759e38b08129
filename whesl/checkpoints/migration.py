"""Live migration of a node's processes by a site's own command, if the site has one."""

from __future__ import annotations

import math
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence

from whesl.checkpoints.core.states_and_events import Migrated
from whesl.managers.resource.command_call import end
from whesl.model.errors import UsageError

RESERVE = 1.5  # factor of the longest measured duration that the next migration may take
SLACK = 2.0  # additional seconds, which a busy host may add to the quickest command
_END = 5.0  # seconds for an aborted command to end


class Migration:
    """Migrates nodes by a command of the site, with one process of the command for each node.

    Args:
        command: a program and its arguments, to which the node's name is appended. Its exit status is 0 when
            the node's processes run elsewhere, under the node's name.
        theta: seconds that a migration takes, before the first measurement.
    """

    def __init__(self, command: Sequence[str] = (), theta: float = math.inf) -> None:
        self._command = tuple(command)
        self._running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        self._longest = 0.0
        self.theta = theta if command else math.inf

    @classmethod
    def of_options(cls, command: str | None, theta: float | None) -> Migration:
        """Return the migration for two options.

        Args:
            command: the command in shell syntax; None without the option.
            theta: seconds that a migration takes, before the first measurement; None without the option.

        Raises:
            UsageError: one option is given without the other, or the command cannot be parsed.
        """
        if (command is None) != (theta is None):
            raise UsageError("--migrate and --theta are given together", hint="--migrate ./move --theta 30")
        try:
            words = shlex.split(command or "")
        except ValueError as error:
            raise UsageError(f"--migrate {command!r}: {error}", hint="quote it as a shell does") from None
        if command is not None and not words:
            raise UsageError("--migrate names no command", hint="--migrate ./move --theta 30")
        return cls(words, math.inf if theta is None else theta)

    def begin(self, node: str) -> str:
        """Begin to move a node's processes; return an error text, empty on success."""
        try:
            process = subprocess.Popen([*self._command, node], stdin=subprocess.DEVNULL)
        except OSError as error:
            return f"{self._command[0]}: {error.strerror}"
        self._running[node] = process, time.monotonic()
        return ""

    def abort(self, node: str) -> None:
        """End a node's migration command that is no longer needed."""
        process, _ = self._running.pop(node, (None, 0.0))
        if process is not None:
            end(process, _END)

    def ended(self) -> Iterator[Migrated]:
        """Yield the migrations that have ended since the last call, and measure those that succeeded."""
        for node, (process, began) in list(self._running.items()):
            status = process.poll()
            if status is None:
                continue
            del self._running[node]
            if status == 0:
                self._longest = max(self._longest, time.monotonic() - began)
                self.theta = RESERVE * self._longest + SLACK
            yield Migrated(node=node, why="" if status == 0 else f"{self._command[0]} ended with {status}")

    def close(self) -> None:
        """End all running migration commands."""
        for node in list(self._running):
            self.abort(node)
