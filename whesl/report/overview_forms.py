"""The forms of the overview of some days: text for a terminal, and a page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from rich.console import Console
from rich.table import Table

from whesl.model.printable import visible
from whesl.report import markup
from whesl.report.markup import el
from whesl.report.overview import Failure, Overview
from whesl.report.text_report import count, stamp

_NODES = 5
_PIPE = 1_000  # columns of a table that is written to a pipe
_COLUMNS = (
    "what failed",
    "times",
    "tasks",
    "recovered",
    "node-hours lost",
    "saved",
    "for want of a rule",
    "nodes",
    "why",
)
_DEFAULT = "Failures that a restart helps are handled by the rules that ship: whesl exec -e default"


def headline(found: Overview) -> list[str]:
    """Return the overview in a few sentences."""
    lines = [
        f"{stamp(found.since)} to {stamp(found.until)}: {count(found.tasks, 'task')} of"
        f" {count(found.workflows, 'workflow')}, {found.completed} completed, {found.failed} failed",
        f"{found.ran:.1f} node-hours; failures cost {found.lost:.1f}, recoveries saved {found.saved:.1f}",
    ]
    if found.avoidable > 0:
        lines.append(
            f"{found.avoidable:.1f} node-hours were lost without a rule: the same again would have helped"
        )
        lines.append(_DEFAULT)
    return lines


def show(found: Overview, console: Console) -> None:
    """Print an overview on a terminal, or at full width into a pipe.

    Args:
        found: the overview.
        console: the console to print on.
    """
    before = console.width
    if not console.is_terminal:
        console.width = _PIPE
    for line in headline(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if found.failures:
        table = Table(*_COLUMNS, box=None, pad_edge=False)
        for failure in found.failures:
            table.add_row(*(visible(cell) for cell in _cells(failure)))
        console.print(table, markup=False, highlight=False)
    if found.nodes:
        console.print(f"nodes: {_nodes(found.nodes, len(found.nodes))}", markup=False, soft_wrap=True)
    console.width = before


def html(found: Overview) -> str:
    """Return an overview as a self-contained page."""
    first, *rest = headline(found)
    header = el("header", el("p", "WHESL report", class_="kicker"), el("h1", "All workflows"), el("p", first))
    parts: list[Element] = [header, el("ul", *(el("li", line) for line in rest), class_="plain")]
    if found.failures:
        table = markup.table("what failed", _COLUMNS, map(_cells, found.failures))
        parts.append(el("section", el("h2", "What failed"), table))
    if found.nodes:
        parts.append(el("section", el("h2", "Nodes"), el("p", _nodes(found.nodes, len(found.nodes)))))
    return markup.page("All workflows: report", el("main", *parts))


def _cells(failure: Failure) -> list[str]:
    return [
        failure.what if failure.ruled else f"{failure.what} (no rule)",
        str(failure.times),
        str(failure.tasks),
        str(failure.recovered),
        f"{failure.lost:.2f}",
        f"{failure.saved:.2f}",
        f"{failure.avoidable:.2f}",
        _nodes(failure.nodes, _NODES) or "-",
        failure.why or "-",
    ]


def _nodes(nodes: dict[str, int], most: int) -> str:
    ordered = sorted(nodes.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{node} ({times})" if times > 1 else node for node, times in ordered[:most]]
    return ", ".join(named) + (f" and {len(ordered) - most} more" if len(ordered) > most else "")
