"""One call of a resource manager's command, to its end; a missing answer is told from a refusal."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from whesl.model.errors import CouldNotObserveError


def call(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    timeout: float,
    silent: str,
    missing: str,
    cwd: str | None = None,
    text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return its status, output and errors.

    Args:
        command: the command and its arguments.
        environ: its whole environment.
        timeout: seconds after which it counts as unanswered.
        silent: what a user can do about a manager that does not answer.
        missing: what a user can do about a command that is not there.
        cwd: where it runs.
        text: its standard input.

    Raises CouldNotObserveError when there was no answer: the command may still have been carried out.
    """
    try:
        return subprocess.run(
            command,
            env=environ,
            cwd=cwd,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"{command[0]} did not answer within {timeout:g} s", hint=silent) from None
    except OSError as error:
        message = f"{command[0]} could not be started: {error.strerror}"
        raise CouldNotObserveError(message, hint=missing) from None
