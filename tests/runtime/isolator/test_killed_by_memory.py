"""The kernel kills the isolator alone, for its cgroup's memory: the task goes on, and its own end counts."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import PATIENCE, Bench, bench, exists, until

__all__ = ["bench"]

pytestmark = pytest.mark.slow

_CGROUPS = Path("/sys/fs/cgroup")
# Less than an isolator needs, and enough for it to be larger than its keeper, whose memory counts elsewhere.
_LIMIT = 12 << 20


class MemoryCgroup:
    """A cgroup with a limit of memory, of version 1 or 2."""

    def __init__(self) -> None:
        self._old = (_CGROUPS / "memory" / "memory.limit_in_bytes").exists()
        self.path = (_CGROUPS / "memory" if self._old else _CGROUPS) / f"whesl-test-{os.getpid()}"
        self.path.mkdir()

    def limit(self, size: int) -> None:
        (self.path / ("memory.limit_in_bytes" if self._old else "memory.max")).write_text(str(size))

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def killed(self) -> int:
        """Return how many processes the kernel has killed here."""
        text = (self.path / ("memory.oom_control" if self._old else "memory.events")).read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))

    def close(self) -> None:
        for line in (self.path / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (self.path.parent / "cgroup.procs").write_text(line)
        self.path.rmdir()


@pytest.fixture
def cgroup() -> Iterator[MemoryCgroup]:
    try:
        made = MemoryCgroup()
        made.killed()
    except (OSError, StopIteration) as error:
        pytest.skip(f"no cgroup with a limit of memory can be made: {error}")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("relieved", [True, False], ids=["for a while", "to the end"])
def test_the_task_ends_as_it_ended_itself(bench: Bench, cgroup: MemoryCgroup, relieved: bool) -> None:
    bench.forked = False
    command = bench.script("echo start; until [ -e go ]; do sleep 0.05; done; echo end; exit 6\n")
    out, err = bench.place / "out", bench.place / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        child = bench.exec(*command, stdout=stdout, stderr=stderr)
        until(lambda: "start" in out.read_text(), "the task's start")
        first = bench.isolator()
        cgroup.limit(_LIMIT)
        cgroup.add(child.pid)
        os.kill(first, signal.SIGKILL)
        until(lambda: cgroup.killed() >= 2, "two isolators that the kernel killed")
        assert child.poll() is None
        if relieved:
            cgroup.limit(1 << 30)
            until(lambda: bench.isolator() != first, "an isolator that lives")
        (bench.place / "go").touch()
        assert child.wait(2 * PATIENCE) == 6
    assert out.read_text() == "start\nend\n"
    assert not exists(first)
    assert ("status 6, which no rule has judged" in err.read_text()) is not relieved
