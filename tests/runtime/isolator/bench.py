"""One task of ``whesl exec`` with real processes on this machine: its directory, its files, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import commands, waiting
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.runtime.locking.takeover_lock import Owner

HEAD = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[ADD, REMOVE, REPLACE]

"""
CRASH = """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app]
EXCEPTION DETECTION CRASH LOG "An error occurred in MPI_" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
PATIENCE = 30.0


def until(condition: Callable[[], Any], what: str) -> Any:
    return waiting.until(condition, what, PATIENCE)


def exists(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def records(directory: TaskDir) -> list[tuple[str, dict[str, Any]]]:
    """Return what a task's journal holds; nothing while there is none that can be read."""
    try:
        with Journal(directory.journal, read_only=True) as journal:
            return [(record.kind, record.data) for record in journal.read()]
    except JournalError:
        return []


class Bench:
    """One task's directory, its files, and the processes that a test started.

    Attributes:
        forked: whether command and isolator are forks of this process, which have nothing to load; a test of
            how they load, or of what they hold, takes programs of their own.
    """

    forked = True

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = TaskDir(place / "task")
        self.started: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "WHESL_HOME": str(place / "home")}

    def rules(self, text: str = CRASH) -> str:
        path = self.place / "rules.esl"
        path.write_text(HEAD + text)
        return str(path)

    def script(self, text: str) -> list[str]:
        path = self.place / "app.sh"
        path.write_text(text)
        return ["bash", str(path)]

    def exec(self, *command: str, options: tuple[str, ...] = (), **settings: Any) -> subprocess.Popen[bytes]:
        words = ("exec", "--task-dir", str(self.directory.path), "--no-coordinator", *options, "--", *command)
        settings = {"env": self.environment, "cwd": self.place, "stdin": subprocess.DEVNULL, **settings}
        if self.forked:
            child = commands.begin(*words, **settings)
        else:
            child = subprocess.Popen([sys.executable, "-m", "whesl", *words], **settings)
        self.started.append(child)
        return child

    def run(
        self, *command: str, options: tuple[str, ...] = (), stdin: Any = subprocess.DEVNULL
    ) -> tuple[int, str, str]:
        """Run to the end with regular files for output, as a batch job has them."""
        out, err = self.place / "out", self.place / "err"
        with out.open("ab") as stdout, err.open("ab") as stderr:
            child = self.exec(*command, options=options, stdout=stdout, stderr=stderr, stdin=stdin)
            code = child.wait(PATIENCE)
        return code, out.read_text(), err.read_text()

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        return records(self.directory)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    def raised(self) -> list[dict[str, Any]]:
        return [data["raised"] for kind, data in self.records() if kind == "raised"]

    def isolator(self) -> int:
        def owner() -> int:
            found = self.directory.owner()
            return found.pid if isinstance(found, Owner) and exists(found.pid) else 0

        pid: int = until(owner, "an isolator that holds the lock")
        return pid


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for child in made.started:
        if child.poll() is None:
            child.kill()
            child.wait()
    owner = made.directory.owner()
    if owner is not None and owner.pid:
        os.kill(owner.pid, signal.SIGKILL)
    for kind, data in made.records():
        if kind == "launched" and exists(data["pid"]):
            os.killpg(data["pid"], signal.SIGKILL)


def stop_for(processes: list[psutil.Process], seconds: float) -> None:
    """Stop them one by one, and let them go on after so many seconds; some end by themselves."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    time.sleep(seconds)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()
        time.sleep(0.05)
