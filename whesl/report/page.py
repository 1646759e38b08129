"""A report as one self-contained HTML file, without network, scripts or fonts.

The page's Content-Security-Policy forbids all resources except its one style sheet, by digest. Content of
logs is inserted as text, never as markup; see ``whesl.report.markup``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from whesl import __version__
from whesl.model.evidence import LastLines
from whesl.model.states import TaskState
from whesl.report import markup, text_report
from whesl.report.exception_row import ExceptionRow
from whesl.report.markup import Child, el
from whesl.report.report_records import Report, TaskRow
from whesl.report.text_report import seconds, stamp
from whesl.report.timeline import FOLD, timeline

# Up to this number of exceptions, their details are shown open; with more, readers open details themselves.
_OPEN = 12
_TONES = {
    "recovered": "good",
    "completed": "good",
    "skipped": "good",
    "observed": "calm",
    "transformed": "calm",
    "registered": "calm",
    "running": "calm",
    "failed": "bad",
    "cancelled": "bad",
}


def html(report: Report) -> str:
    """Return the report as a page.

    Args:
        report: the report, whose texts may contain any characters.
    """
    return markup.page(f"{report.workflow}: report", el("main", *_parts(report)), _footer(report))


def _parts(report: Report) -> Iterable[Child]:
    yield _header(report)
    yield _tiles(report)
    yield _section("Timeline", timeline(report), name="timeline")
    yield _section("Exceptions", *_exceptions(report))
    if again := text_report.again_lines(report):
        yield _section("Jobs that ran again", _list(again))
    if told := text_report.node_lines(report):
        yield _section("What a task's user should know", _list(told))
    if report.bad_nodes:
        yield _section("Nodes to report", *_bad_nodes(report))
    for title, tasks in text_report.by_group(report):
        yield _section(f"Tasks: {title}" if title else "Tasks", _tasks(report, tasks))
    if report.totals.recovered:
        yield _section("How the savings are computed", *_method(report))
    if report.damaged:
        yield _section("Not read", _list(report.damaged))


def _section(title: str, *children: Child, name: str = "") -> Element | None:
    if not any(isinstance(child, Element) for child in children):
        return None
    return el("section", el("h2", title, id=name or title.lower().replace(" ", "-")), *children)


def _list(lines: Iterable[str]) -> Element:
    return el("ul", *(el("li", line) for line in lines), class_="plain")


def _header(report: Report) -> Element:
    totals = report.totals
    moving = sum(not TaskState(row.state).final for row in report.tasks)
    tone = "bad" if totals.failed else "calm" if moving or totals.cancelled else "good"
    said = [f"{totals.completed} of {text_report.count(totals.tasks, 'task')} completed"]
    if totals.failed:
        said.append(f"{totals.failed} failed")
    if totals.observed:
        said.append(f"{totals.observed} failed while only observed")
    if totals.cancelled:
        said.append(f"{totals.cancelled} cancelled")
    if moving:
        said.append(f"{moving} not ended yet")
    if not totals.exceptions:
        told = "No exception was raised."
    elif totals.recovered == totals.exceptions:
        told = f"{text_report.count(totals.exceptions, 'exception')}, all recovered in place."
    else:
        told = f"{text_report.count(totals.exceptions, 'exception')}, {text_report.became(report)}."
    facts = [report.wms, report.root]
    if report.began is not None and report.until is not None:
        facts.append(f"{stamp(report.began)}, for {seconds(report.until - report.began)}")
    return el(
        "header",
        el("p", "WHESL report", class_="kicker"),
        el("h1", report.workflow),
        el("p", f"{', '.join(said)}. {told}", class_=f"verdict {tone}"),
        el("p", " · ".join(fact for fact in facts if fact), class_="facts"),
    )


def _tiles(report: Report) -> Element:
    totals = report.totals
    tiles = [("tasks completed", f"{totals.completed:,}", f"of {totals.tasks:,}")]
    tiles.append(("exceptions", f"{totals.exceptions:,}", text_report.became(report)))
    if totals.recovered:
        mean = seconds(totals.recovery_seconds / totals.recovered)
        wait = report.assumptions.queue_wait
        waits = f"of {seconds(wait)} each" if wait else "none was measured; --queue-wait gives one"
        tiles += [
            ("from raised to running", mean, f"on average; {seconds(totals.recovery_seconds)} in all"),
            ("queue waits avoided", f"{totals.recovered:,}", waits),
            ("node-hours saved", f"{totals.node_hours:,.2f}", f"{seconds(totals.saved_seconds)} of delay"),
        ]
    cells = ((name, (el("strong", value), el("span", more))) for name, value, more in tiles)
    return el("dl", *(el("div", el("dt", n), el("dd", *cell)) for n, cell in cells), class_="tiles")


def _definitions(known: Iterable[tuple[str, Child]]) -> Element:
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in known))


# Exceptions ------------------------------------------------------------------------------------------------


def _exceptions(report: Report) -> Iterable[Element]:
    unfolded = len(report.exceptions) <= _OPEN
    for number, row in enumerate(report.exceptions, 1):
        yield _exception(number, row, unfolded)


def _exception(number: int, row: ExceptionRow, unfolded: bool) -> Element:
    details = el(
        "details",
        el(
            "summary",
            el("strong", row.exception),
            " in ",
            el("span", row.task.partition("/")[2] or row.task, class_="task"),
            " ",
            _badge(row.outcome),
            el("span", f" in {seconds(row.seconds)}") if row.seconds is not None else None,
        ),
        # The target is inside, so that a link to it opens the closed details.
        el("div", *_evidence(row), id=f"e{number}"),
        class_=f"exception {_TONES.get(row.outcome, 'warn')}",
    )
    if unfolded:
        details.set("open", "")
    return details


def _badge(word: str, code: int | None = None) -> Element:
    return el("span", f"{word} ({code})" if code else word, class_=f"badge {_TONES.get(word, 'warn')}")


def _evidence(row: ExceptionRow) -> Iterable[Child]:
    printed = _printed(row.last)
    # The line of an exit is the last line of output.
    if row.line and (row.kind != "exit" or printed is None):
        yield el("pre", el("code", row.line), tabindex="0", aria_label="the line that was seen")
    known: list[tuple[str, Child]] = [
        ("what", row.detail.strip().split("\n", 1)[0] if row.detail else ""),
        ("pattern", el("code", row.pattern) if row.pattern else ""),
        ("where", row.place),
        ("node", row.node),
        ("when", f"{stamp(row.time)}, {text_report.during(row)}"),
        ("instead of", ", ".join(row.transformed_from)),
        ("also seen", _list(row.others) if row.others else ""),
        ("printed last", printed if printed is not None else ""),
        ("stacks", row.stacks),
        ("done", el("ol", *(el("li", step) for step in row.steps)) if row.steps else row.action),
        ("because", row.reason),
        ("restarted in", seconds(row.seconds) if row.seconds is not None else ""),
        ("recovered", row.because),
        ("saved", _saved(row)),
    ]
    yield _definitions((name, value) for name, value in known if value != "")


def _saved(row: ExceptionRow) -> str:
    if row.saved is None or row.node_hours is None:
        return ""
    against = f"{seconds(row.saved)} against a resubmission of {seconds(row.resubmission)}"
    return f"{against}; {row.node_hours:.3f} node-hours"


# Nodes and tasks -------------------------------------------------------------------------------------------


def _bad_nodes(report: Report) -> Iterable[Element]:
    yield el("p", "For the site's administrators: recoveries took these nodes out of use.")
    rows: Iterable[Sequence[Child]] = (
        [el("strong", bad.node), bad.task.partition("/")[2], stamp(bad.time), bad.reason]
        for bad in report.bad_nodes
    )
    yield markup.table("nodes to report", ("node", "task", "seen", "why"), rows)


def _tasks(report: Report, tasks: Sequence[TaskRow]) -> Element:
    columns = ("task", "state", "attempts", "exceptions", "nodes", "jobs", "queue wait", "ran", "reason")
    raised: dict[str, list[int]] = {}
    for number, row in enumerate(report.exceptions, 1):
        raised.setdefault(row.task, []).append(number)
    table = markup.table("tasks", columns, (_task(row, raised.get(row.task, [])) for row in tasks))
    if len(tasks) <= FOLD:
        return table
    return el("details", el("summary", f"All {len(tasks):,} tasks"), table, class_="all")


def _task(row: TaskRow, raised: list[int]) -> list[Child]:
    ran = row.ended - row.started if row.started is not None and row.ended is not None else None
    links: list[Child] = []
    for number in raised:
        links += [" " if links else None, el("a", f"no. {number}", href=f"#e{number}")]
    return [
        row.task.partition("/")[2] or row.task,
        _badge(row.state, row.exit_code),
        str(row.attempts),
        el("span", *links) if links else "-",
        str(row.nodes),
        ", ".join(row.jobs) or "-",
        seconds(row.queue_wait),
        seconds(ran),
        el("span", row.reason or "-", _cause(row), _printed_last(row)),
    ]


def _cause(row: TaskRow) -> Element | None:
    cause = text_report.died_of(row)
    return (
        el("details", el("summary", f"cause: {cause.cause.value}"), el("p", cause.told())) if cause else None
    )


def _printed_last(row: TaskRow) -> Element | None:
    printed = _printed(text_report.printed_last(row))
    return el("details", el("summary", "printed last"), printed) if printed is not None else None


def _printed(last: LastLines) -> Element | None:
    """Return the last lines of a failed attempt, None when there are none."""
    if not last.clearest:
        return None
    code = el("code", "\n".join(text_report.last_lines(last)))
    return el("pre", code, tabindex="0", aria_label="what was printed last")


def _method(report: Report) -> Iterable[Element]:
    given = report.assumptions
    measured = (
        f"the mean of {text_report.count(given.waits, 'wait')} measured in this workflow"
        if given.waits
        else "as given"
    )
    poll = f"{seconds(given.poll_interval)}: how long a manager takes at most to see that a job has ended"
    words = {
        "recovered": "the restarted attempt completed, or went on clearly past what had failed",
        "resubmission": "queue wait + poll interval + work lost by the failed attempt",
        "in place": "time from raised to running again + work lost by the failed attempt",
        "saved": "resubmission - in place; the lost work is on both sides and cancels out",
        "node-hours": "what was saved times the task's nodes: the delay of results, weighted by size",
        "queue wait": f"{seconds(given.queue_wait)}, {measured}",
        "poll interval": poll,
    }
    yield _definitions(words.items())


def _footer(report: Report) -> Element:
    return el(
        "footer",
        el("p", f"Made by WHESL {__version__} at {stamp(time.time())} from the workflow's own journals."),
    )
