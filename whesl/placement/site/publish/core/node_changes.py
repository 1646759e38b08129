"""The placement service's changes of nodes: made from their risks, and each undone when its time is over.

``step(state, event, now, settings)`` returns the next state, the records to write, and the commands to carry
out after the records are written. So a change is in the journal before it is made. Afterwards the observed
cluster
decides: a setting that is gone (after a restart of slurmctld) is made again, and a setting that an
administrator has replaced stays replaced.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import NamedTuple

import msgspec
import numpy as np

from whesl.model.journal_record import Record, assert_never
from whesl.placement.policies.exclude_list_choice import at_risk, budget, exclude
from whesl.placement.site.publish.core.drains_yield_to_waiting_jobs import give_way
from whesl.placement.site.publish.node_change_records import (
    Changing,
    Held,
    Released,
    Seen,
    What,
    Would,
    WouldNot,
)
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.risk_table import Table, fresh
from whesl.placement.site.publish.waiting_job_exclusions import Job

OURS = "whesl: "  # begin of the reason of each drain by the service
_UNTIL = re.compile(rf"^{OURS}predicted to fail \([^)]*\), until (\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d)Z$")
_LEVELS = (
    1.0,
    2.0,
    4.0,
)  # lower bounds of the levels of risk, as multiples of the threshold's hazard
_FALLING = 0.8  # share of a level's bound below which a node leaves the level
Key = tuple[str, What]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the service. Times are in seconds; probabilities and shares from 0 to 1.

    ``share``: largest share of a partition's nodes that are drained, or excluded for a job. ``within``: the
    horizon of weights and the feature. ``drain_above``: probability of a failure within ``drain_within`` from
    which a node is drained, for ``drain_within`` at most. ``settle``: shortest time before a change is
    undone. ``weight_step``: increase of a node's weight per level of risk, 0 for no weights.
    ``wait_for_better``: waiting time after which a job's exclude list is removed.
    """

    active: bool = False
    share: float = 0.1
    within: float = 86400.0
    drain_above: float = 0.9
    drain_within: float = 14400.0
    settle: float = 600.0
    weight_step: int = 1000
    feature: str = "whesl_at_risk"
    wait_for_better: float = math.inf


class State(msgspec.Struct, frozen=True):
    """The service's state: changes in force, changes that would be made, and end of each drain pause."""

    held: dict[Key, Held] = {}
    would: dict[Key, Held] = {}
    hold_off: dict[str, float] = {}
    leaving: bool = False


class Observed(NamedTuple):
    """The event that the cluster was observed. ``table``: the predictions, None without predictions.

    ``waiting``: the jobs that wait for nodes; None if they could not be observed, so that no new node is
    drained.
    """

    machine: tuple[Node, ...]
    table: Table | None
    waiting: tuple[Job, ...] | None = ()


class Done(NamedTuple):
    """The event that a command was carried out. ``undo``: whether the command undid a change."""

    node: str
    what: What
    undo: bool


class Leave(NamedTuple):
    """The event that the service ends: the next observation undoes all changes."""


Event = Observed | Done | Leave


class SetWeight(NamedTuple):
    """A command that sets a node's weight."""

    node: str
    weight: int
    undo: bool = False


class SetFeatures(NamedTuple):
    """A command that sets a node's available and active features."""

    node: str
    available: tuple[str, ...]
    active: tuple[str, ...]
    undo: bool = False


class Drain(NamedTuple):
    """A command that drains a node, so that it takes no new jobs."""

    node: str
    reason: str


class Undrain(NamedTuple):
    """A command that undoes a node's drain, if the drain still has this reason."""

    node: str
    reason: str


Command = SetWeight | SetFeatures | Drain | Undrain
Result = tuple[State, list["Record"], list[Command]]


def apply(state: State, record: Record, time: float) -> State:
    """Return the state after a record; a restart applies all records of the journal.

    Args:
        state: the state before the record.
        record: the record.
        time: when the record was written, in seconds since the epoch.
    """
    held, would, hold_off = dict(state.held), dict(state.would), dict(state.hold_off)
    match record:
        case Changing(change=change):
            held[change.node, change.what] = change
        case Seen(node=node, what=what, failed=failed):
            if (node, what) in held:
                found = held[node, what]
                held[node, what] = msgspec.structs.replace(found, seen=True, failed=failed or found.failed)
        case Released(node=node, what=what):
            held.pop((node, what), None)
            if record.hold_off is not None:
                hold_off = {one: end for one, end in hold_off.items() if end > time}
                hold_off[node] = record.hold_off
        case Would(change=change):
            would[change.node, change.what] = change
        case WouldNot(node=node, what=what):
            would.pop((node, what), None)
    return msgspec.structs.replace(state, held=held, would=would, hold_off=hold_off)


