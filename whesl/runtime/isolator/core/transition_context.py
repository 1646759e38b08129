"""One transition of the core: the changing state, and the resulting commands."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.language.spec import ExceptionSpec
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Detected, History
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.apply_record import apply
from whesl.runtime.isolator.core.events_and_commands import (
    Command,
    Finish,
    Journal,
    KillAttempt,
    Say,
    Schedule,
    Send,
)
from whesl.runtime.isolator.core.state import Phase, Recovery, State
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import AnyMessage, Finished, RecoveryDone, Report


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
        """Journal a record, apply it to the state, and report it to the coordinator."""
        self.commands.append(Journal(record=record))
        self.state = apply(self.state, record, self.now)
        self.report(record)

    def report(self, record: records.AnyRecord) -> None:
        """Report a record to the coordinator."""
        self.send(Report(task=self.state.setup.task.id, time=self.now, record=record))

    def volatile(self, **changes: Any) -> None:
        """Change fields of the state that need not outlive the isolator."""
        self.state = msgspec.structs.replace(self.state, **changes)

    def do(self, command: Command) -> None:
        """Add a command to the transition's result."""
        self.commands.append(command)

    def say(self, text: str) -> None:
        """Write a line for the user to the isolator's log."""
        self.commands.append(Say(text=text))

    def send(self, message: AnyMessage) -> None:
        """Send a message to the coordinator, where there is one."""
        if self.state.setup.coordinator:
            self.commands.append(Send(message=message))

    def drop(self, found: Detected, of: int | None = None, history: History | None = None) -> None:
        """Record a detection as a consequence of an exception, with the history of counted exceptions.

        Args:
            found: the detection.
            of: the exception's ordinal; by default the last exception's.
            history: the counted exceptions by now, None where the detection is not counted.
        """
        self.record(
            records.Dropped(
                exception=found.exception,
                of=self.state.ordinal if of is None else of,
                evidence=found.evidence,
                history=history,
                times=found.times,
            )
        )

    def end_attempt(self) -> None:
        """Kill all processes of the present attempt, until they are seen to be gone."""
        state = self.state
        steps = state.recovery.steps if state.recovery else ()
        roots = [step.arguments.get("defaultpath") for step in steps if step.resource == "FILESYSTEM"]
        below = tuple(root for root in roots if isinstance(root, str))
        nodes, ends = state.nodes.active, state.terminated
        self.do(KillAttempt(attempt=state.attempt, nodes=nodes, open_below=below, job_ends=ends))

    def wake(self, time: float) -> None:
        """Ask for a tick no later than ``time``."""
        self.commands.append(Schedule(time=time))

    def recovery(self) -> Recovery:
        """Return the recovery under way; there has to be one."""
        assert self.state.recovery is not None
        return self.state.recovery

    def rule(self, name: str) -> ExceptionSpec:
        """Return the specification of an exception, which has to exist, as it does for raised exceptions."""
        spec = self.state.setup.spec
        assert spec is not None
        return spec.exception(name)

    def report_recovery(self, recovery: Recovery, outcome: RecoveryOutcome) -> None:
        """Report the end of a recovery to the coordinator, which recognises repeats by the ordinal.

        Args:
            recovery: the recovery that has ended.
            outcome: how it ended.
        """
        self.send(
            RecoveryDone(
                task=self.state.setup.task.id,
                ordinal=recovery.ordinal,
                raised=recovery.raised.time,
                exception=recovery.raised.exception,
                outcome=outcome,
                configuration=self.state.configuration,
                dependents_map=recovery.dependents,
                signal=recovery.signal,
                seconds=max(self.now - recovery.raised.time, 0.0),
                claim=self.state.setup.claim,
            )
        )

    def finish(self, code: int, state: TaskState, reason: str, *, with_job: bool = False) -> None:
        """End the task: write the journal's last record, send the last message, set the exit status.

        Args:
            code: the task's exit status.
            state: the task's final state.
            reason: why the task ended.
            with_job: whether the job has ended, so that the resource manager knows how the task ended.
        """
        if self.state.phase is not Phase.FINISHED:
            ended = records.Finished(code=code, state=state, reason=reason, with_job=with_job)
            terminated = self.state.terminated and not with_job
            self.record(msgspec.structs.replace(ended, terminated=terminated))
        self.send_finished()

    def send_finished(self) -> None:
        """Report the task's end to the coordinator, possibly again, and end the isolator."""
        ended = self.state.ended
        assert ended is not None
        self.send(
            Finished(
                task=self.state.setup.task.id,
                state=ended.state,
                exit_code=ended.code,
                attempts=self.state.attempt,
                claim=self.state.setup.claim,
                with_job=ended.with_job,
                terminated=ended.terminated,
            )
        )
        self.do(Finish(code=ended.code, state=ended.state, reason=ended.reason))


def merged(mine: Configuration, theirs: Configuration) -> Configuration:
    """Return the task's configuration with the coordinator's changes; the task's own changes are kept.

    Args:
        mine: the configuration with the changes by the isolator's own recoveries.
        theirs: the configuration that the coordinator sent.
    """
    result = msgspec.structs.replace(mine.merged(theirs), version=max(mine.version, theirs.version))
    if result != mine and result.version == mine.version:
        return msgspec.structs.replace(result, version=mine.version + 1)
    return result
