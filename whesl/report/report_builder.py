"""Makes a report from records. Pure.

The costs of resubmission that a recovered exception avoided (``whesl.model.recovery_criterion``; seconds)::

    resubmission = queue wait + poll interval + lost work
    in place     = time from raised to relaunched + lost work
    saved        = resubmission - in place

The queue wait is the mean of this workflow's measured waits (from the submission to the start of the job's
script) unless a value is given; a resubmitted job would have waited once more. The poll interval is the
longest time until a workflow manager sees the end of a job (Maestro's default: 60 s). The lost work is the
run time of the failed attempt; a checkpoint of the application shortens it by an unknown amount, which is the
same in both rows and so cancels out of the savings. Node-hours are the saved seconds times the task's nodes:
the avoided delay of results, weighted by the task's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whesl.model.handover_record import HandedOver
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Task, Workflow
from whesl.report.collection import Gathered, Happening
from whesl.report.directories import TaskDirectory
from whesl.report.exception_row import ExceptionRow
from whesl.report.exec_groups import grouped
from whesl.report.report_records import ALONE, POLL_INTERVAL, Assumptions, Group, Report, TaskRow, Totals
from whesl.report.task_row_from_records import RECOVERED, RESTARTED, TaskFold


def summarise(
    gathered: Gathered, *, queue_wait: float | None = None, poll_interval: float = POLL_INTERVAL
) -> Report:
    """Return the report on gathered records.

    Args:
        gathered: the records.
        queue_wait: seconds that a job waits in the queue, None for the mean of the measured waits.
        poll_interval: seconds until the workflow manager sees a job's end.
    """
    summary = Summary(gathered.workflow, gathered.submitted)
    if gathered.workflow.id == ALONE:
        summary.group(grouped(gathered.directories.values()))
    summary.hand_over(gathered.handed_over)
    for item in gathered.happenings:
        summary.take(item)
    return summary.report(queue_wait=queue_wait, poll_interval=poll_interval, damaged=gathered.damaged)


class Summary:
    """A report that grows with each record.

    Args:
        workflow: the workflow; tasks that it does not name are added at their first record.
        submitted: by job id, the time of submission.
    """

    def __init__(self, workflow: Workflow, submitted: dict[str, float]) -> None:
        self._workflow = workflow
        self._submitted = submitted
        self._until: float | None = None
        self._folds = {task.id: TaskFold(task, submitted) for task in workflow.tasks}

    def group(self, groups: Mapping[Group, Iterable[TaskDirectory]]) -> None:
        """Note the group of each task of ``whesl exec``."""
        for group, members in groups.items():
            for member in members:
                if (fold := self._folds.get(member.task.id)) is not None:
                    fold.row.group = group

    def hand_over(self, attempts: Mapping[str, list[HandedOver]]) -> None:
        """Note each task's attempts that ran on another cluster."""
        for task, handed in attempts.items():
            if (fold := self._folds.get(task)) is not None:
                fold.row.handed_over = handed

    def take(self, item: Happening) -> None:
        """Add one record, in the order of time."""
        self._until = item.time if self._until is None else max(self._until, item.time)
        fold = self._folds.get(item.task)
        if fold is None:
            step = item.task.partition("/")[2]
            fold = self._folds[item.task] = TaskFold(Task(id=item.task, step=step), self._submitted)
        fold.take(item.record, item.time)

    def report(
        self,
        *,
        queue_wait: float | None = None,
        poll_interval: float = POLL_INTERVAL,
        damaged: tuple[str, ...] = (),
    ) -> Report:
        """Return the present report.

        Args:
            queue_wait: seconds that a job waits in the queue, None for the mean of the measured waits.
            poll_interval: seconds until the workflow manager sees a job's end.
            damaged: sentences on unreadable parts of journals.
        """
        folds = self._folds.values()
        waits = [fold.row.queue_wait for fold in folds if fold.row.queue_wait is not None]
        wait = queue_wait if queue_wait is not None else sum(waits) / len(waits) if waits else 0.0
        for fold in folds:
            fold.count(wait, poll_interval)
        rows = sorted((row for fold in folds for row in fold.raised()), key=lambda row: row.time)
        tasks = tuple(fold.row for fold in folds)
        return Report(
            workflow=self._workflow.id,
            name=self._workflow.name,
            wms=self._workflow.wms,
            root=self._workflow.root,
            began=_began(tasks, rows),
            until=self._until,
            totals=_totals(tasks, rows),
            assumptions=Assumptions(
                queue_wait=wait, waits=len(waits) if queue_wait is None else 0, poll_interval=poll_interval
            ),
            exceptions=tuple(rows),
            tasks=tasks,
            bad_nodes=_bad_nodes(fold.bad_nodes for fold in folds),
            damaged=damaged,
        )


def _totals(tasks: tuple[TaskRow, ...], rows: list[ExceptionRow]) -> Totals:
    recovered = [row for row in rows if row.outcome == RECOVERED]
    failed = [row for row in tasks if row.state == TaskState.FAILED]
    return Totals(
        tasks=len(tasks),
        completed=sum(row.state in (TaskState.COMPLETED, TaskState.SKIPPED) for row in tasks),
        failed=sum(not row.observed for row in failed),
        observed=sum(row.observed for row in failed),
        cancelled=sum(row.state == TaskState.CANCELLED for row in tasks),
        exceptions=len(rows),
        recovered=len(recovered),
        restarted=sum(row.outcome == RESTARTED for row in rows),
        recovery_seconds=sum(row.seconds or 0.0 for row in recovered),
        saved_seconds=sum(row.saved or 0.0 for row in recovered),
        node_hours=sum(row.node_hours or 0.0 for row in recovered),
    )


def _began(tasks: tuple[TaskRow, ...], rows: list[ExceptionRow]) -> float | None:
    times = [time for row in tasks for time in (row.submitted, row.started) if time is not None]
    return min((*times, *(row.time for row in rows)), default=None)


def _bad_nodes(found: Iterable[list[BadNode]]) -> tuple[BadNode, ...]:
    latest: dict[str, BadNode] = {}
    for bad in sorted((bad for nodes in found for bad in nodes), key=lambda bad: bad.time):
        latest[bad.node] = bad
    return tuple(latest[node] for node in sorted(latest))
