"""A report as text: tables for a terminal, and Markdown."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from whesl.model.evidence import Cause, LastLines, explain, shortened
from whesl.model.printable import visible
from whesl.report.exception_row import ExceptionRow
from whesl.report.handover_record import HandedOver
from whesl.report.report_records import Report, TaskRow

_LINE = 160
_NAMES = 5  # the most names of tasks in one line
_PIPE = 1_000  # columns of a table that is written to a pipe
# The most exceptions and tasks that are shown; tasks that simply completed are left out first.
_MOST = 250
_QUIET = frozenset({"completed", "skipped", "registered"})
_GOOD = frozenset({"recovered", "completed", "skipped", "observed", "transformed"})
_BAD = frozenset({"failed", "cancelled"})


def seconds(value: float | None) -> str:
    """Return a duration in words: ``0.42 s``, ``3 min 20 s``, ``2 h 5 min``; a dash for None."""
    if value is None:
        return "-"
    if abs(value) < 10:
        return f"{value:.2f} s"
    if abs(value) < 120:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def stamp(when: float) -> str:
    """Return a time in the local zone: ``2026-11-21 22:34:51 CET``."""
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(when))


def why(row: ExceptionRow) -> str:
    """Return in one line why an exception was raised, cut to a table's width."""
    text = visible(explain(row.kind, row.line, row.detail) or row.kind)
    return shortened(text, _LINE)


def where(row: ExceptionRow) -> str:
    """Return the place of an exception: ``file, byte 104, node``; a dash where it is not known."""
    return ", ".join(part for part in (row.place, row.node) if part) or "-"


def done(row: ExceptionRow) -> str:
    """Return the actions on an exception, with a reason where they were not the rule's first choice."""
    steps = visible("; ".join(row.steps) or row.action or "-")
    word, _, told = visible(row.reason).partition(": ")
    if told and told in steps:
        # The note of a failed step contains the outcome already.
        return f"{steps} [{word}]"
    return f"{steps} [{visible(row.reason)}]" if row.reason else steps


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 task``, ``1,200 tasks``.

    Args:
        number: the number.
        noun: the noun in the singular.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def headline(report: Report) -> str:
    """Return the report in one sentence."""
    totals = report.totals
    ended = f"{totals.completed} of {count(totals.tasks, 'task')} completed, {totals.failed} failed"
    if totals.observed:
        ended += f", {totals.observed} failed while only observed"
    if totals.cancelled:
        ended += f", {totals.cancelled} cancelled"
    return f"{ended}; {count(totals.exceptions, 'exception')}, {became(report)}"


def became(report: Report) -> str:
    """Return the outcomes of exceptions: how many were recovered, and how many only restarted."""
    totals = report.totals
    again = f", {totals.restarted} restarted" if totals.restarted else ""
    return f"{totals.recovered} recovered in place{again}"


def worth(report: Report) -> list[str]:
    """Return sentences on the time of recoveries and the avoided costs of resubmission."""
    totals, given = report.totals, report.assumptions
    if not totals.recovered:
        return []
    if given.waits:
        wait = f"{seconds(given.queue_wait)} in the queue (mean of {count(given.waits, 'measured wait')})"
    else:
        wait = f"{seconds(given.queue_wait)} in the queue"
    return [
        f"recovery took {seconds(totals.recovery_seconds)} in all,"
        f" {seconds(totals.recovery_seconds / totals.recovered)} on average",
        f"resubmission would have cost {seconds(totals.saved_seconds)} and {totals.node_hours:.3f} node-hours"
        f" more: each time {wait} and up to {seconds(given.poll_interval)} until the manager sees it",
    ]


_EXCEPTION_COLUMNS = (
    "task",
    "raised",
    "when",
    "why",
    "pattern",
    "where",
    "done",
    "in",
    "resubmission",
    "outcome",
)


def _exception_cells(row: ExceptionRow) -> list[str]:
    name = " < ".join((row.exception, *reversed(row.transformed_from)))
    return [
        _plain(row.task.partition("/")[2]),
        _plain(f"{name} ({during(row).removeprefix('in ')})"),
        stamp(row.time),
        _code(why(row)),
        _code(visible(row.pattern)) if row.pattern else "-",
        _code(visible(where(row))),
        _plain(done(row)),
        seconds(row.seconds),
        seconds(row.resubmission),
        _plain(row.outcome),
    ]


_TASK_COLUMNS = ("task", "state", "attempts", "nodes", "jobs", "queue wait", "ran")


def _task_cells(row: TaskRow) -> list[str]:
    ran = row.ended - row.started if row.started is not None and row.ended is not None else None
    return [
        row.task.partition("/")[2],
        _state(row),
        str(row.attempts),
        str(row.nodes),
        ", ".join(row.jobs) or "-",
        seconds(row.queue_wait),
        seconds(ran),
    ]


