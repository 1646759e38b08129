"""One call of a resource manager's command, to its end; a missing answer is no refusal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whesl.model.errors import CouldNotObserveError

# Turns a command into the command that runs it on another host by ssh.
Through = Callable[[Sequence[str]], Sequence[str]]
_PDEATHSIG = 1  # prctl(2)
_UNREACHED = 255  # ssh's status when the connection failed: ssh(1), "EXIT STATUS"


def captured(
    words: Sequence[str],
    environ: Mapping[str, str] | None = None,
    timeout: float | None = None,
    *,
    text: str = "",
    cwd: str | None = None,
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return its status, output and errors.

    Args:
        words: the program and its arguments.
        environ: the program's whole environment; None for this process's.
        timeout: seconds after which the program is killed; None for no limit.
        text: the program's standard input.
        cwd: the program's working directory; None for this process's.
        more: further arguments of ``subprocess.run``.

    Raises OSError; subprocess.TimeoutExpired.
    """
    return subprocess.run(
        words,
        env=environ,
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        **more,
    )


def end(process: subprocess.Popen[Any], grace: float) -> None:
    """End a process by SIGTERM, which launchers pass on to what they have started; later by SIGKILL.

    Args:
        process: the process, whose output nobody reads.
        grace: seconds until SIGKILL.
    """
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def send(pid: int, number: int) -> None:
    """Send a signal to a process; one that has ended or belongs to another user is no error.

    Args:
        pid: the process's id.
        number: the signal's number.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def send_group(pid: int, number: int) -> None:
    """Send a signal to a process group; one that has ended or belongs to another user is no error.

    Args:
        pid: the process group's id.
        number: the signal's number.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def ends_with_this_process() -> Callable[[], None]:
    """Return a function by which a child process asks for SIGTERM at this process's end, whatever ends it."""
    import ctypes  # here: it loads slowly, and few commands have such a child

    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it ended before
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


def call(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    timeout: float,
    silent: str,
    missing: str,
    cwd: str | None = None,
    text: str = "",
    through: Through | None = None,
    forms: Mapping[str, str] = {},
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return its status, output and errors.

    Args:
        command: the command and its arguments.
        environ: the command's whole environment.
        timeout: seconds after which the command counts as unanswered.
        silent: the hint for users when the command does not answer.
        missing: the hint for users when the command cannot be started.
        cwd: the command's working directory; None for the caller's.
        text: the command's standard input.
        through: None for a command of this host.
        forms: those variables of ``environ`` that a command on another host needs, too.

    Raises CouldNotObserveError without an answer: the command may still have taken effect.
    """
    words = command
    if through is not None:
        words = through(["env", *(f"{name}={value}" for name, value in forms.items()), *command])
    try:
        done = captured(words, environ, timeout, text=text, cwd=cwd)
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"{command[0]} did not answer within {timeout:g} s", hint=silent) from None
    except OSError as error:
        message = f"{words[0]} could not be started: {error.strerror}"
        raise CouldNotObserveError(message, hint=missing) from None
    if through is not None and done.returncode == _UNREACHED:
        raise CouldNotObserveError(f"{command[0]} was not reached: {done.stderr.strip()}")
    return done
