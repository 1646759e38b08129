"""What is read from journals for the report: either daemon's, moved, damaged, and of wrong clocks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.journals import of_daemon, of_task
from tests.report.records import (
    RECOVERED,
    TASK,
    WORKFLOW,
    home,
    told,
)
from whesl.cli.inspect.report import report as command
from whesl.cli.inspect.watch import Watcher
from whesl.report.collection import gather
from whesl.report.report_builder import summarise
from whesl.runtime.journal.records.isolator_records import Finished
from whesl.runtime.journal.store import Journal


def test_a_record_that_is_not_understood_is_named_and_the_others_tell_their_story(tmp_path: Path) -> None:
    made = home(tmp_path, coordinator=False)
    path = made / "tasks" / "w" / "run_N.1" / "journal.db"
    path.unlink()
    with Journal(path) as journal:
        journal.append("attempt", {"kind": "attempt", "attempt": "first"}, 1.0)
        journal.append("finished", {"kind": "finished", "state": "gompleted"}, 2.0)
        journal.append("finished", of_task("finished", {"state": "completed"}), 3.0)
    report = summarise(gather(made, "w"))
    assert report.tasks[0].state == "completed"
    assert [line.partition(" (")[0] for line in report.damaged] == [
        f"{path}: record 1, of kind attempt, is not understood",
        f"{path}: record 2, of kind finished, is not understood",
    ]


@pytest.mark.parametrize("coordinator", [True, False])
def test_the_same_from_either_journal(tmp_path: Path, coordinator: bool) -> None:
    result = summarise(gather(home(tmp_path, coordinator=coordinator), "w"))
    assert result == summarise(told(RECOVERED))


def test_records_that_were_moved_out_of_the_journal_are_told_too(tmp_path: Path) -> None:
    """And when they are damaged, what came after them is told, and the report says so."""
    made = home(tmp_path, coordinator=True)
    with Journal(made / "coordinator" / "journal.db") as journal:
        journal.put_away(journal.last - 4)
        assert journal.forget(1000)
    assert summarise(gather(made, "w")) == summarise(told(RECOVERED))
    (old,) = (made / "coordinator").glob("history-*")
    old.write_bytes(old.read_bytes()[:-12])
    found = gather(made, "w")
    assert len(found.damaged) == 1 and str(old) in found.damaged[0]
    assert {item.record.kind for item in found.happenings} >= {kind for kind, _, _ in RECOVERED[-2:]}


def test_what_a_coordinator_missed_is_read_from_the_isolator(tmp_path: Path) -> None:
    made = home(tmp_path, coordinator=False)
    (made / "coordinator").mkdir()
    with Journal(made / "coordinator" / "journal.db") as journal:
        for kind, time, data in RECOVERED[:3]:
            relayed = of_daemon("report", {"task": TASK, "kind": kind, "time": time, "data": data})
            journal.append("report", relayed, time)
    assert summarise(gather(made, "w")) == summarise(told(RECOVERED))


def test_the_command(tmp_path: Path) -> None:
    environment = {**os.environ, "WHESL_HOME": str(home(tmp_path, coordinator=True))}
    run = CliRunner().invoke(command, ["--json"], env=environment, catch_exceptions=False)
    assert json.loads(run.output)["exceptions"][0]["line"].startswith("An error in MPI_Send")
    run = CliRunner().invoke(command, ["w", "--markdown", "-"], env=environment, catch_exceptions=False)
    assert "1 of 2 tasks completed" in run.output
    assert "n05 takes its place" in run.output
    run = CliRunner().invoke(command, ["w"], env=environment, catch_exceptions=False)
    assert "[red]x[/red]" in run.output, "a log line is data, never markup"


def test_lines_of_a_running_workflow(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path, WORKFLOW.id)
    assert watcher.look() == [], "no coordinator yet"
    home(tmp_path, coordinator=True)
    lines = [text.split(" ", 1)[1] for text in watcher.look()]
    assert lines == [
        "run_N.1: runs",
        "run_N.1: raised CRASH: An error in MPI_Send [red]x[/red]",
        "run_N.1: step 1 done: n05 takes its place",
        "run_N.1: runs again (attempt 2)",
        "run_N.1: restarted in 2.00 s",
        "run_N.1: recovered from CRASH: the task completed",
        "run_N.1: completed",
    ]
    assert watcher.look() == []
    assert watcher.settled()


@pytest.mark.parametrize("skew", [-4000.0, 4000.0])
def test_a_task_on_a_host_with_a_wrong_clock_stands_where_the_coordinator_saw_it(
    tmp_path: Path, skew: float
) -> None:
    made = home(tmp_path, coordinator=False)
    directory = made / "tasks" / "w" / "run_N.1"
    (directory / "journal.db").unlink()
    claim = ""
    with Journal(directory / "journal.db") as journal:
        for kind, time, data in RECOVERED:
            claim = claim or str(data.get("claim", ""))
            journal.append(kind, of_task(kind, data), time + skew)
    (made / "coordinator").mkdir()
    with Journal(made / "coordinator" / "journal.db") as journal:
        clock = of_daemon("clock", {"task": TASK, "claim": claim, "behind": -skew})
        journal.append("clock", clock, RECOVERED[1][1])
    right, found = summarise(told(RECOVERED)), summarise(gather(made, "w"))
    assert found.tasks == right.tasks
    assert [row.time for row in found.exceptions] == [row.time for row in right.exceptions]


def test_a_run_that_was_put_aside_comes_before_the_one_that_replaced_it(tmp_path: Path) -> None:
    """Its last word is not the task's."""
    made = home(tmp_path, coordinator=False)
    present = made / "tasks" / "w" / "run_N.1"
    for number in (1, 2, 10):
        aside = present.with_name(f"run_N.1.{number}")
        aside.mkdir()
        (aside / "job.json").write_bytes((present / "job.json").read_bytes())
        with Journal(aside / "journal.db") as journal:
            cancelled = of_task("finished", code=143, state="cancelled", reason=f"run {number}")
            journal.append("finished", cancelled, 0.1 * number)
    found = gather(made, "w")
    ends = [item.record.reason for item in found.happenings if isinstance(item.record, Finished)]
    assert ends[:3] == ["run 1", "run 2", "run 10"]
    (task,) = [task for task in summarise(found).tasks if task.task == TASK]
    assert task.state == summarise(told(RECOVERED)).tasks[0].state != "cancelled"


def test_a_clock_that_was_set_back_does_not_change_the_order_of_what_a_daemon_wrote(tmp_path: Path) -> None:
    made = home(tmp_path, coordinator=False)
    directory = made / "tasks" / "w" / "run_N.1"
    (directory / "journal.db").unlink()
    with Journal(directory / "journal.db") as journal:
        for number, (kind, time, data) in enumerate(RECOVERED):
            journal.append(kind, of_task(kind, data), time if number < 4 else time - 5000.0)
    assert [item.record.kind for item in gather(made, "w").happenings] == [kind for kind, _, _ in RECOVERED]