def _state(row: TaskRow) -> str:
    return row.state if row.exit_code in (None, 0) else f"{row.state} ({row.exit_code})"


def bad_node_lines(report: Report) -> list[str]:
    """Return a line for each node that the site's administrators should check."""
    return [
        visible(f"{bad.node}: {bad.reason} (seen by {bad.task}, {stamp(bad.time)})")
        for bad in report.bad_nodes
    ]


def again_lines(report: Report) -> list[str]:
    """Return a line for each requeue of a job."""
    return [
        f"{row.task.partition('/')[2]}: job {again.job or '-'} was to run again: {again.reason}"
        for row in report.tasks
        for again in row.run_again
    ]


def node_lines(report: Report) -> list[str]:
    """Return further lines about tasks, beside exceptions.

    They name attempts on other clusters, ended leases with killed processes, outdated names of nodes,
    restarts of coupled tasks that a task did not hear of, and detections without any input.
    """
    return [
        visible(f"{row.task.partition('/')[2]}: {why}")
        for row in report.tasks
        for why in (
            *(_handed_over(handed, row.nodes) for handed in row.handed_over),
            *row.leases_ended,
            *row.outdated,
            *row.coupled,
            *row.unseen,
        )
    ]


def _handed_over(attempt: HandedOver, nodes: int) -> str:
    end = "given up" if attempt.status is None else f"status {attempt.status}"
    return (
        f"attempt {attempt.attempt} ran as job {attempt.job} on {attempt.cluster}: {end} after "
        f"{seconds(attempt.seconds)}, {count(attempt.files, 'file')} brought back; "
        f"{count(nodes, 'node')} here waited"
    )


def reason_lines(report: Report) -> list[str]:
    """Return why tasks have not completed, a line for each reason: ``a, b: failed (1): the reason``."""
    told: dict[tuple[str, str], list[TaskRow]] = {}
    for row in report.tasks:
        if row.state in _BAD and row.reason:
            told.setdefault((_state(row), row.reason), []).append(row)
    lines = []
    for (state, reason), rows in told.items():
        names = _names([row.task.partition("/")[2] for row in rows])
        lines.append(visible(f"{names}: {state}: {reason}"))
        if (cause := died_of(rows[0])) is not None:
            lines.append(visible(f"  cause: {cause.told()}"))
        lines += [visible(f"  {line}") for line in last_lines(printed_last(rows[0]))]
    return lines


def died_of(row: TaskRow) -> Cause | None:
    """Return the cause of a failed task's last attempt, None where it is not known."""
    return row.runs[-1].cause if row.runs and row.state in _BAD else None


def printed_last(row: TaskRow) -> LastLines:
    """Return the last lines of output of a failed task's last attempt."""
    return row.runs[-1].last if row.runs and row.state in _BAD else LastLines()


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def terminal(report: Report) -> RenderableType:
    """Return the report for a terminal."""
    parts: list[RenderableType] = [
        Text(f"{report.workflow}: {headline(report)}", style="bold"),
        *(Text(line) for line in worth(report)),
    ]
    parts += [Text(f"\n{line}") for line in (*again_lines(report), *node_lines(report))]
    raised: dict[str, list[ExceptionRow]] = {}
    for row in report.exceptions:
        raised.setdefault(row.task, []).append(row)
    for title, tasks in by_group(report):
        if title:
            parts.append(Text(f"\n{visible(title)}", style="bold"))
        of = sorted((row for task in tasks for row in raised.get(task.task, ())), key=lambda row: row.time)
        for row in of[:_MOST]:
            parts += _block(row)
        parts += _left_out(len(of) - _MOST, "exception")
        shown = tasks if len(tasks) <= _MOST else [row for row in tasks if _eventful(row, raised)][:_MOST]
        if shown or not tasks:
            parts.append(_table("\nTasks", _TASK_COLUMNS, map(_task_cells, shown)))
        parts += _left_out(len(tasks) - len(shown), "task")
    if reasons := reason_lines(report):
        parts += [Text("\nNot completed", style="bold"), *(Text(line) for line in reasons)]
    if report.bad_nodes:
        parts += [Text("\nNodes to report", style="bold"), *(Text(line) for line in bad_node_lines(report))]
    parts += [Text(f"not read: {line}", style="red") for line in report.damaged]
    return Group(*parts)


def _eventful(row: TaskRow, raised: Mapping[str, object]) -> bool:
    return row.task in raised or row.state not in _QUIET


def _left_out(number: int, noun: str) -> list[Text]:
    return [Text(f"and {count(number, noun)} more: whesl report --json", style="dim")] if number > 0 else []


