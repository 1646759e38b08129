"""An attempt under its runner: its start, its discovery by a restarted isolator, and its exit status.

The runner is a process in a session of its own. It outlives the isolator and leaves the exit status in a
file, so a restarted isolator knows the exit status of a program that it did not start.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whesl.files import file_retry
from whesl.runtime.isolator.launch import program_runner, runner_start, signal_delivery
from whesl.runtime.isolator.launch.attempt_command import Launch
from whesl.runtime.isolator.observe import attempt_output_destination
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.locking import procfs
from whesl.runtime.node_agent.fencing import attempt_processes

if TYPE_CHECKING:
    from whesl.runtime.isolator.launch.runner_start import Spawn

UNKNOWN_EXIT = 137  # exit status of a command that was killed with its runner, as if by SIGKILL


class Attempt:
    """A running attempt on this machine.

    ``pidfd`` becomes readable when the runner ends; the runner may be another isolator's child.
    """

    def __init__(self, number: int, token: str, pid: int, status: Path) -> None:
        """Watch an attempt by its runner and its status file.

        Args:
            number, token: the attempt's number and token.
            pid: the process number of the attempt's runner, 0 when the runner is gone.
            status: the attempt's status file.
        """
        self.number = number
        self.token = token
        self.pid = pid
        self._status = status
        self._child: subprocess.Popen[bytes] | None = None
        process = attempt_processes.read(pid) if pid else None
        self.started = process.started if process else 0
        self.pidfd: int | None = None
        if process is not None:
            self.pidfd = procfs.pidfd(pid)

    @property
    def is_child(self) -> bool:
        """Whether this process has started the attempt."""
        return self._child is not None

    @property
    def running(self) -> bool:
        """Whether the runner lives."""
        if self._child is not None:
            return self._child.poll() is None
        return self.started != 0 and attempt_processes.alive(self.pid, self.started)

    def exit_code(self) -> int:
        """Return the task's exit status as a shell gives it, once the runner is gone.

        Raises OSError when the status file cannot be read, so that the status is unknown.
        """
        written = taskdir.read_status(self._status)
        if written is not None:
            return written
        if self._child is not None and self._child.returncode is not None:
            code = self._child.returncode
            return 128 - code if code < 0 else code
        return UNKNOWN_EXIT

    def settle(self, limit: float) -> None:
        """Wait until the runner has become the task's command, or has ended, at most ``limit`` seconds.

        A signal sent before that would reach no process, or a shell that has not set its traps yet.
        """
        deadline = time.monotonic() + limit
        program = signal_delivery.Program(self.pid)
        while self.running and not program.main() and time.monotonic() < deadline:
            time.sleep(0.002)

    def close(self) -> None:
        """Close the runner's descriptor."""
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    @classmethod
    def start(
        cls, job: Job, directory: TaskDir, number: int, token: str, launch: Launch, spawn: Spawn
    ) -> Attempt:
        """Start the task's command under a runner.

        Args:
            job: the task.
            directory: the task's directory.
            number, token: the attempt's number and token.
            launch: command, environment and working directory.
            spawn: starts the runner's process.

        Raises OSError when a file cannot be opened or the working directory does not exist.
        """
        place = directory.attempt(number)
        status = directory.status(number)
        file_retry.replace(place / "claim", job.setup.claim.encode())
        file_retry.replace(status, program_runner.STATUS_PENDING)
        outputs = attempt_output_destination.present(directory, job, number)
        if launch.script is not None:
            file_retry.replace(str(place / "script"), launch.script, mode=0o700)
        child = runner_start.start(
            launch.command,
            status=str(status),
            stdin=job.stdin,
            stdin_offset=job.stdin_offset,
            stdout=outputs.stdout,
            stderr=outputs.stderr,
            workdir=launch.workdir,
            environment=launch.environment,
            descriptors=job.descriptors,
            spawn=spawn,
        )
        attempt = cls(number, token, child.pid, status)
        attempt._child = child
        return attempt

    @classmethod
    def find(cls, directory: TaskDir, number: int, token: str) -> Attempt | None:
        """Return an attempt that an earlier isolator started, None when no trace of it is found.

        An attempt that has ended meanwhile is found by its status file, a running one by its processes'
        token, so nothing has to be written between the start and its record.

        Args:
            directory: the task's directory.
            number, token: the attempt's number and token.

        Raises OSError when the search for traces failed.
        """
        status = directory.status(number)
        found = attempt_processes.of_attempt(token)
        # The runner is the oldest of the attempt's session leaders; daemons lead sessions as well.
        leaders = (process for process in found if process.pid == process.session)
        leader = min(leaders, key=lambda process: (process.started, process.pid), default=None)
        if leader is not None and taskdir.read_status(status) is None:
            return cls(number, token, leader.pid, status)
        content = file_retry.content(status)
        if found or content not in (None, program_runner.STATUS_PENDING):
            return cls(number, token, 0, status)
        return None
