"""The coordinator's records of one workflow, read while the coordinator writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.model.states import TaskState
from whesl.model.workflow import Workflow
from whesl.report import progress_lines_and_table
from whesl.report.collection import happening
from whesl.report.report_builder import Summary
from whesl.runtime.journal.consumer import CaughtUp, JournalConsumer
from whesl.runtime.journal.records import of_coordinator
from whesl.runtime.journal.sqlite_errors import JournalError


class Feed:
    """A view of the coordinator's journal. ``summary`` grows with every call of ``lines``.

    Args:
        home: the WHESL home.
        workflow: the workflow whose records are read.
    """

    def __init__(self, home: Path, workflow: Workflow) -> None:
        self.summary = Summary(workflow, {})
        self._prefix = f"{workflow.id}/"
        self._path = places.coordinator_journal(home)
        self._consumer: JournalConsumer | None = None

    def lines(self) -> Iterator[str]:
        """Yield a line for each new record that users see."""
        try:
            if self._consumer is None:
                self._consumer = JournalConsumer(self._path)
            while True:
                record = self._consumer.poll(timeout=0)
                if isinstance(record, CaughtUp):
                    continue
                try:
                    found = happening(of_coordinator(record.content), record.time)
                except UNDECODABLE:
                    continue  # the report names the damage
                if found is not None and found.task.startswith(self._prefix):
                    self.summary.take(found)
                    text = progress_lines_and_table.line(found)
                    if text is not None:
                        yield text
        except (TimeoutError, JournalError):
            # The journal has nothing new, or its coordinator is being started again.
            return

    def settled(self) -> bool:
        """Whether all tasks have ended."""
        still = {state.value for state in TaskState if not state.final} - {TaskState.REGISTERED.value}
        return not any(row.state in still for row in self.summary.report().tasks)

    def close(self) -> None:
        """Close the journal."""
        if self._consumer is not None:
            self._consumer.close()
