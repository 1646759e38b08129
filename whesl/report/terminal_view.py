"""A display of workflows for terminals of any size, with a line for each task that needs attention. Pure."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from whesl.model.printable import visible
from whesl.model.states import TaskState

STYLES = {
    TaskState.REGISTERED: "dim",
    TaskState.RUNNING: "cyan",
    TaskState.RECOVERING: "yellow",
    TaskState.PAUSED: "magenta",
    TaskState.ESCALATED: "magenta",
    TaskState.UNOBSERVED: "yellow",
    TaskState.COMPLETED: "green",
    TaskState.SKIPPED: "green",
    TaskState.FAILED: "bold red",
    TaskState.CANCELLED: "red",
}
# Tasks that need a person come first; healthy tasks and tasks that have not begun are only counted.
_ORDER = (
    TaskState.PAUSED,
    TaskState.ESCALATED,
    TaskState.UNOBSERVED,
    TaskState.RECOVERING,
    TaskState.FAILED,
    TaskState.RUNNING,
    TaskState.CANCELLED,
)
_RANK = {state: rank for rank, state in enumerate(_ORDER)}
_LATEST = 5
# Lines: the head, its bar, its counts, the columns' names, and the count of hidden rows.
_FRAME = 5
_NARROW = 60


def picture(
    view: Mapping[str, Any],
    said: Sequence[str],
    *,
    width: int,
    height: int,
    now: float,
    ascii_only: bool = False,
) -> RenderableType:
    """Return the present workflows in at most ``height`` lines.

    Args:
        view: the status, as ``whesl status --json`` prints it.
        said: lines on events, the latest last.
        width: columns of the terminal.
        height: its lines.
        now: seconds since the epoch.
        ascii_only: draw with characters that every terminal has.
    """
    staged = [(_stage(flow), flow) for flow in view["workflows"]]
    flows = sorted(staged, key=lambda pair: (pair[0], -_begun(pair[1])))
    if not flows:
        return Text("nothing was run yet")
    fits = max(0, min(_LATEST, len(said), height - _FRAME - 2))
    latest = [_line(text) for text in said[len(said) - fits :]]
    budget = height - (len(latest) + 1 if latest else 0)
    parts: list[RenderableType] = []
    at_work = sum(stage is Stage.RUNS for stage, _ in flows)
    for number, (stage, flow) in enumerate(flows):
        if budget < _FRAME + 1 or (number and stage is Stage.OVER):
            left = len(flows) - number
            if budget > 0:
                parts.append(Text(f"and {left} more workflow{'' if left == 1 else 's'}", style="dim"))
            break
        # Each running workflow gets a head and one task where there is room; a line counts the others.
        others = max(at_work - number - 1, 0) * (_FRAME + 1)
        room = max(budget - others, _FRAME + 2) if others else budget
        lines, count = _flow(flow, stage, width, min(room, budget), now, ascii_only)
        budget -= count
        parts += lines
    if latest:
        parts += [Text(""), *latest]
    return Group(*parts)


def _line(text: str) -> Text:
    return Text(visible(text.replace("\n", " ")), style="dim", no_wrap=True, overflow="ellipsis")


class Stage(enum.IntEnum):
    """The stage of a workflow: tasks are at work, no task is at work, all tasks have ended."""

    RUNS = 0
    WAITS = 1
    OVER = 2


def _stage(flow: Mapping[str, Any]) -> Stage:
    states = [TaskState(task["state"]) for task in flow["tasks"]]
    if all(state.final for state in states):
        return Stage.OVER
    waits = all(state.final or state is TaskState.REGISTERED for state in states)
    return Stage.WAITS if waits else Stage.RUNS


def _begun(flow: Mapping[str, Any]) -> float:
    """Return the beginning of a workflow's newest task, or of the workflow itself."""
    return float(max([flow["time"], *(task["started"] for task in flow["tasks"])]))


def _flow(
    flow: Mapping[str, Any], stage: Stage, width: int, room: int, now: float, ascii_only: bool
) -> tuple[list[RenderableType], int]:
    """Return a workflow's parts, and how many lines they take."""
    tasks = flow["tasks"]
    counts = Counter(TaskState(task["state"]) for task in tasks)
    shown = sorted(
        (task for task in tasks if TaskState(task["state"]) in _RANK),
        key=lambda task: (_RANK[TaskState(task["state"])], -task["since"]),
    )
    lines: list[RenderableType] = [_head(flow, stage, counts, width, now), _bar(counts, width, ascii_only)]
    lines.append(_counts(flow, counts))
    used = len(lines)
    fits = room - used - 1  # one line is for the names of columns
    rows = shown if len(shown) <= fits else shown[: max(fits - 1, 0)]
    if rows:
        lines.append(_rows(rows, width, now))
        used += 1 + len(rows)
    if len(shown) > len(rows):
        lines.append(Text(f"and {len(shown) - len(rows)} more", style="dim"))
        used += 1
    return lines, used


