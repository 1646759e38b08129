"""A program under its runner, without an isolator."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from whesl.runtime.isolator.launch import program_runner, runner_start

TOKEN = f"token-{os.getpid()}"  # a test that ends its processes by the token spares those of other workers


def begin(*command: str, status: Path, place: Path) -> subprocess.Popen[bytes]:
    """Start a command under its runner, and return the runner's process.

    Args:
        command: the command's words.
        status: the file for the exit status, made here in a directory that may be missing.
        place: the command's working directory, also of its output.
    """
    status.parent.mkdir(parents=True, exist_ok=True)
    status.write_bytes(program_runner.STATUS_PENDING)
    return runner_start.start(
        command,
        status=str(status),
        stdin="",
        stdin_offset=0,
        stdout=str(place / "out"),
        stderr=str(place / "out"),
        workdir=str(place),
        environment={**os.environ, runner_start.TOKEN_VARIABLE: TOKEN},
    )