def step(state: State, event: Event, now: float, settings: Settings) -> Result:
    """Return the next state, the records to write, and the commands to carry out then.

    Args:
        state: the present state.
        event: the event.
        now: the current time, in seconds since the epoch.
        settings: settings of the service.
    """
    records: list[Record] = []
    commands: list[Command] = []
    match event:
        case Leave():
            return msgspec.structs.replace(state, leaving=True), records, commands
        case Done(node, what, undo):
            found = state.held.get((node, what))
            if found is not None and not undo:
                records.append(Seen(node=node, what=what))
            elif found is not None:
                records.append(Released(node=node, what=what, why="undone", hold_off=_pause(found, now)))
            for record in records:
                state = apply(state, record, now)
        case Observed():
            state = _observe(state, event, now, settings, records, commands)
        case _:
            assert_never(event)
    return state, records, commands


def _pause(change: Held, now: float) -> float | None:
    """Return until when a node is not drained again: after an expired drain, for as long as the drain was."""
    if change.what is not What.DRAIN or change.failed or change.until is None or now < change.until:
        return None
    return now + (change.until - change.since)


def _observe(
    state: State,
    event: Observed,
    now: float,
    settings: Settings,
    records: list[Record],
    commands: list[Command],
) -> State:
    machine = {node.name: node for node in event.machine}
    _compare(state, machine, now, settings, records)
    for record in records:
        state = apply(state, record, now)
    new: list[Record] = []
    table = event.table if event.table is not None and fresh(event.table, now) else None
    acting = settings.active and not state.leaving
    wanted: dict[Key, Held] = {}
    if table is not None and not state.leaving:
        kept = state.held if acting else state.would
        wanted = _wanted(kept, state, machine, table, now, settings, event.waiting)
    if not acting:
        _note(state, wanted, machine, new)
    for key, change in (wanted if acting else {}).items():
        node = machine[change.node]
        if (held := state.held.get(key)) is None or held.after != change.after:
            new.append(Changing(change=change))
            commands.append(_set(change, node, settings))
        elif not _in_force(held, node, settings) and not _administrators(state.held, node):
            commands.append(_set(held, node, settings))
    for key, held in state.held.items():
        if acting and key in wanted:
            continue
        node = machine[held.node]
        if _ours(held, node, settings):
            commands.append(_undo(held, node, settings))
        else:
            new.append(Released(node=held.node, what=held.what, why="it was not in force"))
    for node in (one for one in event.machine if acting and _left(state.held, one, now)):
        new.append(Released(node=node.name, what=What.DRAIN, why="its end has come, the journal is lost"))
        commands.append(Undrain(node.name, node.reason))
    for record in new:
        state = apply(state, record, now)
    records += new
    return state


def _compare(
    state: State, machine: Mapping[str, Node], now: float, settings: Settings, records: list[Record]
) -> None:
    """Record the observed outcome of the changes: in force, replaced by an administrator, or node gone."""
    for (name, what), held in state.held.items():
        node = machine.get(name)
        if node is None:
            records.append(Released(node=name, what=what, why="the node is not in the cluster"))
        elif what is What.DRAIN:
            if not node.drained and held.seen:
                pause = max(held.until or now, now)
                why = "an administrator has put the node back"
                records.append(Released(node=name, what=what, why=why, hold_off=pause))
            elif node.drained and node.reason != held.after:
                records.append(Released(node=name, what=what, why="an administrator has drained the node"))
            elif node.drained and (not held.seen or (node.down and not held.failed)):
                records.append(Seen(node=name, what=what, failed=node.down))
        elif what is What.WEIGHT and node.weight != int(held.before) and not _ours(held, node, settings):
            records.append(Released(node=name, what=what, why="an administrator has set the weight"))
    for (name, what), noted in state.would.items():
        if (node := machine.get(name)) is not None and node.down and not noted.failed:
            changed = msgspec.structs.replace(noted, failed=True)
            records.append(Would(change=changed))
        elif node is None:
            records.append(WouldNot(node=name, what=what))


