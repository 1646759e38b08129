"""What ``whesl events`` prints for people, and how workflows are named to it and to other commands."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len
from rich.console import Console

from tests.cli.test_watch import append, begun, finished
from whesl.cli.group import cli
from whesl.cli.inspect import status
from whesl.model.errors import UsageError
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.json_views import status_view
from whesl.runtime.journal.store import Journal


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=True)


@pytest.fixture(autouse=True)
def private(whesl_home: Path) -> None:
    whesl_home.mkdir(mode=0o700)


@pytest.fixture
def journal(whesl_home: Path) -> Journal:
    (whesl_home / "coordinator").mkdir(parents=True)
    return Journal(whesl_home / "coordinator" / "journal.db")


def known(home: Path, *names: str) -> None:
    """Leave the records of runs without a coordinator behind."""
    for name in names:
        append(opened := Journal(home / "coordinator" / "journal.db"), begun(1, name))
        append(opened, finished(f"{name}/solve_CASE.0", "completed", time.time()))
        opened.close()


def test_times_and_durations_are_said_as_people_say_them(journal: Journal) -> None:
    content = {
        "task": "w/a",
        "ordinal": 1,
        "raised": 1_700_000_000.25,
        "seconds": 0.027700564001861494,
        "backoff": 10.0,
        "nodes": {"active": ["n01", "n02"], "spares": [], "lost": [], "swapped": {}},
        "ran": {"rules": []},
        "job": {"a": False, "b": None},
        "token": "36fa1db96ca5cbe1de1c9175350e731a.1",
    }
    with journal:
        journal.append("step-done", content, 1_700_000_000.0)
    line = call("events").output
    clock = time.strftime("%H:%M:%S", time.localtime(1_700_000_000.25))
    assert f"ordinal=1 raised={clock} seconds=0.028 backoff=10 nodes=(active=n01,n02)\n" in line
    assert not re.search(r"[{}\[\]']|ran=|job=|token", line)
    assert "36fa1db96ca5cbe1de1c9175350e731a.1" in call("events", "--json").output


def test_an_unknown_workflow_is_no_empty_answer(whesl_home: Path, journal: Journal) -> None:
    journal.close()
    known(whesl_home, "study_1", "study_2")
    events = call("events", "--workflow", "nothere")
    assert (events.exit_code, events.stdout) == (0, "")
    assert "no event of a workflow called nothere" in events.stderr
    assert "registered" in call("events", "--workflow", "study_1").stdout

    found = call("status", "nothere").exception
    assert isinstance(found, UsageError) and found.hint == "known are: study_1, study_2"
    assert "study_1" in call("status", "study_1").stdout


def test_a_report_takes_the_beginning_of_a_name(whesl_home: Path) -> None:
    for name in ("study_1", "study_2", "other_1"):
        for task in ("a", "b"):
            directory = whesl_home / "tasks" / name / task
            directory.mkdir(parents=True)
            (directory / "job.json").write_text("{}")
    assert call("report", "other").exit_code == call("report", "other_1").exit_code
    found = call("report", "study").exception
    assert isinstance(found, UsageError)
    assert str(found).startswith("'study' fits 2 workflows") and "study_1, study_2" in str(found)
    nowhere = call("report", "nothere").exception
    assert isinstance(nowhere, UsageError) and "there is no workflow 'nothere'" in str(nowhere)


def test_names_of_tasks_are_whole_in_a_narrow_terminal(whesl_home: Path, journal: Journal) -> None:
    content = begun(2, "a_study_of_a_long_name_20261122-090616")
    with journal:
        append(journal, content)
    output = io.StringIO()
    console = Console(width=44, file=output, force_terminal=True, color_system=None)
    console.print(status.picture(status_view(known_state(whesl_home).state, "")))
    shown = output.getvalue()
    assert max(map(cell_len, shown.splitlines())) <= 44
    assert "…" not in shown, "a name is cut"
    assert "reason" not in shown and "last exception" not in shown, "nothing stands in them"
