"""Reads jobs through pyslurm, where it is installed and made for this Slurm release.

pyslurm saves the start of a squeue for each query on running jobs. It runs in a child process (for the
reasons in ``pyslurm_child``). Where pyslurm does not answer soon and clearly, the caller uses Slurm's
commands.
"""

from __future__ import annotations

import contextlib
import importlib.util
import select
import subprocess
import sys
import threading
from collections.abc import Sequence

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.port import JobRecord
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.managers.resource.slurm.releases import release
from whesl.model.errors import WheslError

_MODULE = "pyslurm"
# Seconds for the child's start and for its answer; squeue, which is called after that, has its own limit.
_START, _ANSWER = 10.0, 2.0
# The most jobs of a query: pyslurm sends a request for each job, so that for more jobs one squeue is faster,
# and costs slurmctld less (benchmarks/slurm_bindings.py).
_MOST = 2


class _Answer(msgspec.Struct, frozen=True):
    version: str = ""
    rows: tuple[tuple[str, ...] | None, ...] = ()
    error: str = ""


class Bindings:
    """The pyslurm child process, started at the second query: for a single query, its start costs too much.

    Args:
        commands: the cluster's commands, which report Slurm's version.
        python: the interpreter of the child process, which may have pyslurm.
    """

    def __init__(self, commands: SlurmCommands, python: str = sys.executable) -> None:
        self._commands = commands
        self._python = python
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._looks = 0
        # A process tries pyslurm once: a version that does not fit now does not fit later.
        self._given_up = python == sys.executable and importlib.util.find_spec(_MODULE) is None

    def living(self, ids: Sequence[str]) -> list[JobRecord] | None:
        """Return living jobs' records; None without an answer, or when a job has ended or is an array."""
        if self._given_up or len(ids) > _MOST or not all(job_id.isdecimal() for job_id in ids):
            return None
        with self._lock:
            self._looks += 1
            if self._looks < 2:
                return None
            try:
                return self._look(ids)
            except (OSError, WheslError, *UNDECODABLE):
                self._end()
                return None

    def _look(self, ids: Sequence[str]) -> list[JobRecord] | None:
        child = self._child or self._start()
        if child is None:
            return None
        assert child.stdin is not None
        child.stdin.write(" ".join(ids).encode() + b"\n")
        child.stdin.flush()
        answer = self._answer(child, _ANSWER)
        if answer.error or len(answer.rows) != len(ids):
            return None
        found = []
        for fields in answer.rows:
            if fields is None:
                return None
            found += slurm_command_output.jobs(
                "".join(f"{field}{slurm_command_output.SEPARATOR}" for field in fields)
            )
        return None if any(record.state.ended for record in found) else found

    def _start(self) -> subprocess.Popen[bytes] | None:
        child = subprocess.Popen(
            [self._python, "-m", "whesl.managers.resource.slurm.pyslurm_child"],
            env=self._commands.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._child = child
        made_for = self._answer(child, _START).version
        if made_for and release(made_for) == release(self._commands.run("sinfo", "--version")):
            return child
        self._end()
        return None

    @staticmethod
    def _answer(child: subprocess.Popen[bytes], patience: float) -> _Answer:
        """Return the child's next answer. Raises OSError without one, msgspec.DecodeError for garbage."""
        assert child.stdout is not None
        if not select.select([child.stdout], [], [], patience)[0]:
            raise TimeoutError
        line = child.stdout.readline()
        if not line:
            raise ConnectionResetError
        return msgspec.json.decode(line, type=_Answer)

    def _end(self) -> None:
        self._given_up = True
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    assert stream is not None
                    stream.close()
