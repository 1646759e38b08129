"""``whesl status --watch``: follows the coordinator's journal as it grows."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.live import Live

from whesl.cli.broken_pipe import Screen
from whesl.model import home as places
from whesl.model.printable import visible
from whesl.model.states import TaskState
from whesl.report import progress_lines, terminal_view
from whesl.report.collection import Happening, happening
from whesl.runtime.coordinator.client.journal_state import Known
from whesl.runtime.coordinator.core import journal_replay
from whesl.runtime.coordinator.core.changes.apply_record import RecordError, apply
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.coordinator.json_views import status_view, task_view
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

_TURN = 0.5
_KEPT = 20
# Last records that are searched at the start for lines to show; most records have no line for people.
_BACK = 2000
# Seconds between two repaints without a change, which update the times on the screen.
_REPAINT = 1.0


class Watcher:
    """The coordinator's state and the latest lines on events, kept up to date by ``look``.

    Args:
        home: the WHESL home.
        workflow: the id of the only workflow to watch, '' for all.
        known: the state that was read a moment ago; None for none.
    """

    def __init__(self, home: Path, workflow: str, known: Known | None = None) -> None:
        self.state = State() if known is None else known.state
        self.said: deque[str] = deque(maxlen=_KEPT)
        self._damage = "" if known is None else known.damage
        self._home = home
        self._workflow = workflow
        self._seen = 0 if known is None else known.seq
        self._viewed: State | None = None
        self._view: dict[str, Any] = {}
        self._shown: dict[str, TaskEntry] = {}
        if self._seen:
            self._look_back()

    def look(self) -> list[str]:
        """Read the records written since the last call; return their lines for people."""
        lines: list[str] = []
        try:
            with Journal(places.coordinator_journal(self._home), read_only=True) as journal:
                for record in journal.read(self._seen):
                    self._seen = record.seq
                    try:
                        found = journal_replay.read(record)
                        self.state = apply(self.state, found, record.time)
                    except RecordError as error:
                        lines.append(visible(f"not read: {error.message}"))
                        continue
                    lines += self._lines(happening(found, record.time))
        except JournalError as error:
            # A journal that does not exist yet is no damage; a journal under repair is read again.
            if error.reason != "missing" and error.message != self._damage:
                self._damage = error.message
                lines.append(visible(f"not read: {error.message}"))
        self.said += lines
        return lines

    def _look_back(self) -> None:
        """Read the latest lines on events before the first look."""
        with (
            contextlib.suppress(JournalError),
            Journal(places.coordinator_journal(self._home), read_only=True) as journal,
        ):
            for record in journal.read(max(0, self._seen - _BACK)):
                if record.seq > self._seen:
                    return
                with contextlib.suppress(RecordError):
                    self.said += self._lines(happening(journal_replay.read(record), record.time))

    def view(self) -> dict[str, Any]:
        """Return the data of ``whesl status --json``."""
        if self._viewed is not self.state:
            self._viewed, self._view = self.state, status_view(self.state, self._workflow)
        return self._view

    def changed(self) -> list[dict[str, Any]]:
        """Return the rows of the tasks that have changed since the last call, workflow by workflow."""
        tasks = self.state.tasks.values()
        entries = [task for task in tasks if self._shown.get(task.id) is not task]
        self._shown |= {task.id: task for task in entries}
        order = {workflow: place for place, workflow in enumerate(self.state.workflows)}
        entries.sort(key=lambda task: order.get(task.workflow, len(order)))
        return [task_view(task) for task in entries if self._workflow in ("", task.workflow)]

    def over(self) -> bool:
        """Whether every task has ended."""
        tasks = self.state.tasks.values()
        return all(task.state.final for task in tasks if self._workflow in ("", task.workflow))

    def settled(self) -> bool:
        """Whether no task is at work."""
        tasks = self.state.tasks.values()
        return all(
            task.state.final or task.state is TaskState.REGISTERED
            for task in tasks
            if self._workflow in ("", task.workflow)
        )

    def picture(self, console: Console) -> RenderableType:
        """Return the workflows and the latest lines, as a console's terminal has room for them."""
        size = console.size
        # The terminal's last line stays free for the cursor.
        return terminal_view.picture(
            self.view(),
            tuple(self.said),
            width=size.width,
            height=size.height - 1,
            now=time.time(),
            ascii_only=console.options.ascii_only,
        )

    def _lines(self, found: Happening | None) -> list[str]:
        if found is None or (self._workflow and not found.task.startswith(f"{self._workflow}/")):
            return []
        text = progress_lines.line(found)
        return [] if text is None else [text]


def watch(watcher: Watcher, console: Screen) -> None:
    """Show workflows until every task has ended: on a terminal as a table, elsewhere a line for each change.

    Args:
        watcher: the state and the latest lines.
        console: the console to print on.
    """
    if console.is_terminal and not console.is_dumb_terminal:
        _paint(watcher, console)
    else:
        _follow(watcher)


def _paint(watcher: Watcher, console: Screen) -> None:
    painted = -_REPAINT
    size = console.size
    with Live(console=console, auto_refresh=False) as live:
        while True:
            before = watcher.state
            news = watcher.look() or watcher.state is not before
            if news or console.size != size or time.monotonic() - painted >= _REPAINT:
                size, painted = console.size, time.monotonic()
                live.update(watcher.picture(console), refresh=True)
            if watcher.over():
                return
            time.sleep(_TURN)


def _follow(watcher: Watcher) -> None:
    said: dict[str, str] = {}
    while True:
        watcher.look()
        for task in watcher.changed():
            line = row(task)
            if said.get(task["id"]) != line:
                said[task["id"]] = line
                click.echo(line)
        sys.stdout.flush()
        if watcher.over():
            return
        time.sleep(_TURN)


def row(task: dict[str, Any]) -> str:
    """Return a task as one line of cells separated by tabs."""
    return "\t".join(cells(task))


def cells(task: dict[str, Any]) -> list[str]:
    """Return a task's cells: its id, state, attempt, job, nodes, last exception, reason."""
    state = task["state"]
    # An exit code of -1 is unknown, or nothing was started.
    if task["exit_code"] not in (None, 0, -1):
        state = f"{state} ({task['exit_code']})"
    raised = task["exception"]
    if raised:
        raised = f"{raised} ({task['recovered']} of {task['exceptions']} recovered)"
    return [
        task["id"],
        state,
        str(task["attempt"] or "-"),
        task["job_id"] or "-",
        terminal_view.nodes(task["nodes"]) or "-",
        raised or "-",
        visible(terminal_view.reason(task)) or "-",
    ]