def _note(
    state: State, wanted: Mapping[Key, Held], machine: Mapping[str, Node], records: list[Record]
) -> None:
    for key, change in wanted.items():
        if (known := state.would.get(key)) is None or known.after != change.after:
            records.append(Would(change=change))
    for (name, what), noted in state.would.items():
        if (name, what) not in wanted and name in machine:
            records.append(WouldNot(node=name, what=what, failed=noted.failed))


def _administrators(held: Mapping[Key, Held], node: Node) -> bool:
    """Return whether another user or program has drained a node."""
    mine = held.get((node.name, What.DRAIN))
    return node.drained and (mine is None or node.reason != mine.after)


def _left(held: Mapping[Key, Held], node: Node, now: float) -> bool:
    """Return whether a node has an expired drain by a service whose journal is lost."""
    found = _UNTIL.search(node.reason) if node.drained and (node.name, What.DRAIN) not in held else None
    try:
        return found is not None and datetime.fromisoformat(f"{found[1]}+00:00").timestamp() <= now
    except ValueError:  # the reason is an administrator's text
        return False


def _ours(held: Held, node: Node, settings: Settings) -> bool:
    """Return whether the node's present setting was made by the service."""
    if held.what is What.WEIGHT:
        levels = {int(held.before) + level * settings.weight_step for level in range(1, len(_LEVELS) + 1)}
        return node.weight in {int(held.after), *levels}
    return _in_force(held, node, settings)


def _in_force(held: Held, node: Node, settings: Settings) -> bool:
    if held.what is What.WEIGHT:
        return str(node.weight) == held.after
    if held.what is What.FEATURE:
        return settings.feature in node.features
    return node.drained and node.reason == held.after


def _set(change: Held, node: Node, settings: Settings) -> Command:
    if change.what is What.WEIGHT:
        return SetWeight(change.node, int(change.after))
    if change.what is What.FEATURE:
        return SetFeatures(
            change.node, _with(node.features, settings.feature), _with(node.active_features, settings.feature)
        )
    return Drain(change.node, change.after)


def _undo(held: Held, node: Node, settings: Settings) -> Command:
    if held.what is What.WEIGHT:
        return SetWeight(held.node, int(held.before), undo=True)
    if held.what is What.FEATURE:
        return SetFeatures(
            held.node,
            tuple(one for one in node.features if one != settings.feature),
            tuple(one for one in node.active_features if one != settings.feature),
            undo=True,
        )
    return Undrain(held.node, held.after)


def _with(features: tuple[str, ...], one: str) -> tuple[str, ...]:
    return features if one in features else (*features, one)


def _wanted(
    kept: Mapping[Key, Held],
    state: State,
    machine: Mapping[str, Node],
    table: Table,
    now: float,
    settings: Settings,
    waiting: tuple[Job, ...] | None,
) -> dict[Key, Held]:
    """Return the changes that should be in force."""
    wanted: dict[Key, Held] = {}
    at = table.horizon(settings.within)
    for row in table.nodes:
        node = machine.get(row.node)
        if node is None:
            continue
        if _administrators(kept, node):
            # A node that an administrator has drained keeps its present changes.
            wanted.update({key: held for key, held in kept.items() if key[0] == row.node})
            continue
        bounds = [_bound(table.thresholds[at], times) for times in _LEVELS]
        level = _level(row.probability[at], bounds, kept, row.node, now, settings)
        if level and settings.weight_step:
            held = kept.get((row.node, What.WEIGHT))
            before = held.before if held is not None else str(node.weight)
            after = str(int(before) + level * settings.weight_step)
            same = held is not None and held.after == after
            since = held.since if same and held is not None else now
            change = Held(node=row.node, what=What.WEIGHT, before=before, after=after, since=since)
            wanted[row.node, What.WEIGHT] = change
        flagged = kept.get((row.node, What.FEATURE))
        if level and (flagged is not None or settings.feature not in node.features):
            wanted[row.node, What.FEATURE] = flagged or Held(
                node=row.node, what=What.FEATURE, before="", after=settings.feature, since=now
            )
    drains = _drains(kept, state, machine, table, now, settings)
    at = table.horizon(settings.drain_within)
    chances = {row.node: row.probability[at] for row in table.nodes}
    # Drains in force come first, then new drains; the likeliest nodes to fail come first in each group.
    order = sorted(drains, key=lambda key: (key not in kept, -chances[key[0]]))
    allowed = {name for name, _ in drains if (name, What.DRAIN) in kept}
    if waiting is not None:
        ours = [
            name
            for (name, what), held in kept.items()
            if what is What.DRAIN and _in_force(held, machine[name], settings)
        ]
        allowed = give_way([name for name, _ in order], machine, waiting, ours)
    wanted.update({key: held for key, held in drains.items() if key[0] in allowed or held.failed})
    return wanted


