"""An overview of a user's runs of some days: failures, causes, places, costs, and savings by rules.

Pure: it sums up the reports of workflows. A node-hour is an hour of one node of a task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from whesl.model.evidence import HELPS, Advice, Cause, explain, shortened
from whesl.model.outcomes import FUNCTION_RAISED
from whesl.model.states import TaskState
from whesl.report.exception_row import ExceptionRow
from whesl.report.report_records import Report, TaskRow
from whesl.report.text_report import died_of, printed_last

_HOUR = 3600.0
_LINE = 160
_TYPE = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")
_RESTARTABLE = frozenset({Advice.SAME_NODES, Advice.OTHER_NODES, Advice.OTHER_RESOURCES})
_WELL = frozenset({"recovered", "completed"})


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of failure: an exception of the rules, or the cause of a failure that no rule saw.

    The cause of a function's failure is the type of the exception that it has raised.

    ``times``: the number of failures. ``recovered``: the number of recovered ones. ``tasks``: the number of
    tasks. ``lost``: node-hours of the ended attempts. ``saved``: node-hours that recoveries saved.
    ``avoidable``: the part of ``lost`` in tasks without a rule where a restart would have helped. ``advice``:
    how to avoid the failure. ``nodes``: by node, the number of failures. ``why``: the line that showed the
    newest failure.
    """

    what: str
    ruled: bool
    times: int = 0
    recovered: int = 0
    tasks: int = 0
    lost: float = 0.0
    saved: float = 0.0
    avoidable: float = 0.0
    advice: str = ""
    nodes: dict[str, int] = {}
    why: str = ""
    newest: float = 0.0


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The overview between two times (seconds since the epoch). ``failures``: the costliest first."""

    since: float
    until: float
    workflows: int
    tasks: int
    completed: int
    failed: int
    ran: float
    lost: float
    saved: float
    avoidable: float
    failures: tuple[Failure, ...]
    nodes: dict[str, int]


def overview(reports: Iterable[Report], since: float, until: float) -> Overview:
    """Sum up reports.

    Args:
        reports: the reports of all workflows; events before ``since`` are left out.
        since, until: seconds since the epoch.
    """
    failures: dict[tuple[str, bool], Failure] = {}
    tasks: list[TaskRow] = []
    workflows = 0
    for report in reports:
        present = {row.task: row for row in report.tasks if (row.ended or until) >= since and row.runs}
        workflows += bool(present)
        tasks += present.values()
        ruled: set[str] = set()
        seen: set[tuple[str, str]] = set()
        for raised in report.exceptions:
            if raised.task in present and raised.time >= since and raised.outcome != "transformed":
                ruled.add(raised.task)
                first = (raised.task, raised.exception) not in seen
                seen.add((raised.task, raised.exception))
                key = (raised.exception, True)
                failures[key] = _with_raised(
                    _of(failures, key), raised, present[raised.task].nodes, first=first
                )
        for row in present.values():
            if row.state == TaskState.FAILED.value and row.task not in ruled:
                cause = died_of(row)
                key = (cause.cause.value if cause else _raised(row) or f"status {row.exit_code}", False)
                lost = _node_hours(row, since, until)
                failures[key] = _with_failed(_of(failures, key), cause, row, lost, until)
    found = sorted(failures.values(), key=lambda each: (-each.lost, -each.times, each.what))
    nodes: Counter[str] = Counter()
    for failure in found:
        nodes.update(failure.nodes)
    return Overview(
        since=since,
        until=until,
        workflows=workflows,
        tasks=len(tasks),
        completed=sum(row.state in (TaskState.COMPLETED, TaskState.SKIPPED) for row in tasks),
        failed=sum(row.state == TaskState.FAILED for row in tasks),
        ran=sum(_node_hours(row, since, until) for row in tasks),
        lost=sum(each.lost for each in found),
        saved=sum(each.saved for each in found),
        avoidable=sum(each.avoidable for each in found),
        failures=tuple(found),
        nodes=dict(nodes.most_common()),
    )


def _of(failures: Mapping[tuple[str, bool], Failure], key: tuple[str, bool]) -> Failure:
    return failures.get(key) or Failure(what=key[0], ruled=key[1])


def _with_raised(failure: Failure, raised: ExceptionRow, nodes: int, *, first: bool) -> Failure:
    """Add an exception of the rules; ``first``: it is the first one of its task."""
    counted = replace(
        failure,
        times=failure.times + 1,
        tasks=failure.tasks + first,
        recovered=failure.recovered + (raised.outcome in _WELL),
        lost=failure.lost + (raised.lost_work or 0.0) * nodes / _HOUR,
        saved=failure.saved + (raised.node_hours or 0.0),
    )
    return _noted(counted, raised.node, explain(raised.kind, raised.line, raised.detail), raised.time)


def _with_failed(failure: Failure, cause: Cause | None, row: TaskRow, lost: float, until: float) -> Failure:
    """Add a failed task for which no rule raised an exception."""
    helped = cause is not None and cause.advice in _RESTARTABLE
    counted = replace(
        failure,
        times=failure.times + 1,
        tasks=failure.tasks + 1,
        lost=failure.lost + lost,
        advice=failure.advice if cause is None else HELPS.get(cause.advice, ""),
        avoidable=failure.avoidable + (lost if helped else 0.0),
    )
    why = cause.text or cause.sentence if cause is not None else row.reason
    return _noted(counted, (cause.node if cause is not None else "") or row.node, why, row.ended or until)


def _raised(row: TaskRow) -> str:
    """Return the type of the exception that a function has raised, as the end of its traceback names it."""
    if row.exit_code != FUNCTION_RAISED:
        return ""
    last = printed_last(row)
    lines = last.stderr or last.stdout
    # The lines of a traceback are indented, and the exception's own line is the first one behind them.
    types = (_TYPE.match(line) for before, line in pairwise(lines) if before.startswith(" "))
    return next((found[1] for found in types if found), "")


def _noted(failure: Failure, node: str, why: str, time: float) -> Failure:
    """Add the node of a failure, and keep the line of the newest failure."""
    if node:
        failure = replace(failure, nodes={**failure.nodes, node: failure.nodes.get(node, 0) + 1})
    if time >= failure.newest:
        failure = replace(failure, why=shortened(why, _LINE), newest=time)
    return failure


def _node_hours(row: TaskRow, since: float, until: float) -> float:
    ran = sum(max((run.ended or until) - max(run.started, since), 0.0) for run in row.runs)
    return ran * row.nodes / _HOUR
