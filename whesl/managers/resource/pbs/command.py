"""Runs PBS's commands and turns their failures into errors of the port."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from whesl.managers.resource import command_call
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError

TIMEOUT = 35.0
# Prefixes of variables with a user's defaults, which would change what PBS's commands do or print (qsub(1B),
# qstat(1B)).
_DEFAULTS = ("PBS_QSTAT", "PBS_DPREFIX", "PBS_DEFAULT_PLACE")
_HINT = "is pbs_server up? try: qstat -B"
# Messages from src/include/pbs_error.h and src/lib/Liblog/pbs_messages.c of openpbs 23.06.
_NO_JOB = re.compile(r"Unknown Job Id|Job has finished|Job is not in the queue", re.IGNORECASE)
_DENIED = re.compile(r"Unauthorized Request|not allowed|Access denied|No Permission", re.IGNORECASE)
_SILENT = re.compile(
    r"cannot connect to server|connection refused|connection (?:timed out|reset)|No such file or directory"
    r"|Communication failure|Premature end of message|Protocol \(ASN\.1\) error|End of File|pbsconf error"
    r"|Unable to authenticate|Unknown Host",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"Server shutting down|Request invalid for state of job|server busy|Resource temporarily", re.I
)


def server_home(environ: Mapping[str, str]) -> Path | None:
    """Return PBS_HOME by this host's configuration, None where that cannot be read."""
    try:
        lines = Path(environ.get("PBS_CONF_FILE") or "/etc/pbs.conf").read_text().splitlines()
    except OSError:
        return None
    return next((Path(line[9:].strip().strip('"')) for line in lines if line.startswith("PBS_HOME=")), None)


class NoSuchJobError(RefusedError):
    """PBS does not know the job (any more), or the job has ended."""


class DeniedError(RefusedError):
    """PBS does not permit the request to this user."""


class PbsCommands:
    """Runs the commands of one PBS server.

    Args:
        environ: the environment of the commands; PBS_CONF_FILE, PBS_SERVER and PATH in it choose the server.
        timeout: seconds after which a command counts as unanswered.
        through: turns a command into the command that runs it on another host by ssh; None for this host.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        through: command_call.Through | None = None,
    ) -> None:
        base = os.environ if environ is None else environ
        kept = {name: value for name, value in base.items() if not name.startswith(_DEFAULTS)}
        # PBS prints times in words; the locale makes the names of days and months English.
        self._forms = {"LC_ALL": "C.UTF-8"}
        self.environ = {**kept, **self._forms}
        self._timeout = timeout
        self._through = through

    def run(
        self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None, text: str = ""
    ) -> str:
        """Run a command to its end and return its standard output.

        Args:
            command: the command and its arguments.
            environ: variables to add to the command's environment.
            cwd: the command's working directory.
            text: the command's standard input.

        Raises CouldNotObserveError without an answer (the command may still have taken effect);
        NoSuchJobError, DeniedError, TransientError or RefusedError by PBS's message.
        """
        status, output, errors = self.told(*command, environ=environ, cwd=cwd, text=text)
        if status != 0:
            raise failure(command[0], status, errors)
        return output

    def told(
        self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None, text: str = ""
    ) -> tuple[int, str, str]:
        """Run a command to its end and return its exit status, standard output and standard error.

        Args:
            command: the argument list.
            environ: variables that are added to the commands' environment.
            cwd: the working directory; None for this process's.
            text: the command's standard input.

        Raises CouldNotObserveError without an answer.
        """
        done = command_call.call(
            command,
            {**self.environ, **(environ or {})},
            timeout=self._timeout,
            silent=_HINT,
            missing="load the module of PBS, or put PBS's commands on PATH",
            cwd=cwd,
            text=text,
            through=self._through,
            forms=self._forms,
        )
        return done.returncode, done.stdout, done.stderr


def failure(command: str, status: int, errors: str) -> WheslError:
    """Return the error for a failed command, by its message.

    Args:
        command: the command's name.
        status: the exit status (negative: signal).
        errors: the command's standard error.
    """
    lines = [" ".join(line.split()) for line in errors.splitlines() if line.strip()]
    words = "; ".join(line.removeprefix(f"{command}: ") for line in lines)
    if status < 0 or not words:
        # A command that was killed, or failed without a message, may still have taken effect.
        return CouldNotObserveError(
            f"{command} ended with status {status} and gave no reason: {words or '-'}"
        )
    message = f"{command}: {words}"
    if _NO_JOB.search(words):
        return NoSuchJobError(message)
    if _SILENT.search(words):
        return CouldNotObserveError(message, hint=_HINT)
    if _DENIED.search(words):
        return DeniedError(message)
    return TransientError(message) if _LATER.search(words) else RefusedError(message)