def _bound(threshold: float, times: float) -> float:
    """Return the probability whose hazard is ``times`` the hazard of a threshold."""
    return threshold if threshold >= 1.0 else -math.expm1(times * math.log1p(-threshold))


def _level(
    chance: float,
    bounds: list[float],
    kept: Mapping[Key, Held],
    name: str,
    now: float,
    settings: Settings,
) -> int:
    """Return a node's level of risk, with hysteresis: the level falls later than it rises."""
    level = sum(chance >= bound for bound in bounds)
    weight, feature = kept.get((name, What.WEIGHT)), kept.get((name, What.FEATURE))
    before = int(feature is not None)
    since = feature.since if feature is not None else 0.0
    if weight is not None and settings.weight_step:
        before = (int(weight.after) - int(weight.before)) // settings.weight_step
        since = max(since, weight.since)
    before = max(0, min(before, len(_LEVELS)))
    while before > level:
        # A clock that was set back must not make a change last longer.
        if 0.0 <= now - since < settings.settle or chance >= _FALLING * bounds[before - 1]:
            return before
        before -= 1
    return level


def _drains(
    kept: Mapping[Key, Held],
    state: State,
    machine: Mapping[str, Node],
    table: Table,
    now: float,
    settings: Settings,
) -> dict[Key, Held]:
    at = table.horizon(settings.drain_within)
    rows = {row.node: row for row in table.nodes}
    wanted: dict[Key, Held] = {}
    for (name, what), held in kept.items():
        if what is not What.DRAIN or held.until is None or now >= held.until or name not in rows:
            continue
        likely = rows[name].probability[at] >= _FALLING * settings.drain_above
        if held.failed and not machine[name].down:
            continue  # the node failed as predicted, and is up again
        if held.failed or likely or 0.0 <= now - held.since < settings.settle:
            wanted[name, what] = held
    free = [
        name
        for name in rows
        if name in machine and machine[name].usable and (name, What.DRAIN) not in kept
        if state.hold_off.get(name, now) <= now
    ]
    during = np.array([rows[name].probability[at] for name in free], dtype=np.float64)
    order = at_risk(during, np.zeros(len(free)), settings.drain_above)
    if not len(order):
        return wanted
    parts = sorted({part for node in machine.values() for part in node.partitions})
    out = {name for name, what in wanted if what is What.DRAIN}
    budgets = [_budget(part, machine.values(), out, settings.share) for part in parts]
    member = np.array([[part in machine[name].partitions for part in parts] for name in free], dtype=np.bool_)
    for index in exclude(order, member, np.array(budgets, dtype=np.int64)).tolist():
        name = free[index]
        reason = _reason(rows[name].probability[at], settings.drain_within, now)
        wanted[name, What.DRAIN] = Held(
            node=name,
            what=What.DRAIN,
            before="",
            after=reason,
            since=now,
            until=now + settings.drain_within,
        )
    return wanted


def _budget(part: str, machine: Iterable[Node], out: set[str], share: float) -> int:
    """Return how many more nodes of a partition may be drained."""
    mine = [node for node in machine if part in node.partitions]
    drained = sum(node.name in out and node.drained for node in mine)
    promised = sum(node.name in out and not node.drained for node in mine)
    usable = sum(node.usable for node in mine) - promised
    return budget(usable, drained + promised, 1, share)


def _reason(chance: float, within: float, now: float) -> str:
    until = datetime.fromtimestamp(int(now + within), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{OURS}predicted to fail ({chance:.2f} within {within / 3600:g} h), until {until}"
