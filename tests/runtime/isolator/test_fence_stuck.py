"""A process that waits inside the kernel (state D) cannot be killed: nothing starts beside it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import Bench, bench, records, until

__all__ = ["bench"]  # a fixture

pytestmark = pytest.mark.slow

# Of version 1: what is frozen is in state D, and dies of SIGKILL only when thawed (freezer-subsystem.txt).
FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def group() -> Iterator[Path]:
    made = FREEZER / f"whesl-test-{secrets.token_hex(4)}"
    try:
        made.mkdir()
    except OSError:
        pytest.skip("no freezer of control groups, version 1, for this user")
    yield made
    (made / "freezer.state").write_text("THAWED")
    until(lambda: not (made / "cgroup.procs").read_text(), "the end of what was frozen")
    made.rmdir()


def test_nothing_starts_beside_what_cannot_be_killed(bench: Bench, group: Path) -> None:
    pid_file = bench.place / "pid"
    command = bench.script(
        f"""\
        if [ "$WHESL_RESTART_COUNT" = 0 ]; then
          sleep 300 & echo $! > {pid_file}
          until [ -e {bench.place}/frozen ]; do sleep 0.02; done
          echo "An error occurred in MPI_Send"; sleep 300
        fi
        echo again
        """
    )
    child = bench.exec(*command, options=("-e", bench.rules()), stdout=(bench.place / "out").open("wb"))
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text().strip(), "the program"))
    (group / "cgroup.procs").write_text(str(pid))
    (group / "freezer.state").write_text("FROZEN")
    until(lambda: (group / "freezer.state").read_text() == "FROZEN\n", "that it is frozen")
    (bench.place / "frozen").touch()
    until(lambda: "unfenced" in [kind for kind, _ in records(bench.directory)], "that it is not ended")
    assert b"again" not in (bench.place / "out").read_bytes()
    os.kill(pid, 0)
    reason = next(data["reason"] for kind, data in records(bench.directory) if kind == "unfenced")
    assert f"sleep ({pid})" in reason
    (group / "freezer.state").write_text("THAWED")
    assert child.wait(60) == 0
    assert (bench.place / "out").read_bytes().endswith(b"again\n")
