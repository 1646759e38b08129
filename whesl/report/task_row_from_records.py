"""Folds one task's records, in order, into its row of a report and a row for each exception."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from whesl.model import job_ids
from whesl.model.evidence import LastLines, kept
from whesl.model.outcomes import OrderStatus, ToldBy
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Task
from whesl.report.exception_row import UNDECIDED, ExceptionRow, intended, noted, put_evidence
from whesl.report.report_records import Run, RunAgain, TaskRow
from whesl.runtime.journal.records import coordinator_records, isolator_records
from whesl.runtime.journal.records.recovery_plan_step import PlanStep

_SECONDS_PER_HOUR = 3600.0
# Outcomes: the task runs again; the task got past the failure, so its manager never saw the failure.
RESTARTED, RECOVERED = "restarted", "recovered"


class _OfException(Protocol):
    """A record about a numbered exception."""

    @property
    def ordinal(self) -> int: ...


class TaskFold:
    """The fold of one task's records, in the order of time.

    Args:
        task: the task.
        submitted: by job id, the time of submission.
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
            coupled=[],
            unseen=[],
            outdated=[],
            runs=[],
        )
        self.rows: dict[
            int, ExceptionRow
        ] = {}  # by ordinal: exceptions of the present start of the task's job
        self.past: list[
            ExceptionRow
        ] = []  # exceptions of earlier starts of the job, which used the same ordinals
        self.bad_nodes: list[BadNode] = []
        self._submitted = submitted
        self._claim = self._job = ""
        self._nodes: tuple[str, ...] = ()  # of the newest attempt
        self._ordered = False  # whether the coordinator has ordered the job's next run
        self._attempts_before: int | None = (
            0  # in starts of the job that numbered them apart; None: not known yet
        )
        self._attempt_started: float | None = None
        self._planned: dict[int, list[str]] = {}
        self._starting: list[int] = []  # exceptions whose next attempt has not started yet, or was refused

    def take(self, record: isolator_records.AnyRecord | coordinator_records.AnyRecord, time: float) -> None:
        """Add one record; records that the report does not need are ignored.

        Args:
            record: the record.
            time: the record's time, seconds since the epoch.
        """
        row = self.row
        match record:
            case isolator_records.Begun():
                self._on_begun(record, time)
            case isolator_records.Nodes():
                row.nodes = len(record.nodes.active) or row.nodes
            case isolator_records.Attempt():
                self._count_attempt(record.attempt)
                self._nodes = record.nodes
                row.nodes = len(record.nodes) or row.nodes
                row.node = record.nodes[0] if len(record.nodes) == 1 else ""
            case isolator_records.Launched():
                self._on_launched(record, time)
            case isolator_records.StartRefused():
                for ordinal in self._starting:
                    self.rows[ordinal].outcome = "open"
                self._state(TaskState.RECOVERING)
            case isolator_records.Exited():
                self._on_exited(record, time)
            case isolator_records.Raised():
                self._on_raised(record, time)
            case isolator_records.Fenced():
                self._on_fenced(record, time)
            case isolator_records.EvidenceTaken():
                self._on_evidence(record)
            case isolator_records.Confirmed():
                self._starting = []
                for raised in self._named(record.ordinals):
                    raised.outcome, raised.seconds = RESTARTED, max(0.0, time - raised.time)
            case isolator_records.Recovered():
                for raised in self._named(record.ordinals):
                    raised.outcome, raised.because = RECOVERED, record.because
            case isolator_records.Resumed():
                for raised in self.rows.values():
                    if raised.outcome == "paused":
                        raised.outcome = "open"
                self._state(TaskState.RECOVERING)
            case isolator_records.LeaseEnded():
                row.leases_ended.append(record.reason)
            case coordinator_records.NotTold():
                row.coupled.append(f"{record.other.partition('/')[2]} was restarted, and {record.reason}")
            case coordinator_records.CoupledFailed():
                row.coupled.append(f"{record.other.partition('/')[2]}, with which it is coupled, has failed")
            case coordinator_records.Unobserved():
                self._state(TaskState.UNOBSERVED)
            case coordinator_records.State() if row.state == TaskState.UNOBSERVED:
                self._state(record.state)
            case coordinator_records.RequeueDecided():
                self._ordered = True
                row.run_again.append(RunAgain(job=record.job_id, reason=record.because))
            case coordinator_records.RequeueDone(outcome=OrderStatus.REFUSED) if row.run_again:
                row.run_again[-1].reason += f": refused: {record.reason}"
            case coordinator_records.BadNodeSeen():
                self.bad_nodes.append(record.bad_node)
            case coordinator_records.Finished() if (
                record.told_by is not ToldBy.ISOLATOR
            ):  # no process was left to report the end
                code = None if record.exit_code == -1 else record.exit_code
                self._end(record.state, code, record.reason, time)
            case isolator_records.Finished():
                self._end(record.state, record.code, record.reason, time)
            case (
                isolator_records.Relaunched()
                | isolator_records.CheckpointEnded()
                | isolator_records.Decided()
                | isolator_records.Observed()
                | isolator_records.StepDone()
                | isolator_records.StepFailed()
                | isolator_records.Otherwise()
                | isolator_records.Paused()
                | isolator_records.Escalated()
            ):
                for raised in self._named([record.ordinal]):
                    self._of_exception(record, raised)
                self._of_task(record)

    def _of_exception(self, record: _OfException, row: ExceptionRow) -> None:
        """Add a record about one exception to its row."""
        match record:
            case isolator_records.Relaunched():
                self._starting.append(row.ordinal)
            case isolator_records.CheckpointEnded():
                whole = f"{record.checkpoint} after {record.seconds:.1f} s"
                note = f"not written: {record.why}" if record.why else whole
                row.steps.append(noted("checkpoint", note))
                row.reason = f"{record.stays}: the program went on" if record.stays else row.reason
            case isolator_records.Decided():
                row.action, row.reason = record.action, record.reason
                self._plan(row, record.steps)
            case isolator_records.Observed():
                row.action, row.outcome = f"would {record.action}", "observed"
                row.reason = record.reason
                self._plan(row, record.steps)
                row.steps = [f"{step} (not done)" for step in self._planned[row.ordinal]]
            case isolator_records.StepDone():
                name = self._step_name(row, record.index)
                row.steps.append(noted(name, record.note) if record.note else name)
            case isolator_records.StepFailed():
                note = f"failed: {record.note or 'no reason given'}"
                row.steps.append(noted(self._step_name(row, record.index), note))
            case isolator_records.Otherwise():
                row.action, row.reason = record.action, record.reason
            case isolator_records.Paused():
                row.outcome = "paused"
            case isolator_records.Escalated():
                row.outcome = "escalated"
                row.reason = record.reason or row.reason

    def _of_task(self, record: _OfException) -> None:
        """Apply a record about one exception to the task's row."""
        match record:
            case isolator_records.Decided():
                self._state(TaskState.RECOVERING)
            case isolator_records.Paused():
                self._state(TaskState.PAUSED)
            case isolator_records.Escalated():
                self._state(TaskState.ESCALATED)
            case isolator_records.StepDone():
                self.bad_nodes += record.bad_nodes

    def raised(self) -> list[ExceptionRow]:
        """Return the task's exceptions, those of earlier starts of its job first."""
        return [*self.past, *self.rows.values()]

    def count(self, wait: float, poll_interval: float) -> None:
        """Compute the savings of each recovery.

        Args:
            wait: seconds that a resubmitted job would wait in the queue.
            poll_interval: seconds until the workflow manager sees a job's end.
        """
        for row in self.raised():
            if row.outcome == RECOVERED and row.seconds is not None:
                lost = row.lost_work or 0.0
                row.resubmission = wait + poll_interval + lost
                row.saved = row.resubmission - (row.seconds + lost)
                row.node_hours = row.saved * self.row.nodes / _SECONDS_PER_HOUR

    def _state(self, state: TaskState) -> None:
        if TaskState(self.row.state).may_become(state):
            self.row.state = state.value

    def _named(self, ordinals: Iterable[int]) -> list[ExceptionRow]:
        return [self.rows[ordinal] for ordinal in ordinals if ordinal in self.rows]

    def _step_name(self, row: ExceptionRow, index: int) -> str:
        planned = self._planned.get(row.ordinal, [])
        return planned[index] if index < len(planned) else f"step {index + 1}"

    def _on_begun(self, record: isolator_records.Begun, time: float) -> None:
        job, claim = record.job_id, record.claim
        if claim != self._claim:
            self._note_cut_off(job)
            self._put_aside(time)
            self._claim = claim
            self._ordered = False
        # The task runs again, in a requeued job or in a new job.
        self.row.state = TaskState.RUNNING.value
        self.row.ended = None
        self.row.exit_code = None
        self.row.observed = record.observe
        self._job = job
        if job and job not in self.row.jobs:
            self.row.jobs.append(job)
            asked = self._submitted.get(job_ids.submitted(job))
            if asked is not None and self.row.queue_wait is None:
                self.row.submitted = min(asked, time)
                self.row.queue_wait = time - self.row.submitted

    def _note_cut_off(self, job: str) -> None:
        """Note that the resource manager has run the job again by itself, after a run without an end."""
        if (
            job
            and job == self._job
            and self.row.runs
            and self.row.runs[-1].ended is None
            and not self._ordered
        ):
            only = ", its only node" if len(self._nodes) == 1 else ""
            where = f" on {', '.join(self._nodes)}{only}" if self._nodes else ""
            self.row.run_again.append(RunAgain(job=job, reason=f"its last run was cut off{where}"))

    def _put_aside(self, time: float) -> None:
        """Keep earlier exceptions apart, since a new start of a job may number from 1 again."""
        for row in self.rows.values():
            if row.outcome in UNDECIDED:
                row.ended = time
            if row.outcome == TaskState.CANCELLED and row.action == "recover" and self.row.run_again:
                row.outcome = RESTARTED  # the requeue that the recovery asked for ended the job's first run
        self.past += self.rows.values()
        self.rows.clear()
        self._planned.clear()
        self._starting.clear()
        self._attempts_before = None

    def _on_launched(self, record: isolator_records.Launched, time: float) -> None:
        self._attempt_started = began = record.start(time)
        if (warning := record.warning()) and warning not in self.row.outdated:
            self.row.outdated.append(warning)
        self._stop(began)
        self._count_attempt(record.attempt)
        self.row.runs.append(Run(attempt=record.attempt, started=began, job=self._job))
        if self.row.started is None:
            self.row.started = began
        self._state(TaskState.RUNNING)
        for ordinal in self._starting:
            self.rows[ordinal].outcome = RESTARTED

    def _count_attempt(self, number: int) -> None:
        if (
            self._attempts_before is None
        ):  # a job that runs again in its old directory continues the numbers of attempts
            self._attempts_before = self.row.attempts if number == 1 else 0
        self.row.attempts = max(self.row.attempts, self._attempts_before + number)

    def _stop(self, time: float) -> None:
        """Note the attempt's end: its exit, its fencing or the task's end, whichever comes first."""
        if self.row.runs and self.row.runs[-1].ended is None:
            self.row.runs[-1].ended = time

    def _on_exited(self, record: isolator_records.Exited, time: float) -> None:
        self._stop(time)
        last = record.last or LastLines()
        self.row.unseen = list(record.unseen)
        if self.row.runs:
            run = self.row.runs[-1]
            run.exit_code, run.last, run.cause = record.code, last, record.cause
        for row in self.rows.values():
            # An exception that was raised by a line of this attempt's output ends with the attempt.
            if row.attempt == record.attempt:
                row.last = last

    def _on_raised(self, record: isolator_records.Raised, time: float) -> None:
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
        put_evidence(row, raised.evidence, self._nodes)
        if self.row.runs and self.row.runs[-1].attempt == raised.attempt:
            row.last = self.row.runs[-1].last
        if self._attempt_started is not None:
            row.lost_work = max(0.0, time - self._attempt_started)
        self.rows[raised.ordinal] = row
        self._starting = [ordinal for ordinal in self._starting if self.rows[ordinal].outcome == "open"]
        for other in self.rows.values():
            # The exception that ESCALATE named in its place continues the recovery.
            if other.outcome == "open" and other.exception in raised.transformed_from:
                other.outcome = "transformed"

    def _plan(self, row: ExceptionRow, steps: Iterable[PlanStep]) -> None:
        self._planned[row.ordinal] = [intended(step) for step in steps]
        # The suspect of the recovery is shown rather than the node on which the line was read.
        row.node = next((step.suspect for step in steps if step.suspect), row.node)

    def _on_fenced(self, record: isolator_records.Fenced, time: float) -> None:
        self._stop(time)
        for row in self.rows.values():
            if row.outcome == "open":
                if not row.node:
                    row.node = next((item.node for item in record.evidence if item.node), "")
                if record.steps is not None:
                    self._plan(row, record.steps)

    def _on_evidence(self, record: isolator_records.EvidenceTaken) -> None:
        for row in self.rows.values():
            if row.outcome == "open":
                collected = record.detail
                row.stacks = kept(collected) or row.stacks
                row.detail = row.detail or collected[:2000]
                if len(record.stuck) == 1 and not row.node:
                    row.node = record.stuck[0].node
                if record.steps is not None:
                    self._plan(row, record.steps)

    def _end(self, state: TaskState, code: int | None, reason: str, time: float) -> None:
        self._stop(time)
        self._state(state)
        self.row.exit_code = code
        self.row.reason = reason
        self.row.ended = time
        for row in self.rows.values():
            if row.outcome == "open":
                row.outcome = "skipped" if state is TaskState.SKIPPED else state.value
