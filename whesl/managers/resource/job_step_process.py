"""The local process that stands for a step: the launcher that started the step on its nodes."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from whesl.model.errors import RefusedError


class StepProcess:
    """A step, represented by its launcher's local process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        """Return the step's exit status, the largest of its tasks' statuses; None while the step runs."""
        return self._process.poll()


def start(command: Sequence[str], environ: Mapping[str, str], name: str) -> subprocess.Popen[bytes]:
    """Start a command, without input and output, in a session of its own.

    Args:
        command: the command and its arguments.
        environ: the command's whole environment.
        name: the command's name in the error message.

    Raises RefusedError when the command cannot be started.
    """
    try:
        return subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise RefusedError(f"{name} could not be started: {error.strerror}") from None
