"""All commands that were ever wrapped were one report of no end: now grouped, and the newest is shown."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.journals import of_task
from whesl.cli.inspect.report import report as command
from whesl.model.workflow import Task, Workflow
from whesl.report.directories import task_directories
from whesl.report.exec_groups import Wanted, grouped
from whesl.report.report_records import ALONE, Group
from whesl.runtime.isolator.launch import setup_json
from whesl.runtime.journal.store import Journal

DAY = 86400.0
NOON = time.mktime((2026, 11, 20, 12, 0, 0, 0, 0, -1))


def ran(home: Path, name: str, when: float, directory: str, job: str = "", state: str = "completed") -> None:
    """Leave what a command leaves that ran for a second."""
    place = home / "tasks" / ALONE / name
    place.mkdir(parents=True)
    task = {"id": f"{ALONE}/{name}", "step": name, "workspace": directory}
    setup = {"task": task, "job_id": job, "claim": f"{name}.0"}
    (place / "job.json").write_text(json.dumps({"setup": setup}))
    code = 0 if state == "completed" else 1
    result = {"code": code, "state": state, "reason": "", "claim": f"{name}.0"}
    (place / "result.json").write_text(json.dumps(result))
    with Journal(place / "journal.db") as journal:
        journal.append("begun", of_task("begun", claim=f"{name}.0", job_id=job), when)
        journal.append("launched", of_task("launched", attempt=1), when)
        journal.append("finished", of_task("finished", code=code, state=state), when + 1)
    os.utime(place / "job.json", (when, when))


@pytest.fixture
def home(whesl_home: Path) -> Path:
    whesl_home.mkdir(mode=0o700)
    ran(whesl_home, "old", NOON - 3 * DAY, "/a")
    for number in range(3):
        ran(whesl_home, f"mine{number}", NOON + number, "/a", job="17")
    ran(whesl_home, "single1", NOON + 10, "/b", job="18")
    ran(whesl_home, "single2", NOON + 20, "/b", job="19", state="failed")
    return whesl_home


def call(*words: str) -> Result:
    return CliRunner().invoke(command, words)


def test_commands_of_one_name_are_runs_of_their_own(home: Path) -> None:
    """The runs of a command of each night were one task, as long as from the first night to the last."""
    for number, state in enumerate(("failed", "completed")):
        ran(home, f"nightly.{number}", NOON + number * DAY, "/c", state=state)
        setup = home / "tasks" / ALONE / f"nightly.{number}" / "job.json"
        setup.write_text(setup.read_text().replace(f"{ALONE}/nightly.{number}", f"{ALONE}/nightly"))
    tasks = {
        row["task"]: row["state"]
        for row in json.loads(call(ALONE, "--directory", "/c", "--json").output)["tasks"]
    }
    assert tasks == {f"{ALONE}/nightly.0": "failed", f"{ALONE}/nightly.1": "completed"}


def test_the_workflow_without_a_name_is_called_the_same_everywhere() -> None:
    assert ALONE == setup_json.WITHOUT_WORKFLOW


def test_commands_are_grouped_by_day_job_and_directory(home: Path) -> None:
    groups = grouped(task_directories(home, ALONE))
    assert {str(group): len(members) for group, members in groups.items()} == {
        "2026-11-20, /b": 2,
        "2026-11-20, job 17, /a": 3,
        "2026-11-17, /a": 1,
    }
    assert next(iter(groups)) == Group("2026-11-20", "/b"), "the newest first"
    for group, members in groups.items():
        wanted = Wanted(day=group.day, directory=group.directory, job=group.job)
        assert [item for item in task_directories(home, ALONE) if wanted.has(item)] == sorted(
            members, key=lambda item: item.path.name
        )


def test_the_newest_group_is_shown_and_the_others_are_named(home: Path) -> None:
    done = call()
    assert done.exit_code == 0, done.output
    shown, _, others = done.output.partition("Before:")
    assert "single1" in shown and "single2" in shown and "mine" not in shown and "old" not in shown
    assert "exec: 1 of 2 tasks completed, 1 failed" in shown
    assert "exec: 2026-11-20, job 17, /a" in others and "3 tasks, completed" in others
    for line in others.splitlines():
        if line.startswith("  whesl report"):
            assert call(*line.split()[2:]).exit_code == 0


def test_all_commands_in_their_groups(home: Path) -> None:
    text = call("exec").output
    titles = ["2026-11-20, /b", "2026-11-20, job 17, /a", "2026-11-17, /a"]
    assert [line for line in text.splitlines() if line in titles] == titles
    for form in ("--html", "--markdown"):
        page = call("exec", form, "-").output
        assert [page.index(title) for title in titles] == sorted(page.index(title) for title in titles)
    complete = json.loads(call("exec", "--json").output)
    assert len(complete["tasks"]) == 6
    assert complete["tasks"][0]["group"] == {"day": "2026-11-20", "directory": "/a", "job": "17"}


def test_what_is_wanted_of_them(home: Path) -> None:
    def names(*words: str) -> list[str]:
        done = call(*words, "--json")
        assert done.exit_code == 0, done.output
        return [task["task"].partition("/")[2] for task in json.loads(done.output)["tasks"]]

    assert names("exec", "--job", "17") == ["mine0", "mine1", "mine2"]
    assert names("--directory", "/a") == ["mine0", "mine1", "mine2", "old"]
    assert names("--day", "2026-11-17") == ["old"]
    assert "no command fits" in str(call("--day", "2026-11-18").exception)
    assert "does not match the format" in call("--day", "18.11.2026").output
    assert "--day" in str(call("study", "--day", "2026-11-18").exception)


def test_workflows_are_listed_the_newest_first(home: Path) -> None:
    (home / "workflows/study").mkdir(parents=True)
    tasks = tuple(Task(id=f"study/run_{number}", step="run") for number in range(2))
    workflow = Workflow(id="study", name="study", wms="maestro", root="/s", tasks=tasks)
    file = home / "workflows/study/workflow.json"
    file.write_bytes(msgspec.json.encode(workflow))
    os.utime(file, (NOON + DAY, NOON + DAY))
    listed = json.loads(call("--list", "--json").output)
    assert [(item["name"].partition(":")[0], item["tasks"]) for item in listed] == [
        ("study", 2),
        ("exec", 2),
        ("exec", 3),
        ("exec", 1),
    ]
    assert [item["state"] for item in listed] == ["registered", "1 failed", "completed", "completed"]
    shown, _, others = call().output.partition("Before:")
    assert shown.startswith("study: 0 of 2 tasks completed")
    assert "whesl report study" not in others and "--job 17" in others


def test_many_are_counted_and_not_named(home: Path) -> None:
    for number in range(20):
        ran(home, f"more{number}", NOON - (number + 10) * DAY, "/c")
    assert "and 12 more: whesl report --list" in call().output
    assert len(json.loads(call("--list", "--json").output)) == 23


def test_nothing_ran_yet(whesl_home: Path) -> None:
    assert "nothing was run yet" in call("--list").output
