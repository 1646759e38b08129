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

from collections.abc import Iterable

from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Task
from whesl.report.collection import Gathered
from whesl.report.exception_row import ExceptionRow
from whesl.report.exec_groups import grouped
from whesl.report.report_records import ALONE, POLL_INTERVAL, Assumptions, Report, TaskRow, Totals
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
    workflow = gathered.workflow
    folds = {task.id: TaskFold(task, gathered.submitted) for task in workflow.tasks}
    for item in gathered.happenings:
        if item.task not in folds:
            task = Task(id=item.task, step=item.task.partition("/")[2])
            folds[item.task] = TaskFold(task, gathered.submitted)
        folds[item.task].take(item.record, item.time)
    for task_id, handed in gathered.handed_over.items():
        if task_id in folds:
            folds[task_id].row.handed_over = handed
    groups = grouped(gathered.directories.values()) if workflow.id == ALONE else {}
    for group, members in groups.items():
        for member in members:
            if member.task.id in folds:
                folds[member.task.id].row.group = group
    tasks = tuple(fold.row for fold in folds.values())
    waits = [row.queue_wait for row in tasks if row.queue_wait is not None]
    wait = queue_wait if queue_wait is not None else sum(waits) / len(waits) if waits else 0.0
    for fold in folds.values():
        fold.count(wait, poll_interval)
    rows = sorted((row for fold in folds.values() for row in fold.raised()), key=lambda row: row.time)
    return Report(
        workflow=workflow.id,
        name=workflow.name,
        wms=workflow.wms,
        root=workflow.root,
        began=_began(tasks, rows),
        until=max((item.time for item in gathered.happenings), default=None),
        totals=_totals(tasks, rows),
        assumptions=Assumptions(
            queue_wait=wait, waits=len(waits) if queue_wait is None else 0, poll_interval=poll_interval
        ),
        exceptions=tuple(rows),
        tasks=tasks,
        bad_nodes=_bad_nodes(fold.bad_nodes for fold in folds.values()),
        damaged=gathered.damaged,
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
