"""Runs Slurm's commands and turns their failures into errors of the port."""

from __future__ import annotations

import os
from collections.abc import Mapping

from whesl.managers.resource import command_call
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.states import Reply, reply_kind
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError

# Seconds. Slurm's own MessageTimeout is 10 s, and its clients may try more than once.
TIMEOUT = 35.0
_HINT = "is slurmctld up? try: scontrol ping"
_DEFAULTS = ("SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SCONTROL_", "POSIXLY_CORRECT")


class NoSuchJobError(RefusedError):
    """Slurm does not know the job, or does not know it any more (MinJobAge)."""


class DeniedError(RefusedError):
    """Slurm does not permit the request to this user."""


class SlurmCommands:
    """Runs the commands of one Slurm cluster.

    Args:
        environ: the environment of the commands; SLURM_CONF and PATH in it choose the cluster.
        timeout: seconds after which a command counts as unanswered.
        cluster: the ClusterName that the commands have to speak to; '' for any cluster.
        through: turns a command into the command that runs it on another host by ssh; None for this host.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        cluster: str = "",
        through: command_call.Through | None = None,
    ) -> None:
        base = os.environ if environ is None else environ
        # Defaults of the user's for Slurm's commands, and POSIXLY_CORRECT, would change what they do.
        kept = {name: value for name, value in base.items() if not name.startswith(_DEFAULTS)}
        # Times as seconds since the epoch; names and reasons in English.
        self._forms = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}
        self.environ = {**kept, **self._forms}
        self._timeout = timeout
        self._through = through
        self._unchecked = cluster

    def run(self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
        """Run a command to its end and return its standard output.

        Args:
            command: the command and its arguments.
            environ: variables to add to the command's environment.
            cwd: the command's working directory.

        Raises CouldNotObserveError without an answer (the command may still have taken effect), or when the
        commands speak to another cluster; NoSuchJobError, DeniedError, TransientError or RefusedError by
        Slurm's message.
        """
        if self._unchecked:
            self._check_cluster(self._unchecked)
        return self._run(*command, environ=environ, cwd=cwd)

    def _check_cluster(self, wanted: str) -> None:
        """Check once that the commands speak to the right cluster: clusters reuse each other's job ids."""
        found = slurm_command_output.settings(self._run("scontrol", "show", "config")).get("ClusterName", "")
        if found != wanted:
            raise CouldNotObserveError(
                f"the commands of Slurm here speak to cluster {found or '(unnamed)'}, not to {wanted}",
                hint="start the coordinator where squeue shows that cluster's jobs",
            )
        self._unchecked = ""

    def _run(self, *command: str, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
        result = command_call.call(
            command,
            {**self.environ, **(environ or {})},
            timeout=self._timeout,
            silent=_HINT,
            missing="load the Slurm module, or put Slurm's commands on PATH",
            cwd=cwd,
            through=self._through,
            forms=self._forms,
        )
        if result.returncode != 0:
            raise failure(command[0], result.returncode, result.stderr)
        return result.stdout


def failure(command: str, status: int, stderr: str) -> WheslError:
    """Return the error for a failed command, by its message.

    Args:
        command: the command's name.
        status: the exit status (negative: signal).
        stderr: the command's standard error.
    """
    text = " ".join(stderr.split())
    if status < 0 or not text:
        # A command that was killed, or failed without a message, may still have taken effect.
        return CouldNotObserveError(f"{command} ended with status {status} and gave no reason: {text or '-'}")
    # Slurm's commands begin each line with their name and "error:", which the message does not repeat.
    lines = [" ".join(line.split()) for line in stderr.splitlines() if line.strip()]
    words = "; ".join(line.removeprefix(f"{command}: ").removeprefix("error: ") for line in lines)
    message = f"{command}: {words}"
    kinds: dict[Reply, WheslError] = {
        Reply.NO_JOB: NoSuchJobError(message),
        Reply.DENIED: DeniedError(message),
        Reply.SILENT: CouldNotObserveError(message, hint=_HINT),
        Reply.LATER: TransientError(message),
        Reply.NO: RefusedError(message),
    }
    return kinds[reply_kind(text)]
