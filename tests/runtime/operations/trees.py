"""Trees of files for the file system's tests: built, replaced, killed, compared."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.runtime.operations.builders import TASK, context, step
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import Context, StepResult
from whesl.runtime.operations.recovery_step_execution import HostPorts, execute

# Every call by which the file work changes something.
CHANGING = (
    "open", "mkdir", "fchmod", "symlink", "link", "rename", "unlink", "mkfifo",
    "pwrite", "ftruncate", "utime", "fsync", "setxattr", "write",
)  # fmt: skip


class Bed:
    """An old root with a task's workspace ``w`` in it, a new root, and the task's directory."""

    def __init__(self, tmp: Path) -> None:
        self.old, self.new, self.state = tmp / "old", tmp / "new", tmp / "state"
        self.workspace = self.old / "w"
        self.workspace.mkdir(parents=True)
        self.new.mkdir()
        self.stopped = 0.0

    def file(self, name: str | bytes, content: bytes = b"data", *, age: float = 100.0) -> Path:
        """Write a file below the old root, last written ``age`` s before the attempt's end."""
        path = self.old / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (self.end - age, self.end - age))
        return path

    # Far ahead: when a file was really made (ctime), which nobody can set, is older than all of it.
    end = 4_000_000_000.0

    def context(self, **fields: Any) -> Context:
        task = {"task": TASK, "workspace": str(self.workspace), "attempt_ended": self.end}
        times = {"first_started": self.end - 1000, "attempt_started": self.end - 1000}
        return context(**{**task, **times, **fields})

    def step(self, *, given: Context | None = None, ordinal: int = 1, **arguments: Any) -> PlanStep:
        default = {"filesystem": str(self.new), "defaultpath": str(self.old)}
        return step(
            "FILESYSTEM.REPLACE", {**default, **arguments}, given=given, ordinal=ordinal, time=self.end
        )

    def replace(self, given: Context | None = None, **arguments: Any) -> StepResult:
        given = given if given is not None else self.context()
        return execute(self.step(given=given, **arguments), given, HostPorts(self.state))


def contents(root: Path) -> dict[bytes, bytes]:
    """Return what can be read below a root through all links, by relative name."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory, name)
            try:
                if stat.S_ISREG(path.stat().st_mode):
                    found[os.fsencode(path.relative_to(root))] = path.read_bytes()
            except OSError:
                continue  # a dangling link
    return found


def leftovers(*roots: Path) -> list[bytes]:
    """Return unfinished files of ours."""
    return [
        name
        for root in roots
        for _, _, names in os.walk(os.fsencode(root))
        for name in names
        if b".whesl-part" in name
    ]


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Do work in a child that is killed with SIGKILL at its n-th changing call (before it, or after).

    Returns whether it was killed: False when the work was over before.
    """
    pid = os.fork()
    if pid == 0:
        count = 0

        def tick() -> None:
            nonlocal count
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

        def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                tick()
                result = function(*args, **kwargs)
                tick()
                return result

            return call

        for name in CHANGING:
            setattr(os, name, wrap(getattr(os, name)))
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False
