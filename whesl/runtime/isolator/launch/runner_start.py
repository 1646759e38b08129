"""The start of an attempt's runner, and the variables that inform a task about itself.

A module of its own, with the standard library only: ``whesl exec`` starts a first attempt by it before
anything of the isolator is loaded.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from whesl.files import file_retry, standard_streams
from whesl.managers.resource.launcher_shims import nodes_in_use
from whesl.model import attempt_rlimit_mark
from whesl.runtime.isolator.launch import program_runner

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Spawn = Callable[..., Any]  # starts a process, with the signature of ``subprocess.Popen``

TOKEN_VARIABLE = "WHESL_ATTEMPT_TOKEN"  # noqa: S105  # a name, not a secret


def interpreter(script: bytes) -> tuple[str, ...]:
    """Return the words of a script's ``#!`` line, bash where the script has none (as in a batch job)."""
    first = script.split(b"\n", 1)[0].rstrip(b"\r")
    if first.startswith(b"#!"):
        # The kernel passes everything after the first word as one argument.
        words = os.fsdecode(first[2:]).strip().split(None, 1)
        if words:
            return tuple(words)
    return ("/bin/bash",)


def told(
    *,
    task: str,
    workflow: str,
    restarts: int,
    token: str,
    active: Sequence[str],
    swapped: str,
    lost: Sequence[str],
    hosts: str,
    reconfigure: str,
) -> dict[str, str]:
    """Return the variables that tell a task about itself (docs/design/launch.md, "What a task sees").

    Args:
        task, workflow: the ids of the task and its workflow.
        restarts: number of attempts before this one, including earlier runs of the job.
        token: the attempt's token.
        active: the nodes in use.
        swapped: the replaced nodes and their replacements, as JSON.
        lost: the lost nodes.
        hosts, reconfigure: paths of the host file and the configuration file.
    """
    return {
        "WHESL_TASK": task,
        "WHESL_WORKFLOW": workflow,
        "WHESL_RESTART_COUNT": str(restarts),
        TOKEN_VARIABLE: token,
        "WHESL_NODELIST": nodes_in_use.told(active),
        # For the launchers' shims: replaced nodes, and nodes on which a step may linger.
        "WHESL_SWAPPED": swapped,
        "WHESL_LOST_NODES": nodes_in_use.told(lost),
        "WHESL_HOSTFILE": hosts,
        "WHESL_RECONFIGURE": reconfigure,
    }


def with_checkpoints(command: Sequence[str], directory: str) -> tuple[str, ...]:
    """Return a command wrapped by the checkpoint coordinator.

    Args:
        command: the command's words.
        directory: the directory of the checkpoints; '' to return the command unchanged.
    """
    if not directory:
        return tuple(command)
    return (sys.executable, "-m", "whesl", "ckpt", "run", "--dir", directory, "--", *command)


def start(
    command: Sequence[str],
    *,
    status: str,
    stdin: str,
    stdin_offset: int,
    stdout: str,
    stderr: str,
    workdir: str,
    environment: Mapping[str, str],
    descriptors: Sequence[tuple[int, int, int]] = (),
    spawn: Spawn = subprocess.Popen,
) -> subprocess.Popen[bytes]:
    """Start a command under its runner, in a session of its own, and return the runner's process.

    Args:
        command: the command's words.
        status: the file for the exit status, made beforehand.
        stdin: a file to read from ``stdin_offset``; empty for the caller's own standard input.
        stdin_offset: the first byte of ``stdin`` to read.
        stdout, stderr: files to append to; the same path for one joined stream.
        workdir: the command's working directory.
        environment: the command's whole environment, including the attempt's token.
        descriptors: what the command inherits besides the standard streams (``standard_streams.further``).
        spawn: starts the runner's process.

    Raises OSError when a file cannot be opened or the working directory does not exist.
    """
    mark = str(attempt_rlimit_mark.of_token(environment[TOKEN_VARIABLE]))
    runner = (sys.executable, "-I", "-S", program_runner.__file__, mark, status)
    opened: list[int] = []
    try:
        # The attempt's own files are private; files that the caller named follow the caller's umask.
        own = f"{os.path.dirname(status)}/"  # noqa: PTH120  # pathlib costs milliseconds
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        out = err = file_retry.retried(
            lambda: os.open(stdout, append, 0o600 if stdout.startswith(own) else 0o666)
        )
        opened.append(out)
        if stderr != stdout:
            err = file_retry.retried(
                lambda: os.open(stderr, append, 0o600 if stderr.startswith(own) else 0o666)
            )
            opened.append(err)
        source = 0
        if stdin:
            source = file_retry.retried(lambda: os.open(stdin, os.O_RDONLY | os.O_CLOEXEC))
            opened.append(source)
            with contextlib.suppress(OSError):  # a device has no position to return to
                os.lseek(source, stdin_offset, os.SEEK_SET)
        # An error shows that the runner was not started, so the start may be retried.
        return file_retry.retried(
            lambda: spawn(
                (*runner, *command),
                stdin=source,
                stdout=out,
                stderr=err,
                cwd=workdir,
                env=environment,
                start_new_session=True,
                pass_fds=standard_streams.still_open(descriptors) if descriptors else (),
            )
        )
    finally:
        for descriptor in opened:
            file_retry.close(descriptor)
