"""The workflows of a home, the newest first: name, when, tasks, state, and the command that reports each."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.model.states import TaskState
from whesl.model.workflow import Workflow
from whesl.report.collection import gather, without_coordinator
from whesl.report.directories import TaskDirectory, task_directories
from whesl.report.exec_groups import grouped
from whesl.report.overview import Overview, overview
from whesl.report.report_builder import summarise
from whesl.report.report_records import ALONE, Group
from whesl.report.text_report import count, stamp
from whesl.runtime.coordinator.client.journal_state import known_state

_DAY = 86400.0  # seconds
_ENDED_WELL = frozenset({TaskState.COMPLETED, TaskState.SKIPPED})


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow, or one group of commands without a workflow. ``began`` is seconds since the epoch."""

    name: str
    began: float
    tasks: int
    state: str
    command: str


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow with the facts that are quickly read. ``runs``: its tasks' directories."""

    name: str
    began: float
    states: list[TaskState] = []
    runs: list[TaskDirectory] = []
    command: str = ""

    def listed(self) -> Listed:
        """Return the workflow with its state, which is read from the files of its tasks."""
        states = self.states or list({run.task.id: run.state() for run in self.runs}.values())
        return Listed(
            name=self.name,
            began=self.began,
            tasks=len(states),
            state=summed_up(states),
            command=self.command or shlex.join(["whesl", "report", self.name]),
        )


def workflows(home: Path, commands: list[TaskDirectory]) -> list[Ran]:
    """Return the workflows and groups of commands of a home, the newest first.

    Args:
        home: the WHESL home.
        commands: the task directories of commands without a workflow, from ``task_directories``.
    """
    known = known_state(home).state
    began = {name: entry.time for name, entry in known.workflows.items()}
    states: dict[str, list[TaskState]] = {name: [] for name in began}
    for task in known.tasks.values():
        states.setdefault(task.workflow, []).append(task.state)
        began.setdefault(task.workflow, task.state_time)
    if commands:
        states.pop(ALONE, None)
    for path in file_retry.entries(places.workflows(home), "*/workflow.json"):
        if path.parent.name not in states:  # the coordinator's journal with this workflow is missing
            with contextlib.suppress(OSError, *UNDECODABLE):
                tasks = msgspec.json.decode(path.read_bytes(), type=Workflow).tasks
                states[path.parent.name] = [TaskState.REGISTERED] * len(tasks)
                began[path.parent.name] = path.stat().st_mtime
    found = [Ran(name=name, began=began[name], states=of) for name, of in states.items()]
    for name in without_coordinator(home, {*states, ALONE}):
        runs = task_directories(home, name)
        found.append(Ran(name=name, began=max(run.began for run in runs), runs=runs))
    for group, runs in grouped(commands).items():
        newest = max(run.began for run in runs)
        found.append(Ran(name=named(group), began=newest, runs=runs, command=group.command))
    return sorted(found, key=lambda ran: -ran.began)


def overview_of(home: Path, days: int, *, queue_wait: float | None, poll: float) -> Overview:
    """Sum up the events of all workflows, and commands without a workflow, in the last ``days`` days.

    Args:
        home: the WHESL home.
        days: the number of days.
        queue_wait, poll: as for ``summarise``, seconds.
    """
    until = time.time()
    since = until - days * _DAY
    reports = []
    for name in sorted({ran.name for ran in workflows(home, [])} | {ALONE}):
        with contextlib.suppress(UsageError):  # the workflow has no event in these days
            gathered = gather(home, name, lambda item: item.written() >= since)
            reports.append(summarise(gathered, queue_wait=queue_wait, poll_interval=poll))
    return overview(reports, since, until)


def named(group: Group) -> str:
    """Return the name of a group of commands without a workflow in the list."""
    return f"{ALONE}: {group}"


def summed_up(states: Iterable[TaskState]) -> str:
    """Return the state of many tasks in a few words: ``completed``, ``2 failed, 1 running``."""
    counts = Counter("completed" if state in _ENDED_WELL else state.value for state in states)
    if len(counts) == 1:
        return next(iter(counts))
    others = {state: number for state, number in counts.items() if state != "completed"}
    return ", ".join(f"{number} {state}" for state, number in sorted(others.items())) or "no tasks"


def lines(found: Iterable[Listed]) -> list[str]:
    """Return two lines for each workflow: its facts, and the command that reports it."""
    return [
        line
        for item in found
        for line in (
            f"{item.name}: {stamp(item.began)}, {count(item.tasks, 'task')}, {item.state}",
            f"  {item.command}",
        )
    ]
