"""A journal that cannot be made: the task is watched, recovered and ended all the same.

With a WHESL_HOME of 489 characters ``whesl exec`` never ended, nothing was judged, and no signal was heard.
"""

from __future__ import annotations

import signal

import pytest

from tests.isolator.bench import Bench, bench, until
from whesl.isolator.task.taskdir import TaskDir

__all__ = ["bench"]


@pytest.fixture
def far(bench: Bench) -> Bench:
    """A task whose journal's path is longer than SQLite takes."""
    place = bench.place
    while len(str(place)) < 520:
        place /= "d" * 60
    place.mkdir(parents=True)
    bench.directory = TaskDir(place / "task")
    return bench


def test_without_a_journal_a_task_recovers_and_ends_with_its_status(far: Bench) -> None:
    program = '[ "$WHESL_RESTART_COUNT" = 1 ] && exit 5\necho "An error occurred in MPI_Send"\nsleep 600\n'
    options = ("-e", far.rules())
    assert far.run(*far.script(program), options=options)[0] == 5
    assert "raised CRASH" in (far.directory.path / "summary").read_text()
    assert "kept in memory alone" in (far.directory.path / "log").read_text()


def test_without_a_journal_a_task_hears_signals(far: Bench) -> None:
    child = far.exec(*far.script("touch begun\nexec sleep 600\n"), options=("-e", far.rules()))
    until((far.place / "begun").exists, "the program")
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == -signal.SIGTERM
