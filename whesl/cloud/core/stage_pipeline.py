"""The pipeline of a workflow: the stages' windows and slots, and targets derived from a neighbour's targets.

Figures 3.3 and 3.4 of the document. Times are seconds after the schedule's start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core.plan_records import HOUR, Window
from whesl.cloud.core.stage_speed import Pace, critical_path
from whesl.model.errors import UsageError

# Tasks shorter than these seconds share a slot, which limits the number of slots.
SHORTEST = 10.0


def windows(paces: tuple[Pace, ...], length: float) -> dict[str, Window]:
    """Return the window of each stage: its start and end.

    A stage starts when its parents' first slot is over. It ends early enough for its children's last slot,
    so infeasible later slots are cut. Where a stage waits for all tasks of a parent (a barrier), the parts
    before and behind the barrier share the time in proportion to their work (WHESL's choice; the document
    has no barriers).

    Args:
        paces: of the stages in topological order.
        length: seconds from start to deadline.

    Raises:
        UsageError: the critical path is longer.
    """
    shortest, path = critical_path(paces)
    if shortest > length:
        raise UsageError(
            f"a deadline of {hours(length)} is shorter than the critical path of {hours(shortest)}: "
            + " -> ".join(path),
            hint=f"deadlines of more than {hours(shortest)} are accepted",
        )
    level: dict[str, int] = {}
    for pace in paces:
        level[pace.stage.name] = max(
            (level[edge.parent] + edge.barrier for edge in pace.stage.parents), default=0
        )
    before, after = _within(paces, level)
    count = max(level.values(), default=0) + 1
    least, work = [0.0] * count, [0.0] * count
    for pace in paces:
        name, at = pace.stage.name, level[pace.stage.name]
        least[at] = max(least[at], before[name] + pace.slot + after[name])
        work[at] += pace.stage.tasks * pace.slot
    spare = length - sum(least)
    # A slot has the slower side's length. Where only the faster side meets the deadline, all slots shrink.
    shrink = 1.0 if spare >= 0 else length / sum(least)
    edges = [0.0]
    for one, share in zip(least, work, strict=True):
        edges.append(edges[-1] + one * shrink + max(0.0, spare) * share / (sum(work) or 1.0))
    return {
        pace.stage.name: Window(
            stage=pace.stage.name,
            start=edges[level[pace.stage.name]] + before[pace.stage.name] * shrink,
            end=edges[level[pace.stage.name] + 1] - after[pace.stage.name] * shrink,
        )
        for pace in paces
    }


def _within(paces: tuple[Pace, ...], level: dict[str, int]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the delays before and behind each stage, counting the stages between the same barriers."""
    slot = {pace.stage.name: pace.slot for pace in paces}
    before: dict[str, float] = {}
    after = dict.fromkeys(slot, 0.0)
    for pace in paces:
        name = pace.stage.name
        near = [edge.parent for edge in pace.stage.parents if level[edge.parent] == level[name]]
        before[name] = max((before[parent] + slot[parent] for parent in near), default=0.0)
    for pace in reversed(paces):
        name = pace.stage.name
        for edge in pace.stage.parents:
            if level[edge.parent] == level[name]:
                after[edge.parent] = max(after[edge.parent], after[name] + slot[name])
    return before, after


class Slots(NamedTuple):
    """A stage's slots: their starts, back to back, and the length of each."""

    begin: NDArray[Any]
    length: float


def slots(window: Window, seconds: float) -> Slots:
    """Return a stage's slots: as many as fit one after the other into its window.

    Args:
        window: the stage's window, in seconds after the schedule's start.
        seconds: shortest length of a slot, which is a task's run time; at least ``SHORTEST`` counts.

    Returns:
        At least one slot. All slots have the same length and fill the window.
    """
    span = window.end - window.start
    count = max(1, int(span / max(seconds, SHORTEST) + 1e-9))
    return Slots(np.asarray(window.start + span / count * np.arange(count), np.float64), span / count)


def child_targets(parent: Slots, targets: NDArray[np.float64], child: Slots) -> NDArray[np.float64]:
    """Return the tasks of a child's slots, derived from its parent's slots.

    Scenario A, the parent's slots are longer: a slot's tasks go to the child's slots that start in the
    parent's next slot. Scenario B, the parent's slots are shorter: a child's slot takes the tasks of the
    parent's slots that start in the child's previous slot.

    Args:
        parent: the parent's slots.
        targets: tasks of each.
        child: the child's slots.
    """
    found = np.zeros(len(child.begin))
    if parent.length >= child.length:
        source = _slot_before(child.begin, parent)
        sharing = np.bincount(source, minlength=len(targets))
        found = targets[source] / sharing[source]
        # Where no child's slot starts in a parent slot's successor, the child's next slot takes the tasks.
        for lost in np.flatnonzero((sharing == 0) & (targets > 0)):
            ready = parent.begin[lost] + parent.length - 1e-6
            found[min(int(np.searchsorted(child.begin, ready)), len(found) - 1)] += targets[lost]
    else:
        np.add.at(found, _slot_behind(parent.begin, child), targets)
    return found


def parent_targets(child: Slots, targets: NDArray[np.float64], parent: Slots) -> NDArray[np.float64]:
    """Return the tasks of a parent's slots that feed a child's slots: the inverse of ``child_targets``.

    Args:
        child: the child's slots.
        targets: tasks of each.
        parent: the parent's slots.
    """
    found = np.zeros(len(parent.begin))
    if parent.length >= child.length:
        np.add.at(found, _slot_before(child.begin, parent), targets)
    else:
        taker = _slot_behind(parent.begin, child)
        sharing = np.bincount(taker, minlength=len(targets))
        found = targets[taker] / sharing[taker]
        for lost in np.flatnonzero((sharing == 0) & (targets > 0)):
            last = child.begin[lost] - parent.length + 1e-6
            found[max(0, int(np.searchsorted(parent.begin, last)) - 1)] += targets[lost]
    return found


def _slot_before(times: NDArray[np.float64], own: Slots) -> NDArray[np.int64]:
    """Return the number of the slot before the one in which each time lies."""
    number = np.floor((times - own.begin[0]) / own.length + 1e-9).astype(np.int64) - 1
    return np.asarray(np.clip(number, 0, len(own.begin) - 1), np.int64)


def _slot_behind(times: NDArray[np.float64], own: Slots) -> NDArray[np.int64]:
    """Return the number of the slot behind the one in which each time lies."""
    number = np.floor((times - own.begin[0]) / own.length + 1e-9).astype(np.int64) + 1
    return np.asarray(np.clip(number, 0, len(own.begin) - 1), np.int64)


def by_hour(own: Slots, targets: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the number of tasks in each hour; a slot's tasks are spread evenly over its time.

    Args:
        own: the stage's slots.
        targets: number of tasks in each slot.
        count: number of hours.
    """
    knots = np.append(own.begin, own.begin[-1] + own.length)
    done = np.concatenate([[0.0], np.cumsum(targets)])
    reached = np.interp(HOUR * np.arange(count + 1), knots, done)
    reached[-1] = done[-1]  # the last slot may end behind the last hour by rounding
    return np.asarray(np.diff(reached), dtype=np.float64)


def hours(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds >= 240 * HOUR:
        return f"{seconds / 24 / HOUR:.0f} days"
    return f"{seconds / 60:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.3g} h"