def _head(flow: Mapping[str, Any], stage: Stage, counts: Counter[TaskState], width: int, now: float) -> Text:
    name = Text(visible(flow["id"]), style="bold", no_wrap=True, overflow="ellipsis")
    place = " on ".join(word for word in (flow["wms"], flow["rjms"]) if word)
    if flow["observe"]:
        place += ", observed only"
    done = counts[TaskState.COMPLETED] + counts[TaskState.SKIPPED]
    right = f"{done} of {len(flow['tasks'])}"
    if flow["name"]:  # tasks without a workflow have no common beginning
        ended = max((task["ended"] for task in flow["tasks"]), default=0.0)
        until = ended if stage is Stage.OVER else now
        right += f", {duration(max(until - flow['time'], 0.0))}"
    name.append(f"  {place}", style="dim")
    name.truncate(max(width - len(right) - 2, 8), overflow="ellipsis", pad=True)
    return name.append(f"  {right}")


def _bar(counts: Counter[TaskState], width: int, ascii_only: bool) -> Text:
    """Return a bar of the tasks' states; each state that occurs has at least one column."""
    total = sum(counts.values())
    bar = Text(no_wrap=True, overflow="crop")
    solid, thin = ("#", "-") if ascii_only else ("━", "─")
    order = [TaskState.COMPLETED, TaskState.SKIPPED, *_ORDER, TaskState.REGISTERED]
    present = [state for state in order if counts[state]]
    left = width
    for number, state in enumerate(present):
        rest = len(present) - number - 1
        size = left if not rest else min(max(1, round(width * counts[state] / total)), left - rest)
        left -= size
        bar.append((thin if state is TaskState.REGISTERED else solid) * size, style=STYLES[state])
    return bar


def _counts(flow: Mapping[str, Any], counts: Counter[TaskState]) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for state in (TaskState.COMPLETED, TaskState.SKIPPED, *_ORDER, TaskState.REGISTERED):
        if counts[state]:
            text.append(f"{counts[state]} {state.value}  ", style=STYLES[state])
    raised = sum(task["exceptions"] for task in flow["tasks"])
    recovered = sum(task["recovered"] for task in flow["tasks"])
    if raised:
        text.append(f"{raised} exception{'' if raised == 1 else 's'}, {recovered} recovered")
    return text


def _rows(tasks: Sequence[Mapping[str, Any]], width: int, now: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True, width=width)
    cut: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis"}
    table.add_column("task", ratio=3, **cut)
    table.add_column("state", width=10, **cut)
    table.add_column("try", width=3, justify="right", **cut)
    table.add_column("for", width=9, justify="right", **cut)
    if width >= _NARROW:
        table.add_column("nodes", ratio=2, **cut)
        table.add_column("why", ratio=4, **cut)
    for task in tasks:
        state = TaskState(task["state"])
        cells = [
            Text(visible(task["id"].partition("/")[2] or task["id"])),
            Text(state.value, style=STYLES[state]),
            Text(str(task["attempt"] or "-")),
            Text(_clock(task, now)),
        ]
        if width >= _NARROW:
            cells += [Text(nodes(task["nodes"])), Text(_why(task))]
        table.add_row(*cells)
    return table


def _clock(task: Mapping[str, Any], now: float) -> str:
    """Return how long a task has been in its state; for an ended task, how long it took."""
    if not task["ended"]:
        return duration(max(now - task["since"], 0.0))
    return duration(max(task["ended"] - task["started"], 0.0)) if task["started"] else "-"


def _why(task: Mapping[str, Any]) -> str:
    raised = task["exception"]
    if raised:
        raised += f" ({task['recovered']}/{task['exceptions']} recovered)"
    return visible(": ".join(part for part in (raised, reason(task)) if part)) or "-"


def reason(task: Mapping[str, Any]) -> str:
    """Return in one line the reason of a task's state, and the trouble of its journal."""
    said = (" ".join(str(task[name]).split()) for name in ("reason", "trouble"))
    return "; ".join(part for part in said if part)


def nodes(names: Sequence[str]) -> str:
    """Return node names for a table's cell: the first ones, and their number."""
    return ",".join(names) if len(names) <= 4 else f"{','.join(names[:3])},... ({len(names)})"


def duration(value: float) -> str:
    """Return a time in at most nine characters: ``12 s``, ``3:20 min``, ``5:07 h``, ``2 d 4 h``."""
    whole = int(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    if whole < 86400:
        return f"{whole // 3600}:{whole % 3600 // 60:02} h"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