def by_group(report: Report) -> list[tuple[str, list[TaskRow]]]:
    """Return the tasks by group, with the groups' titles; a workflow is one group without a title."""
    found: dict[str, list[TaskRow]] = {}
    for row in report.tasks:
        found.setdefault(str(row.group) if row.group is not None else "", []).append(row)
    newest_first = sorted(found.items(), key=lambda item: -max(row.started or 0.0 for row in item[1]))
    return newest_first or [("", [])]


def during(row: ExceptionRow) -> str:
    """Return the attempt, and the job, in which an exception was raised."""
    attempt = f"in attempt {row.attempt}" if row.attempt else "before attempt 1"
    return f"{attempt} of job {row.job}" if row.job else attempt


def last_lines(last: LastLines) -> list[str]:
    """Return a failed attempt's last lines of output, each with its stream."""
    return [
        f"{name}: {line}"
        for name, lines in (("stdout", last.stdout), ("stderr", last.stderr))
        for line in lines
    ]


def _block(row: ExceptionRow) -> list[Text]:
    """Return one exception in a few lines, which stay readable at any width."""
    style = "red" if row.outcome in _BAD else "green" if row.outcome in _GOOD else "yellow"
    name = " < ".join((row.exception, *reversed(row.transformed_from)))
    head = Text(f"\n{row.task.partition('/')[2]}: {name} {during(row)}, ")
    head.append(row.outcome, style=style)
    if row.seconds is not None:
        head.append(f" in {seconds(row.seconds)}")
    lines = [head, Text(f"  why   {why(row)}  ({where(row)})"), Text(f"  done  {done(row)}")]
    lines += [Text(f"  last  {visible(line)}", style="dim") for line in last_lines(row.last)]
    if row.because:
        lines.append(Text(f"  then  {visible(row.because)}", style="dim"))
    if row.stacks:
        lines.append(Text(f"  see   {row.stacks}", style="dim"))
    if row.saved is not None:
        lines.append(
            Text(f"  cost  resubmission {seconds(row.resubmission)}, saved {seconds(row.saved)}", style="dim")
        )
    return lines


def _table(title: str, columns: Sequence[str], rows: Iterable[list[str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False, box=None)
    for column in columns:
        table.add_column(column, overflow="fold", header_style="dim")
    for cells in rows:
        words = {word for cell in cells for word in cell.split(" ", 1)[:1]}
        style = "red" if words & _BAD else "green" if words & _GOOD else "yellow"
        # Cells are data: brackets in a log's line are not markup.
        table.add_row(
            *(Text(cell) for cell in cells[:-1]), Text(cells[-1]), style=None if style == "green" else style
        )
    return table


def markdown(report: Report) -> str:
    """Return the report as Markdown; text from logs is escaped."""
    lines = [f"# {_plain(report.workflow)}", "", headline(report) + ".", ""]
    lines += [f"- {line}" for line in worth(report)]
    if report.exceptions:
        lines += ["", "## Exceptions", ""]
        lines += _markdown_table(_EXCEPTION_COLUMNS, map(_exception_cells, report.exceptions))
    lines += [f"\n{_plain(line)}" for line in (*again_lines(report), *node_lines(report))]
    for title, tasks in by_group(report):
        heading = f"Tasks: {_plain(title)}" if title else "Tasks"
        cells = (map(_plain, _task_cells(row)) for row in tasks)
        lines += ["", f"## {heading}", "", *_markdown_table(_TASK_COLUMNS, cells)]
    if reasons := reason_lines(report):
        lines += ["", "## Not completed", "", *(f"- {_plain(line)}" for line in reasons)]
    if report.bad_nodes:
        lines += ["", "## Nodes to report", "", *(f"- {_plain(line)}" for line in bad_node_lines(report))]
    if report.damaged:
        lines += ["", "## Not read", "", *(f"- {_plain(line)}" for line in report.damaged)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return text with its Markdown characters escaped."""
    # An underscore inside a word is no markup, so names of tasks stay readable.
    return re.sub(r"([\\`*<\[\]&!|~]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", " ".join(visible(text).split()))


def _code(text: str) -> str:
    """Return text as code in a table's cell, between more backticks than it contains in a row."""
    line = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def _markdown_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    return [line(columns), line("---" for _ in columns), *(line(cells) for cells in rows)]


def show(report: Report, console: Console) -> None:
    """Print the report on a terminal or, without colours and at full width, into a pipe.

    Args:
        report: the report.
        console: the console to print on.
    """
    if console.is_terminal:
        console.print(terminal(report))
    else:
        # Rich wraps a table at the 80 columns that it assumes for a pipe.
        before, console.width = console.width, _PIPE
        console.print(terminal(report), soft_wrap=True)
        console.width = before
