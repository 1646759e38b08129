"""An executor: it takes one task at a time from its box in a storage; ``whesl exec`` runs the task.

It ends when its time is over, when its job or instance is ended, or when its box says so. In a storage that
is a local directory tasks work in place; otherwise inputs are fetched and outputs are sent, with checksums.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

import msgspec

from whesl.cloud.runner import messages, workspace_archive
from whesl.cloud.runner.messages import Assignment, ExecutorReport
from whesl.cloud.runner.run_records import Made
from whesl.cloud.transfer.directory import DirectoryStore
from whesl.cloud.transfer.port import DamagedError, Store, checked, digest_of
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.command_call import end
from whesl.model.errors import CouldNotObserveError, WheslError

T = TypeVar("T")
PAUSE = 2.0  # seconds until a call to a storage that did not answer is repeated
SAID = 300  # characters of a failed task's last line that are reported
GRACE = 25.0  # seconds that a task has to end after SIGTERM


class Worker:
    """Runs one executor.

    Args:
        store: the domain's storage, as this host reaches it.
        executor: the executor's name.
        ends: end of the executor's time, seconds since the epoch.
        poll: seconds between two looks into the box.
        scratch: working directory of tasks where the storage is not a local directory.
        patience: seconds for which calls to a silent storage are repeated.
    """

    def __init__(
        self, store: Store, executor: str, *, ends: float, poll: float, scratch: Path, patience: float = 900.0
    ) -> None:
        self._store, self._executor, self._ends, self._poll = store, executor, ends, poll
        self._patience = patience
        self._here = isinstance(store, DirectoryStore)
        self._root = store.root if isinstance(store, DirectoryStore) else scratch
        self._number = 1
        self._over = False

    def run(self) -> None:
        """Run tasks until the executor's time is over."""
        signal.signal(signal.SIGTERM, self._told)
        self._say(
            ExecutorReport(executor=self._executor, number=0, time=time.time(), host=socket.gethostname())
        )
        while not self._over and time.time() < self._ends:
            assignment = self._next()
            if assignment is None:
                time.sleep(self._poll)
                continue
            self._number = assignment.number + 1
            self._say(self._perform(assignment))

    def _told(self, _number: int, _frame: FrameType | None) -> None:
        self._over = True

    def _next(self) -> Assignment | None:
        """Return the next assignment; None where there is none yet."""
        try:
            found = self._store.read_all(messages.box(self._executor))
        except CouldNotObserveError:
            time.sleep(PAUSE)
            return None
        if f"{messages.box(self._executor)}/{messages.STOP}" in found:
            self._over = True
            return None
        wanted = messages.message(self._executor, self._number)
        if wanted not in found:
            return None
        try:
            return msgspec.json.decode(found[wanted], type=Assignment)
        except UNDECODABLE:
            return None  # the assignment is not completely written yet

    def _perform(self, assignment: Assignment) -> ExecutorReport:
        """Run a task, and return the report of it."""
        status: int | None = 1
        why, began = "", time.time()
        outputs: tuple[Made, ...] = ()
        data = self._root / messages.DATA
        place = data / checked(assignment.directory) if assignment.directory else data
        try:
            place.mkdir(parents=True, exist_ok=True)
            for made in assignment.inputs:
                self._fetch(made, data)
            command = assignment.command
            if assignment.script:
                command = (*command, str(workspace_archive.write_script(assignment.script, data, place)))
            began = time.time()
            status = self._run(assignment, command, place)
            seconds = time.time() - began
            if status is None:
                why = "the executor's time was over"
            elif status:
                why = _last_line(self._kept(assignment) / "output")
            else:
                mark = f"{assignment.task}-{assignment.attempt}-{self._executor}"
                outputs = tuple(self._sent(name, data, mark) for name in assignment.outputs)
        except (WheslError, OSError, ValueError) as error:
            status, seconds, why = 1, time.time() - began, str(error)
        return ExecutorReport(
            executor=self._executor,
            number=assignment.number,
            time=time.time(),
            task=assignment.task,
            attempt=assignment.attempt,
            status=status,
            seconds=seconds,
            outputs=outputs,
            why=why,
        )

    def _fetch(self, made: Made, data: Path) -> None:
        path = data / checked(made.name)
        if self._here:
            if not path.is_file() or path.stat().st_size != made.digest.size:
                raise WheslError(f"the input {made.name} is not there, or has another size")
        elif not path.is_file() or digest_of(path) != made.digest:
            self._patiently(lambda: self._store.get(f"{messages.DATA}/{made.name}", path, made.digest))
        if workspace_archive.directory(made.name) is not None:
            workspace_archive.unpack(data, made.name)
        elif made.executable and not os.access(path, os.X_OK):
            path.chmod(0o700)

    def _sent(self, name: str, data: Path, mark: str) -> Made:
        path = data / checked(name)
        if workspace_archive.directory(name) is not None:
            workspace_archive.pack(data, name, mark)
        if not path.is_file():
            raise WheslError(f"the command has not written its output {name}")
        digest = digest_of(path)
        if not self._here:
            digest = self._patiently(lambda: self._store.put(path, f"{messages.DATA}/{name}"))
        return Made(name=name, digest=digest)

    def _run(self, assignment: Assignment, program: tuple[str, ...], place: Path) -> int | None:
        """Run the command; return its exit status, None when it was interrupted."""
        keep = self._kept(assignment)
        keep.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", "--quiet", "--no-summary"]
        for rules in assignment.rules:
            command += ["-e", rules]
        command += ["--workflow", assignment.workflow.replace("/", "-"), "--step", assignment.stage]
        command += ["--instance", assignment.task, "--workspace", str(place)]
        command += ["--task-dir", str(keep / "task"), "--", *program]
        environ = {**os.environ, "WHESL_HOME": str(self._root / "home")}
        with (keep / "output").open("ab") as output:
            process = subprocess.Popen(
                command, cwd=place, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            while process.poll() is None:
                if self._over or time.time() >= self._ends:
                    end(process, GRACE)
                    return None
                time.sleep(min(0.05, self._poll))
        return process.returncode if process.returncode >= 0 else 128 - process.returncode

    def _kept(self, assignment: Assignment) -> Path:
        return self._root / "tasks" / self._executor / f"{assignment.number:06}"

    def _say(self, said: ExecutorReport) -> None:
        content = msgspec.json.encode(said)
        self._patiently(lambda: self._store.write(messages.reply(self._executor, said.number), content))

    def _patiently(self, call: Callable[[], T]) -> T:
        """Return a call's result; repeat the call while the storage is silent, for ``patience`` seconds."""
        limit = time.time() + self._patience
        while True:
            try:
                return call()
            except (CouldNotObserveError, DamagedError):
                if time.time() >= limit:
                    raise
            time.sleep(min(PAUSE, 10 * self._poll))


def _last_line(path: Path) -> str:
    """Return the last non-empty line that a task has written, '' where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4 * SAID))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = (" ".join(line.split()) for line in reversed(lines))
    return next((line[-SAID:] for line in said if line), "")
