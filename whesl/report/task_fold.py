"""One task's records, taken one after the other: its row of a report, and a row for each exception."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from whesl.model.evidence import LastLines, kept
from whesl.model.outcomes import OrderStatus, ToldBy
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Task
from whesl.records import coordinator, isolator
from whesl.records.plan_step import PlanStep
from whesl.report.exception_row import UNDECIDED, ExceptionRow, intended, noted, put_evidence
from whesl.report.records import Run, RunAgain, TaskRow

_SECONDS_PER_HOUR = 3600.0
# The task runs again / it has gone on past what had failed, so that its manager never saw the failure.
RESTARTED, RECOVERED = "restarted", "recovered"


class _OfException(Protocol):
    """A record about a numbered exception."""

    @property
    def ordinal(self) -> int: ...


class TaskFold:
    """One task's records, taken one after the other in the order of time.

    Args:
        task: the task.
        submitted: when each scheduler's job was asked for.
    """

    def __init__(self, task: Task, submitted: Mapping[str, float]) -> None:
        self.row = TaskRow(
            task=task.id,
            step=task.step,
            instance=task.instance,
            nodes=task.nodes,
            jobs=[],
            run_again=[],
            leases_ended=[],
            runs=[],
        )
        self.rows: dict[int, ExceptionRow] = {}  # of the present start of its job, by ordinal
        self.past: list[ExceptionRow] = []  # of earlier ones, whose ordinals were the same
        self.bad_nodes: list[BadNode] = []
        self._submitted = submitted
        self._claim = self._job = ""
        self._attempts_before = 0
        self._attempt_started: float | None = None
        self._planned: dict[int, list[str]] = {}
        self._starting: list[int] = []  # exceptions whose next attempt is to be started, or was not taken

    def take(self, record: isolator.AnyRecord | coordinator.AnyRecord, time: float) -> None:
        """Take one record; those that say nothing for the report are passed over."""
        match record:
            case isolator.Begun():
                self._on_begun(record, time)
            case isolator.Nodes():
                self._on_nodes(record)
            case isolator.Attempt():
                self._on_attempt(record)
            case isolator.Launched():
                self._on_launched(record, time)
            case isolator.Relaunched():
                self._on_relaunched(record)
            case isolator.StartRefused():
                self._on_refused(record)
            case isolator.Exited():
                self._on_exited(record, time)
            case isolator.Raised():
                self._on_raised(record, time)
            case isolator.CheckpointEnded():
                self._on_checkpoint(record)
            case isolator.Decided():
                self._on_decided(record)
            case isolator.Observed():
                self._on_observed(record)
            case isolator.Fenced():
                self._on_fenced(record, time)
            case isolator.EvidenceTaken():
                self._on_evidence(record)
            case isolator.StepDone():
                self._on_step_done(record)
            case isolator.StepFailed():
                self._on_step_failed(record)
            case isolator.Otherwise():
                self._on_otherwise(record)
            case isolator.Confirmed():
                self._on_confirmed(record, time)
            case isolator.Recovered():
                self._on_recovered(record)
            case isolator.Paused():
                self._on_paused(record)
            case isolator.Resumed():
                self._on_resumed(record)
            case isolator.Escalated():
                self._on_escalated(record)
            case isolator.LeaseEnded():
                self._on_lease_ended(record)
            case coordinator.Unobserved():
                self._on_unobserved(record)
            case coordinator.State():
                self._on_state(record)
            case coordinator.RequeueDecided():
                self._on_requeue_decided(record)
            case coordinator.RequeueDone():
                self._on_requeue_done(record)
            case coordinator.BadNodeSeen():
                self._on_bad_node(record)
            case coordinator.Finished():
                self._on_ended_alone(record, time)
            case isolator.Finished():
                self._end(record.state, record.code, record.reason, time)

    def raised(self) -> list[ExceptionRow]:
        """Return its exceptions, those of earlier starts of its job first."""
        return [*self.past, *self.rows.values()]

    def count(self, wait: float, poll_interval: float) -> None:
        """Work out what each recovery was worth, now that the waits are known."""
        for row in self.raised():
            if row.outcome == RECOVERED and row.seconds is not None:
                lost = row.lost_work or 0.0
                row.resubmission = wait + poll_interval + lost
                row.saved = row.resubmission - (row.seconds + lost)
                row.node_hours = row.saved * self.row.nodes / _SECONDS_PER_HOUR

    def _state(self, state: TaskState) -> None:
        if TaskState(self.row.state).may_become(state):
            self.row.state = state.value

    def _exception(self, record: _OfException) -> ExceptionRow | None:
        return self.rows.get(record.ordinal)

    def _on_begun(self, record: isolator.Begun, time: float) -> None:
        job, claim = record.job_id, record.claim
        if claim != self._claim:
            self._put_aside(time)
            self._claim = claim
        # A requeued job, or a new one for the same task: it runs again.
        self.row.state = TaskState.RUNNING.value
        self.row.ended = None
        self.row.exit_code = None
        self.row.observed = record.observe
        self._job = job
        if job and job not in self.row.jobs:
            self.row.jobs.append(job)
            asked = self._submitted.get(job.partition("_")[0])
            if asked is not None and self.row.queue_wait is None:
                self.row.submitted = min(asked, time)
                self.row.queue_wait = time - self.row.submitted

    def _put_aside(self, time: float) -> None:
        """Keep what was raised before: exceptions and attempts are numbered anew in each start of a job."""
        for row in self.rows.values():
            if row.outcome in UNDECIDED:
                row.ended = time
        self.past += self.rows.values()
        self.rows.clear()
        self._planned.clear()
        self._starting.clear()
        self._attempts_before = self.row.attempts

    def _on_nodes(self, record: isolator.Nodes) -> None:
        self.row.nodes = len(record.nodes.active) or self.row.nodes

    def _on_attempt(self, record: isolator.Attempt) -> None:
        self._count_attempt(record.attempt)
        self.row.nodes = len(record.nodes) or self.row.nodes

    def _on_launched(self, record: isolator.Launched, time: float) -> None:
        self._attempt_started = began = record.start(time)
        self._stop(began)
        self._count_attempt(record.attempt)
        self.row.runs.append(Run(attempt=record.attempt, started=began, job=self._job))
        if self.row.started is None:
            self.row.started = began
        self._state(TaskState.RUNNING)
        for ordinal in self._starting:
            self.rows[ordinal].outcome = RESTARTED

    def _on_relaunched(self, record: isolator.Relaunched) -> None:
        row = self._exception(record)
        if row is not None:
            self._starting.append(row.ordinal)

    def _on_refused(self, record: isolator.StartRefused) -> None:
        for ordinal in self._starting:
            self.rows[ordinal].outcome = "open"
        self._state(TaskState.RECOVERING)

    def _count_attempt(self, number: int) -> None:
        self.row.attempts = max(self.row.attempts, self._attempts_before + number)

    def _stop(self, time: float) -> None:
        """Note the attempt's end: its exit, its fencing or the task's end, what comes first."""
        if self.row.runs and self.row.runs[-1].ended is None:
            self.row.runs[-1].ended = time

    def _on_exited(self, record: isolator.Exited, time: float) -> None:
        self._stop(time)
        last = record.last or LastLines()
        if self.row.runs:
            self.row.runs[-1].exit_code, self.row.runs[-1].last = record.code, last
        for row in self.rows.values():
            # What was raised by a line of its output has ended with it.
            if row.attempt == record.attempt:
                row.last = last

    def _on_raised(self, record: isolator.Raised, time: float) -> None:
        raised = record.raised
        row = ExceptionRow(
            task=raised.task,
            exception=raised.exception,
            ordinal=raised.ordinal,
            attempt=raised.attempt,
            job=self._job,
            time=time,
            transformed_from=raised.transformed_from,
        )
        put_evidence(row, raised.evidence)
        if self.row.runs and self.row.runs[-1].attempt == raised.attempt:
            row.last = self.row.runs[-1].last
        if self._attempt_started is not None:
            row.lost_work = max(0.0, time - self._attempt_started)
        self.rows[raised.ordinal] = row
        self._starting = [ordinal for ordinal in self._starting if self.rows[ordinal].outcome == "open"]
        for other in self.rows.values():
            # What was raised in its place (ESCALATE to a named exception) goes on with the recovery.
            if other.outcome == "open" and other.exception in raised.transformed_from:
                other.outcome = "transformed"

    def _on_checkpoint(self, record: isolator.CheckpointEnded) -> None:
        row = self._exception(record)
        if row is not None:
            whole = f"{record.checkpoint} after {record.seconds:.1f} s"
            note = f"not written: {record.why}" if record.why else whole
            row.steps.append(noted("checkpoint", note))
            row.reason = f"{record.stays}: the program went on" if record.stays else row.reason

    def _on_decided(self, record: isolator.Decided) -> None:
        row = self._exception(record)
        if row is not None:
            row.action = record.action
            row.reason = record.reason
            self._plan(row, record.steps)
        self._state(TaskState.RECOVERING)

    def _plan(self, row: ExceptionRow, steps: Iterable[PlanStep]) -> None:
        self._planned[row.ordinal] = [intended(step) for step in steps]
        # Who was found to be the cause says more than where the line was read.
        row.node = next((step.suspect for step in steps if step.suspect), row.node)

    def _on_observed(self, record: isolator.Observed) -> None:
        row = self._exception(record)
        if row is not None:
            row.action, row.outcome = f"would {record.action}", "observed"
            row.reason = record.reason
            self._plan(row, record.steps)
            row.steps = [f"{step} (not done)" for step in self._planned[row.ordinal]]

    def _on_fenced(self, record: isolator.Fenced, time: float) -> None:
        self._stop(time)
        for row in self.rows.values():
            if row.outcome == "open":
                if not row.node:
                    row.node = next((item.node for item in record.evidence if item.node), "")
                if record.steps is not None:
                    self._plan(row, record.steps)

    def _on_evidence(self, record: isolator.EvidenceTaken) -> None:
        for row in self.rows.values():
            if row.outcome == "open":
                collected = record.detail
                row.stacks = kept(collected) or row.stacks
                row.detail = row.detail or collected[:2000]
                if len(record.stuck) == 1 and not row.node:
                    row.node = record.stuck[0].node
                if record.steps is not None:
                    self._plan(row, record.steps)

    def _on_step_done(self, record: isolator.StepDone) -> None:
        row = self._exception(record)
        if row is not None:
            planned = self._planned.get(row.ordinal, [])
            index = record.index
            note = record.note
            name = planned[index] if index < len(planned) else f"step {index + 1}"
            row.steps.append(noted(name, note) if note else name)
        self.bad_nodes += record.bad_nodes

    def _on_step_failed(self, record: isolator.StepFailed) -> None:
        row = self._exception(record)
        if row is not None:
            planned = self._planned.get(row.ordinal, [])
            index = record.index
            name = planned[index] if index < len(planned) else f"step {index + 1}"
            row.steps.append(noted(name, f"failed: {record.note or 'no reason given'}"))

    def _on_otherwise(self, record: isolator.Otherwise) -> None:
        row = self._exception(record)
        if row is not None:
            row.action, row.reason = record.action, record.reason

    def _on_confirmed(self, record: isolator.Confirmed, time: float) -> None:
        self._starting = []
        for ordinal in record.ordinals:
            row = self.rows.get(ordinal)
            if row is not None:
                row.outcome = RESTARTED
                row.seconds = max(0.0, time - row.time)

    def _on_recovered(self, record: isolator.Recovered) -> None:
        for ordinal in record.ordinals:
            row = self.rows.get(ordinal)
            if row is not None:
                row.outcome, row.because = RECOVERED, record.because

    def _on_paused(self, record: isolator.Paused) -> None:
        row = self._exception(record)
        if row is not None:
            row.outcome = "paused"
        self._state(TaskState.PAUSED)

    def _on_resumed(self, record: isolator.Resumed) -> None:
        for row in self.rows.values():
            if row.outcome == "paused":
                row.outcome = "open"
        self._state(TaskState.RECOVERING)

    def _on_escalated(self, record: isolator.Escalated) -> None:
        row = self._exception(record)
        if row is not None:
            row.outcome = "escalated"
            row.reason = record.reason or row.reason
        self._state(TaskState.ESCALATED)

    def _end(self, state: TaskState, code: int | None, reason: str, time: float) -> None:
        self._stop(time)
        self._state(state)
        self.row.exit_code = code
        self.row.reason = reason
        self.row.ended = time
        for row in self.rows.values():
            if row.outcome == "open":
                row.outcome = "skipped" if state is TaskState.SKIPPED else state.value

    def _on_lease_ended(self, record: isolator.LeaseEnded) -> None:
        self.row.leases_ended.append(record.reason)

    def _on_unobserved(self, record: coordinator.Unobserved) -> None:
        self._state(TaskState.UNOBSERVED)

    def _on_state(self, record: coordinator.State) -> None:
        if self.row.state == TaskState.UNOBSERVED:
            self._state(record.state)

    def _on_requeue_decided(self, record: coordinator.RequeueDecided) -> None:
        job = record.job_id
        self.row.run_again.append(RunAgain(job=job, reason=record.because))

    def _on_requeue_done(self, record: coordinator.RequeueDone) -> None:
        if record.outcome is OrderStatus.REFUSED and self.row.run_again:
            self.row.run_again[-1].reason += f": refused: {record.reason}"

    def _on_bad_node(self, record: coordinator.BadNodeSeen) -> None:
        self.bad_nodes.append(record.bad_node)

    def _on_ended_alone(self, record: coordinator.Finished, time: float) -> None:
        """Take the end of a task that nobody was left to tell of."""
        if record.told_by is not ToldBy.ISOLATOR:
            self._end(record.state, None if record.exit_code == -1 else record.exit_code, record.reason, time)
