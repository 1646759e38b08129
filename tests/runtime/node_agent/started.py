"""Processes of an attempt that are started without an isolator."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from whesl.runtime.node_agent.fencing.attempt_processes import TOKEN_VARIABLE

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def token() -> str:
    return f"{secrets.token_hex(16)}.1"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a shell script under a token; ``name`` is what its process is called."""
    shutil.copy("/bin/sh", tmp_path / "srun")
    started: list[subprocess.Popen[bytes]] = []

    def begin(script: str, token: str, name: str = "sh") -> subprocess.Popen[bytes]:
        shell = str(tmp_path / "srun") if name == "srun" else "/bin/sh"
        started.append(
            subprocess.Popen(
                [shell, "-c", f"echo ready; {script}"],
                env={**os.environ, TOKEN_VARIABLE: token},
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        )
        stream = started[-1].stdout
        assert stream is not None and stream.readline() == b"ready\n"
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
