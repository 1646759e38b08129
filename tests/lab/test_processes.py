"""Processes that compute for the lab: none is left when the first one has ended, however it ended.

`whesl lab cloud` and `whesl lab reproduce`, ended by SIGTERM or SIGKILL, had left their workers running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import whesl
from tests.processes import below, lives
from tests.waiting import until
from whesl.lab.execution import worker_processes
from whesl.model.errors import WheslError

PACKAGE = Path(whesl.__file__).parent
PROGRAM = """\
import sys, time
from pathlib import Path
from whesl.lab.execution import worker_processes as processes

def wait(number):
    Path(sys.argv[1], str(number)).touch()
    time.sleep(1000)

if __name__ == "__main__":
    with processes.pool(2) as pool:
        list(pool.map(wait, range(4)))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_first_process(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of what they compute; and what had not begun does not begin any more."""
    program, marks = tmp_path / "program.py", tmp_path / "marks"
    program.write_text(PROGRAM)
    marks.mkdir()
    process = subprocess.Popen([sys.executable, str(program), str(marks)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(list(marks.iterdir())) == 2, "both compute", 60)
        children = below(process.pid)
        assert len([one for one in children if lives(one)]) >= 2
        process.send_signal(number)
        until(lambda: not any(map(lives, children)), "no child", 60)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert sorted(path.name for path in marks.iterdir()) == ["0", "1"]


def test_a_worker_that_is_killed_is_told_with_what_to_do() -> None:
    with (
        pytest.raises(WheslError, match="a process of the computation was killed") as caught,
        worker_processes.pool(1, hint="fewer --jobs") as pool,
    ):
        pool.submit(os.kill, pool.submit(os.getpid).result(), signal.SIGKILL).result()
    assert caught.value.hint == "fewer --jobs"


def test_nothing_else_starts_processes_to_compute() -> None:
    others = [path.name for path in PACKAGE.rglob("*.py") if "ProcessPoolExecutor(" in path.read_text()]
    assert others == ["worker_processes.py"]
