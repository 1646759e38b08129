"""A task whose journal is damaged while its isolator is away: it runs on, once, and what was lost is said."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.alike import alike
from tests.journals import rebuild_task
from tests.runtime.isolator.bench import Bench, bench, exists, until
from tests.runtime.isolator.conftest import exception, make_setup
from tests.waiting import written
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.resume import unrecorded
from whesl.runtime.journal.records.isolator_records import AnyRecord

__all__ = ["bench"]

# The first run crashes; the second says who it is, and ends when it is told to.
APP = """\
echo "run $WHESL_RESTART_COUNT" >>runs
if [ "$WHESL_RESTART_COUNT" = 0 ]; then echo "An error occurred in MPI_Send"; sleep 60; fi
echo $$ >running
while [ ! -e end ]; do sleep 0.05; done
exit 7
"""


def _emptied(journal: Path) -> None:
    journal.write_bytes(b"")


def _removed(journal: Path) -> None:
    for path in journal.parent.glob("journal.db*"):
        path.unlink()


def _overwritten(journal: Path) -> None:
    for path in journal.parent.glob("journal.db*"):
        path.write_bytes(os.urandom(path.stat().st_size))


def _cut(journal: Path) -> None:
    """Cut file and log in their middle."""
    for path in (journal, journal.with_name("journal.db-wal")):
        if path.exists():
            os.truncate(path, path.stat().st_size // 2)


def _header(journal: Path) -> None:
    with journal.open("r+b") as file:
        file.write(bytes(100))


@pytest.mark.costly
@pytest.mark.parametrize("damage", alike([_overwritten, _removed, _emptied, _cut, _header], run=2))
def test_a_task_runs_on_when_its_journal_is_damaged(bench: Bench, damage: Callable[[Path], None]) -> None:
    keeper = bench.exec(*bench.script(APP), options=("-e", bench.rules(), "--name", "app"), stdout=-3)
    running = bench.place / "running"
    until(lambda: written(running) and "confirmed" in bench.kinds(), "the second run")
    program = int(running.read_text())
    isolator = bench.isolator()
    os.kill(keeper.pid, signal.SIGSTOP)
    os.kill(isolator, signal.SIGKILL)
    until(lambda: not exists(isolator), "the isolator's end")
    damage(bench.directory.journal)
    os.kill(keeper.pid, signal.SIGCONT)
    until(lambda: "launched" in bench.kinds() or "resumed-isolator" in bench.kinds(), "another isolator")
    assert exists(program)
    (bench.place / "end").touch()
    assert keeper.wait(120) == 7
    assert (bench.place / "runs").read_text().split("\n") == ["run 0", "run 1", ""]
    said = bench.directory.log.read_text()
    if damage is not _removed:
        asides = [str(path) for path in bench.directory.path.iterdir() if ".damaged-" in path.name]
        assert any(f"lies now at {aside}\n" in said for aside in asides)
        assert "journal-damaged" in bench.kinds()
    assert "Traceback" not in said


class TestUnrecorded:
    def test_a_whole_journal_lacks_nothing(self) -> None:
        state = rebuild_task(make_setup(), [("begun", {"claim": "c1"}, 1.0), (*_attempt(1), 2.0)])
        assert unrecorded(state, 1, "c1", ("n1",)) == []

    def test_nothing_is_there_at_the_beginning(self) -> None:
        assert unrecorded(rebuild_task(make_setup(), []), 0, "", ()) == []

    def test_a_new_claim_is_no_attempt_of_the_old_one(self) -> None:
        old = [("begun", {"claim": "c0"}, 1.0), (*_attempt(2), 2.0)]
        assert unrecorded(rebuild_task(make_setup(), old), 2, "c0", ("n1",)) == []

    def test_a_lost_journal_takes_the_newest_attempt_up(self) -> None:
        setup = make_setup(nodes=("n1", "n2"))
        state = rebuild_task(setup, [(*record, 1.0) for record in _lost(setup, 3, "c1", ("n2",))])
        assert (state.phase, state.attempt, state.claim) == (Phase.LAUNCHING, 3, "c1")
        assert (state.nodes.active, state.nodes.spares) == (("n2",), ("n1",))
        assert state.token.endswith(".3")

    def test_an_attempt_of_an_unknown_claim_is_not_counted_again(self) -> None:
        setup = make_setup()
        state = rebuild_task(setup, [(*record, 1.0) for record in _lost(setup, 3, "other", ("n1",))])
        assert (state.attempt, state.claim) == (3, "")  # another claim begins with attempt 4

    def test_a_recovery_whose_end_was_lost_ends_with_the_attempt(self) -> None:
        setup = make_setup(exception())
        raised = {
            "exception": "CRASH",
            "task": "wf/app",
            "ordinal": 1,
            "attempt": 1,
            "time": 2.0,
            "evidence": [],
        }
        records = [
            ("begun", {"claim": "c1"}, 1.0),
            (*_attempt(1), 1.0),
            ("raised", {"raised": raised}, 2.0),
            ("decided", {"action": "recover", "ordinal": 1}, 2.0),
        ]
        state = rebuild_task(setup, records)
        assert state.phase is Phase.FENCING
        lost = _told(unrecorded(state, 2, "c1", ("n1",)))
        again = rebuild_task(setup, [*records, *((*record, 3.0) for record in lost)])
        assert (again.phase, again.attempt, again.recovery) == (Phase.LAUNCHING, 2, None)
        assert [pending.ordinal for pending in again.pending] == [1]


def _attempt(number: int) -> tuple[str, dict[str, Any]]:
    return ("attempt", {"attempt": number, "token": f"t.{number}"})


def _lost(setup: Setup, newest: int, claim: str, nodes: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    return _told(unrecorded(rebuild_task(setup, []), newest, claim, nodes))


def _told(records: list[AnyRecord]) -> list[tuple[str, dict[str, Any]]]:
    return [(record.kind, msgspec.to_builtins(record)) for record in records]
