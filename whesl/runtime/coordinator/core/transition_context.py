"""One transition of the core: the changing state and the resulting commands."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.outcomes import ToldBy
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.coordinator.core.changes.apply_record import apply
from whesl.runtime.coordinator.core.events_and_commands import Command, Journal, Say, Send
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import AnyMessage


class Transition:
    """Collects the changes and commands of one event; the core's functions take it and return nothing.

    Args:
        state: the state before the event.
        now: seconds since the epoch.
    """

    def __init__(self, state: State, now: float) -> None:
        self.state = state
        self.now = now
        self.commands: list[Command] = []

    def record(self, record: records.AnyRecord) -> None:
        """Add the command to write a record, and apply the record to the state."""
        self.commands.append(Journal(record=record))
        self.state = apply(self.state, record, self.now)

    def volatile(self, **changes: Any) -> None:
        """Change fields of the volatile state."""
        volatile = msgspec.structs.replace(self.state.volatile, **changes)
        self.state = msgspec.structs.replace(self.state, volatile=volatile)

    def do(self, command: Command) -> None:
        """Add a command."""
        self.commands.append(command)

    def say(self, text: str) -> None:
        """Write a line to the coordinator's log."""
        self.commands.append(Say(text=text))

    def send(self, peer: str, message: AnyMessage) -> None:
        """Send a message to a peer; without a peer, send nothing.

        Args:
            peer: the receiver, '' for none.
            message: the message.
        """
        if peer:
            self.commands.append(Send(peer=peer, message=message))

    def finished(self, entry: TaskEntry, state: TaskState, code: int, reason: str, told_by: ToldBy) -> None:
        """Record the end of a task that somebody other than its isolator reports.

        Args:
            entry: the task.
            state: the task's final state.
            code: the task's exit status.
            reason: why the task ended so, for people.
            told_by: the source of the report.
        """
        self.record(
            records.Finished(
                task=entry.id,
                state=state,
                exit_code=code,
                attempts=entry.attempt,
                reason=reason,
                told_by=told_by,
            )
        )

    def close(self, entry: TaskEntry, state: TaskState) -> None:
        """Close the open recoveries and controls of a task that has ended.

        Args:
            entry: the task.
            state: the task's final state.
        """
        for control in [control for control in self.state.controls.values() if control.task == entry.id]:
            self.record(records.ControlDone(id=control.id, task=entry.id))
        for known in self.state.recoveries_of(entry.id):
            if not known.closed:
                self.record(records.Closed(recovery=known.id, task=entry.id, outcome=state.value))

    def task(self, name: str) -> TaskEntry | None:
        """Return a task by its id or by its isolator's name for it."""
        return self.state.tasks.get(self.state.aliases.get(name, name))

    def bad_nodes(self) -> tuple[BadNode, ...]:
        """Return the bad nodes whose records have not expired."""
        return tuple(bad for bad in self.state.bad_nodes.values() if bad.expires > self.now)

    def wait_to_retry(self, key: str) -> None:
        """Postpone a failed call; each failure of the same call doubles the wait, up to ``last_retry``."""
        settings, volatile = self.state.settings, self.state.volatile
        count = volatile.retries.get(key, 0)
        delay = min(settings.first_retry * 2.0 ** min(count, 16), settings.last_retry)
        self.volatile(
            retries=volatile.retries.with_(key, count + 1),
            retry_at=volatile.retry_at.with_(key, self.now + delay),
        )

    def retry_over(self, key: str) -> None:
        """Drop the wait of a postponed call."""
        volatile = self.state.volatile
        self.volatile(retries=volatile.retries.without(key), retry_at=volatile.retry_at.without(key))
