"""A summary of one task from its journal: a few lines for people, and JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whesl.model.evidence import Cause, LastLines, explain, shortened
from whesl.model.printable import visible
from whesl.model.workflow import Task
from whesl.report.exception_row import ExceptionRow
from whesl.report.task_row_from_records import TaskFold
from whesl.runtime.journal.records import isolator_records as records

_LONGEST = 120
_REMARKED = 3  # the most exceptions that a job's record names
_LONGEST_REMARK = 240


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a task. Times are in seconds. ``unwatched``: a note that no exception covers the task.

    ``handled``: exceptions and their outcomes, as in a report (``whesl.report.exception_row``). ``notes``:
    further notes for the user. ``last`` and ``cause``: last lines and cause of a final failed attempt.
    """

    task: str
    state: str
    exit_code: int
    reason: str
    attempts: int
    seconds: float
    handled: list[ExceptionRow]
    dropped: int
    unwatched: str = ""
    notes: tuple[str, ...] = ()
    last: LastLines = LastLines()
    cause: Cause | None = None


def summarise(
    task: Task,
    written: Iterable[tuple[records.AnyRecord, float]],
    ended: records.Finished,
    notes: tuple[str, ...] = (),
    unwatched: str = "",
) -> Summary:
    """Return the summary of a task.

    Args:
        task: the task.
        written: the records of the task's journal with their times.
        ended: the record of the task's end.
        notes: further notes for the user, a line each.
        unwatched: a note that no exception of the rules covers the task, "" where one does.
    """
    fold = TaskFold(task, {})
    times, dropped = [], 0
    for record, time in written:
        times.append(record.start(time) if isinstance(record, records.Launched) else time)
        dropped += record.times if isinstance(record, records.Dropped) else 0
        fold.take(record, time)
    return Summary(
        task=task.id,
        state=ended.state.value,
        exit_code=ended.code,
        reason=ended.reason,
        attempts=fold.row.attempts,
        seconds=times[-1] - min(times) if times else 0.0,
        handled=fold.raised(),
        dropped=dropped,
        unwatched=unwatched,
        notes=(*fold.row.unseen, *notes),
        last=fold.row.runs[-1].last if ended.code and fold.row.runs else LastLines(),
        cause=fold.row.runs[-1].cause if ended.code and fold.row.runs else None,
    )


def _why(row: ExceptionRow) -> str:
    if not row.kind:
        return "no evidence"
    return shortened(f"{row.kind}: {explain(row.kind, row.line, row.detail) or row.pattern}", _LONGEST)


def text(summary: Summary) -> str:
    """Return a summary for people, without control characters of the log."""
    attempts = f"{summary.attempts} attempt{'s' if summary.attempts != 1 else ''}"
    because = f" ({summary.reason})" if summary.reason else ""
    lines = [
        f"whesl: {summary.task} {summary.state}, exit status {summary.exit_code}, {attempts}, "
        f"{summary.seconds:.1f} s{because}"
    ]
    if summary.unwatched:
        lines.append(f"  {summary.unwatched}")
    for item in summary.handled:
        via = f" (from {' -> '.join(item.transformed_from)})" if item.transformed_from else ""
        lines.append(f"  raised {item.exception}{via}: {_why(item)}")
        if item.place:
            lines.append(f"    seen at {item.place}")
        if item.stacks:
            lines.append(f"    stacks are in {item.stacks}")
        what = ", then ".join(item.steps) or "nothing to be done"
        if item.outcome == "observed":
            lines.append(f"    {item.action}: {what}; nothing was touched")
        elif item.action == "recover":
            after = f"; running again after {item.seconds:.2f} s" if item.seconds is not None else ""
            if item.because:
                lines.append(f"    recovered: {what}{after}; {item.because}")
            else:
                lines.append(f"    restarted: {what}{after}; it did not go on past this")
        else:
            lines.append(f"    {item.action}: {item.reason}")
    if summary.dropped:
        lines.append(f"  {summary.dropped} further detections were consequences of these")
    if summary.cause is not None:
        lines.append(f"  cause: {summary.cause.told()}")
    for name, printed in (("stdout", summary.last.stdout), ("stderr", summary.last.stderr)):
        lines += [f"  last of {name}: {line}" for line in printed]
    lines += [f"  {note}" for note in summary.notes]
    return "\n".join(visible(line.replace("\n", " ")) for line in lines) + "\n"


def remark(summary: Summary) -> str:
    """Return a summary in a few words, for a job's record at its resource manager.

    Empty for a task that has completed without anything worth a line.
    """
    if summary.exit_code == 0 and not summary.handled:
        return ""
    attempts = f"{summary.attempts} attempt{'s' if summary.attempts != 1 else ''}"
    status = f" ({summary.exit_code})" if summary.exit_code else ""
    raised = [f"{item.exception}: {item.action or 'raised'}" for item in summary.handled]
    shown = raised if len(raised) <= _REMARKED else [*raised[:_REMARKED], f"{len(raised) - _REMARKED} more"]
    parts = [f"{summary.task} {summary.state}{status}", attempts, *shown, summary.reason]
    text = visible(" ".join("; ".join(part for part in parts if part).split()))
    return text if len(text) <= _LONGEST_REMARK else f"{text[: _LONGEST_REMARK - 3]}..."
