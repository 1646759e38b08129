"""The timeline of a workflow: a row for each task, with its attempts, exceptions and recoveries.

Each row is an SVG of its own as wide as its column. Places in time are percentages of that width, so that
one file fits a telephone, a desk and a sheet of paper without a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

import msgspec

from whesl.model.states import TaskState
from whesl.report.exception_row import UNDECIDED, ExceptionRow
from whesl.report.markup import Child, el
from whesl.report.report_records import Report, TaskRow
from whesl.report.text_report import seconds, stamp, why

# With more tasks than this, the uneventful tasks of a step are shown as one row.
FOLD = 40
# The most rows of one folded step; more rows would not be readable, and the JSON has all tasks.
MOST = 250
_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_MARKS = 7
_BINS = 120
_QUIET = frozenset({TaskState.COMPLETED.value, TaskState.REGISTERED.value})
_READING = "Each row is a task; what it shows stands in the tables below, too."
_FOLDED = "Tasks to which nothing happened are folded up by step: how many of them ran at once."
_HEIGHT = 26
_TOP, _BAR = 5, 12
_DIAMOND = "M0 2l7 9l-7 9l-7 -9z"


class Scale(msgspec.Struct, frozen=True):
    """A scale from seconds since the epoch to percent of the picture's width."""

    began: float
    until: float

    def place(self, when: float) -> float:
        """Return a time's place, within the picture."""
        share = (when - self.began) / (self.until - self.began)
        return 100.0 * min(max(share, 0.0), 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the places and labels of round times since the beginning."""
        length = self.until - self.began
        step = next((float(tick) for tick in _TICKS if length / tick <= _MARKS), 0.0)
        while step == 0.0 or length / step > _MARKS:
            step = (step or 86400.0) * 2
        if length < _MARKS / 2:
            step = length / 4
        count = int(length / step)
        return [(self.place(self.began + n * step), _elapsed(n * step)) for n in range(count + 1)]


def _elapsed(value: float) -> str:
    if value and value < 10 and value != int(value):
        return f"{value:.2g} s"
    value = round(value)
    if value < 60:
        return f"{value} s"
    if value < 3600:
        minutes, rest = divmod(value, 60)
        return f"{minutes}:{rest:02} min"
    days, hours = divmod(value / 3600, 24)
    clock = f"{int(hours)}:{round(hours % 1 * 60):02} h"
    return f"{int(days)} d {clock}" if days else clock


def timeline(report: Report) -> Element | None:
    """Return the figure, None for a workflow without any attempt."""
    if report.began is None or report.until is None:
        return None
    scale = Scale(report.began, max(report.until, report.began + 0.001))
    raised: dict[str, list[tuple[int, ExceptionRow]]] = {}
    for number, row in enumerate(report.exceptions, 1):
        raised.setdefault(row.task, []).append((number, row))
    tasks = sorted(report.tasks, key=lambda row: (row.started is None, row.started or 0.0))
    fold = len(tasks) > FOLD
    shown = [row for row in tasks if not fold or _eventful(row, raised)]
    folded = [row for row in tasks if fold and not _eventful(row, raised)]
    return el(
        "figure",
        el("figcaption", f"Time since {stamp(report.began)}. {_READING}", f" {_FOLDED}" if folded else None),
        _legend(report),
        _patterns(),
        el(
            "div",
            _grid(scale),
            _axis(scale),
            *(_row(row, raised.get(row.task, ()), scale) for row in shown),
            *_folded(folded, scale),
            class_="timeline",
        ),
        aria_labelledby="timeline",
    )


def _eventful(row: TaskRow, raised: dict[str, list[tuple[int, ExceptionRow]]]) -> bool:
    return row.task in raised or row.state not in _QUIET or bool(row.run_again)


def _legend(report: Report) -> Element:
    """Return the legend of the picture's signs."""
    failed = any(row.state in (TaskState.FAILED, TaskState.CANCELLED) for row in report.tasks)
    signs: list[tuple[bool, Element, str]] = [
        (any(row.queue_wait for row in report.tasks), _bar(0, 100, "wait", 9, 4), "in the queue"),
        (True, _bar(0, 100, "run"), "attempt"),
        (failed, _bar(0, 100, "run lost"), "attempt that failed for good"),
        (bool(report.exceptions), _mark(50, "raised"), "exception"),
        (
            any(row.seconds is not None for row in report.exceptions),
            _bar(0, 100, "recovery"),
            "until it ran again",
        ),
        (
            any(row.outcome in UNDECIDED for row in report.exceptions),
            _bar(0, 100, "undecided"),
            "open, paused or escalated",
        ),
        (
            any(row.saved is not None for row in report.exceptions),
            _bar(0, 100, "avoided", 9, 6),
            "wait avoided (resubmission)",
        ),
    ]
    items = (
        el("li", el("svg", sign, width="28", height="22", aria_hidden="true"), text)
        for wanted, sign, text in signs
        if wanted
    )
    return el("ul", *items, class_="legend")


def _patterns() -> Element:
    """Return hatchings, which readers tell apart without colours."""

    def hatch(name: str, size: str, path: str) -> Element:
        return el(
            "pattern",
            el("path", d=path, class_=f"stroke-{name}"),
            id=name, width=size, height=size, patternUnits="userSpaceOnUse",
        )  # fmt: skip

    return el(
        "svg",
        el(
            "defs",
            hatch("avoided", "6", "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"),
            hatch("lost", "5", "M0 0L5 5M5 0L0 5"),
            hatch("undecided", "6", "M-1 -1L7 7M-1 5L1 7M5 -1L7 1"),
        ),
        width="0", height="0", class_="defs", aria_hidden="true",
    )  # fmt: skip


def _grid(scale: Scale) -> Element:
    lines = (el("line", x1=_p(x), x2=_p(x), y1="0", y2="100%") for x, _ in scale.ticks())
    return el("svg", *lines, class_="grid", aria_hidden="true")


def _axis(scale: Scale) -> Element:
    words = [
        el("text", text, x=_p(x), y="14", class_=_anchor(x, number))
        for number, (x, text) in enumerate(scale.ticks())
    ]
    return el("div", el("span"), el("svg", *words, height="20", aria_hidden="true"), class_="row axis")


def _anchor(x: float, number: int) -> str:
    side = "first" if x < 4 else "last" if x > 94 else "middle"
    return f"{side} minor" if number % 2 else side


def _row(row: TaskRow, raised: Sequence[tuple[int, ExceptionRow]], scale: Scale) -> Element:
    name = row.task.partition("/")[2] or row.task
    said = _told(row, raised)
    parts: list[Child] = [el("title", f"{name}: {said}")]
    if row.submitted is not None and row.started is not None:
        parts.append(_bar(scale.place(row.submitted), scale.place(row.started), "wait", 9, 4))
    for run in row.runs:
        lost = run is row.runs[-1] and row.state in (TaskState.FAILED, TaskState.CANCELLED)
        ended = scale.until if run.ended is None else run.ended
        text = f"attempt {run.attempt}, {seconds(ended - run.started)}"
        parts.append(
            _bar(scale.place(run.started), scale.place(ended), "run lost" if lost else "run", title=text)
        )
    for number, item in raised:
        parts += _exception(number, item, row, scale)
    # A row with links in it is a group; a picture's parts cannot be reached.
    role = "group" if raised else "img"
    picture = el("svg", *parts, height=str(_HEIGHT), role=role, aria_label=f"{name}: {said}")
    return el(
        "div",
        el("span", name, class_="name", title=name),
        picture,
        class_=f"row {row.state}",
    )


def _told(row: TaskRow, raised: Sequence[tuple[int, ExceptionRow]]) -> str:
    words = [row.state]
    if row.attempts > 1:
        words.append(f"{row.attempts} attempts")
    for _, item in raised:
        took = f" in {seconds(item.seconds)}" if item.seconds is not None else ""
        words.append(f"{item.exception} {item.outcome}{took}")
    return ", ".join(words)


def _exception(number: int, item: ExceptionRow, row: TaskRow, scale: Scale) -> list[Child]:
    parts: list[Child] = []
    at = scale.place(item.time)
    if item.resubmission is not None and item.seconds is not None:
        # Lost work is repeated with and without WHESL; a recovery saves only the wait.
        waited = item.resubmission - (item.lost_work or 0.0)
        parts.append(_bar(at, scale.place(item.time + waited), "avoided", 19, 6))
        if item.time + waited > scale.until:
            parts.append(_at(100, el("path", d="M-5 19l5 3l-5 3", class_="beyond")))
    if item.seconds is not None:
        text = f"{item.exception}: {item.outcome}, running again after {seconds(item.seconds)}"
        parts.append(_bar(at, scale.place(item.time + item.seconds), "recovery", title=text))
    elif item.outcome in UNDECIDED:
        ended = next((time for time in (item.ended, row.ended) if time is not None), scale.until)
        parts.append(_bar(at, scale.place(ended), "undecided", title=f"{item.exception}: {item.outcome}"))
    told = f"{item.exception}: {why(item)}"
    mark = _mark(at, f"raised {item.outcome}")
    parts.append(el("a", el("title", told), mark, href=f"#e{number}", aria_label=told))
    return parts


def _bar(
    start: float, end: float, kind: str, top: int = _TOP, height: int = _BAR, title: str = ""
) -> Element:
    """Return a bar; its outline keeps it visible where it is thinner than a pixel."""
    return el(
        "rect",
        el("title", title) if title else None,
        x=_p(start), width=_p(max(end - start, 0.0)), y=str(top), height=str(height), class_=kind,
    )  # fmt: skip


def _mark(at: float, kind: str) -> Element:
    return _at(at, el("path", d=_DIAMOND, class_=kind))


def _at(place: float, shape: Element) -> Element:
    return el("svg", shape, x=_p(place), y="0", width="1", height=str(_HEIGHT), class_="at")


def _folded(tasks: Iterable[TaskRow], scale: Scale) -> Iterable[Element]:
    """Yield a row for each step's uneventful tasks, which opens into a row for each task."""
    for step, group in groupby(sorted(tasks, key=lambda row: row.step), key=lambda row: row.step):
        rows = list(group)
        name = f"{step or 'tasks'} × {len(rows):,}"  # noqa: RUF001 - the sign of multiplication is meant
        inside: list[Child] = [_row(row, (), scale) for row in rows[:MOST]]
        if len(rows) > MOST:
            inside.append(el("p", f"and {len(rows) - MOST} more: whesl report --json has all", class_="more"))
        yield el(
            "details",
            el(
                "summary",
                el("span", name, class_="name", title=name),
                el(
                    "svg",
                    el("title", f"{name}, nothing was raised; the height is how many ran at once"),
                    _density(rows, scale),
                    height=str(_HEIGHT), role="img", aria_label=name,
                ),
                class_="row",
            ),
            *inside,
        )  # fmt: skip


def _density(rows: Sequence[TaskRow], scale: Scale) -> Element:
    """Return how many of the tasks ran at once, as an area of its own stretched coordinates."""
    changes = [0] * (_BINS + 1)
    for row in rows:
        for run in row.runs:
            first = int(scale.place(run.started) / 100 * (_BINS - 1))
            last = int(scale.place(scale.until if run.ended is None else run.ended) / 100 * (_BINS - 1))
            changes[first] += 1
            changes[last + 1] -= 1
    counts, at_once = [], 0
    for change in changes[:_BINS]:
        at_once += change
        counts.append(at_once)
    most = max((*counts, 1))
    path = "M0 1" + "".join(f"V{1 - count / most:.3f}H{n + 1}" for n, count in enumerate(counts)) + "V1z"
    return el(
        "svg",
        el("path", d=path, class_="density"),
        viewBox=f"0 0 {_BINS} 1", preserveAspectRatio="none", width="100%", height=str(_BAR + 6), y="4",
    )  # fmt: skip


def _p(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") + "%"
