"""The schedule (WSB) from the forecast of free nodes, the prices and the profile.

The costliest stage is placed first (3.3): on the cluster in proportion to the free nodes (3.4), the rest in
the cloud where the cluster is short. The other stages follow from this stage slot by slot, so that all end
before the deadline (3.1) and parents and children keep pace (3.2).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whesl.cloud.core import stage_pipeline as pipeline
from whesl.cloud.core.plan_records import CLUSTER, HOUR, Assignment, Domain, PriceList, Schedule, Slot, Window
from whesl.cloud.core.stage_pipeline import Slots
from whesl.cloud.core.stage_speed import Pace, executor_tasks
from whesl.model.errors import UsageError

# A schedule with more slots than this is stored without slots.
MOST_SLOTS = 2000


def build(
    paces: tuple[Pace, ...],
    prices: PriceList,
    free: Sequence[float],
    start: float,
    deadline: float,
    *,
    cluster: str = CLUSTER,
    quantile: float = 0.5,
    end: float | None = None,
    slots: bool = True,
) -> Schedule:
    """Return a schedule.

    Args:
        paces: the stages' speeds, in topological order.
        prices: the cloud's prices.
        free: number of free nodes in each hour from the start; later hours repeat the last value.
        start, deadline: seconds since the epoch.
        cluster: name of the cluster's platform.
        quantile: the forecast's quantile that ``free`` holds, for the record.
        end: planned end of the last task, seconds since the epoch; None for the deadline.
        slots: whether the schedule stores the slots.

    Raises:
        UsageError: the deadline is in the past or shorter than the critical path, or both sides together
            have too few nodes.
    """
    if deadline <= start:
        raise UsageError(
            "the deadline is in the past", hint="a deadline after now is accepted: 6h, 12h, 2026-05-01T12:00"
        )
    length = (deadline if end is None else end) - start
    windows = pipeline.windows(paces, length)
    count = math.ceil(length / HOUR - 1e-9)
    nodes = np.array([max(0.0, float(free[min(hour, len(free) - 1)])) for hour in range(count)])
    targets, stage_slots = _targets(paces, prices, windows, nodes, count)
    left = np.floor(nodes)
    assignments: list[Assignment] = []
    order = sorted(paces, key=lambda pace: -_cost_rank(pace, prices) * pace.stage.tasks)
    for pace in order:
        window = windows[pace.stage.name]
        hourly = pipeline.by_hour(stage_slots[pace.stage.name], targets[pace.stage.name], count)
        assignments += _assign(pace, hourly, _overlap(window, count), left, cluster)
    place = {pace.stage.name: pace.number for pace in paces}
    assignments.sort(key=lambda one: (one.hour, place[one.stage], one.domain))
    return Schedule(
        start=start,
        deadline=deadline,
        assignments=tuple(assignments),
        windows=tuple(windows[pace.stage.name] for pace in paces),
        slots=_written(paces, stage_slots, targets) if slots else (),
        quantile=quantile,
    )


def _cost_rank(pace: Pace, prices: PriceList) -> float:
    """Return one task's cost (3.3): storage, output transfer, and the cheapest execution in the cloud."""
    stage = pace.stage
    size = (stage.input_bytes + stage.output_bytes) / 1e9
    storage = size * prices.stored + stage.input_bytes / 1e9 * prices.read
    storage += stage.output_bytes / 1e9 * prices.write
    return storage + stage.output_bytes / 1e9 * prices.leaving + pace.task_price


def hpc_targets(tasks: float, throughput: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the number of tasks that the cluster does in each hour (3.4).

    Args:
        tasks: number of the stage's tasks (T).
        throughput: slots times free nodes in each hour (TP).
    """
    total = throughput.sum()
    if total <= 0:
        return np.zeros_like(throughput)
    return np.asarray(np.minimum(tasks * throughput / total, throughput))


def fill(tasks: float, have: NDArray[np.float64], room: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread tasks over the hours for the most even throughput (WHESL's choice: the document has no rule).

    Args:
        tasks: number of tasks to spread.
        have: number of tasks that each hour already has.
        room: usable seconds of each hour.

    Returns:
        The tasks added to each hour: each is filled up to one level of throughput, fuller hours get none.
    """
    rate = np.divide(have, room, out=np.full_like(have, np.inf), where=room > 0)
    order = np.argsort(rate, kind="stable")
    seconds, filled = np.cumsum(room[order]), np.cumsum(have[order])
    with np.errstate(invalid="ignore", divide="ignore"):
        levels = (tasks + filled) / seconds
    following = np.append(rate[order][1:], np.inf)
    at = int(np.argmax(levels <= following))
    return np.where(room > 0, np.maximum(0.0, levels[at] * room - have), 0.0)


def _targets(
    paces: tuple[Pace, ...],
    prices: PriceList,
    windows: dict[str, Window],
    nodes: NDArray[np.float64],
    count: int,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, Slots]]:
    """Return the number of tasks in each slot of each stage, and the slots."""
    slots = {pace.stage.name: pipeline.slots(windows[pace.stage.name], pace.slot) for pace in paces}
    by_name = {pace.stage.name: pace for pace in paces}
    neighbours: dict[str, list[tuple[str, bool]]] = {name: [] for name in by_name}
    for pace in paces:
        for edge in pace.stage.parents:
            if not edge.barrier:
                neighbours[pace.stage.name].append((edge.parent, True))
                neighbours[edge.parent].append((pace.stage.name, False))
    targets: dict[str, NDArray[np.float64]] = {}
    # Each group of stages without edges to the others starts from its own costliest stage.
    for seed in sorted(paces, key=lambda pace: -_cost_rank(pace, prices) * pace.stage.tasks):
        if seed.stage.name in targets:
            continue
        targets[seed.stage.name] = _first(
            seed, windows[seed.stage.name], slots[seed.stage.name], nodes, count
        )
        waiting = deque([seed.stage.name])
        while waiting:
            name = waiting.popleft()
            for other, is_parent in neighbours[name]:
                if other in targets:
                    continue
                follow = pipeline.parent_targets if is_parent else pipeline.child_targets
                found = follow(slots[name], targets[name], slots[other])
                ratio = by_name[other].stage.tasks / max(1, by_name[name].stage.tasks)
                targets[other] = found * ratio
                waiting.append(other)
    return targets, slots


def _first(
    pace: Pace, window: Window, own: Slots, nodes: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return the tasks of each slot of the first placed stage: the cluster's (3.4) and the cloud's."""
    tasks, room = float(pace.stage.tasks), _overlap(window, count)
    requests = (_request(pace, room, hour) for hour in range(count))
    throughput = nodes * np.array([done / hours for done, hours in requests])
    cluster = hpc_targets(tasks, throughput)
    hourly = cluster + fill(max(0.0, tasks - float(cluster.sum())), cluster, room)
    # Each slot takes its share of the tasks of the hours in which it lies.
    done = np.concatenate([[0.0], np.cumsum(hourly)])
    edges = _progress(window, count)
    knots = np.append(own.begin, own.begin[-1] + own.length)
    return np.asarray(np.diff(np.interp(knots, edges, done)), dtype=np.float64)


def _progress(window: Window, count: int) -> NDArray[np.float64]:
    """Return the times at which hours begin and end, clipped to a stage's window."""
    return np.clip(HOUR * np.arange(count + 1), window.start, window.end)


def _overlap(window: Window, count: int) -> NDArray[np.float64]:
    """Return the seconds of each hour that lie in a stage's window."""
    return np.asarray(np.diff(_progress(window, count)), dtype=np.float64)


def _request(pace: Pace, room: NDArray[np.float64], hour: int) -> tuple[float, int]:
    """Return the number of tasks of a node that is requested in an hour, and the request's hours.

    Interruptible tasks count by fractions. Other tasks count as a whole, and the request is the shortest one
    in which a task ends; where none ends, the number is 0.

    Args:
        pace: the stage's speed.
        room: seconds of each hour that lie in the stage's window.
        hour: number of the hour, from 0.
    """
    if pace.hpc is None or room[hour] <= 0:
        return 0.0, 1
    if pace.stage.checkpoints:
        return float(room[hour]) / pace.hpc, 1
    # A request in the hour in which the window begins starts late.
    late = HOUR - float(room[hour]) if hour + 1 < len(room) and room[hour + 1] > 0 else 0.0
    for hours in range(1, pace.longest + 1):
        within = float(room[hour : hour + hours].sum())
        done = executor_tasks(hours * HOUR - late, pace.hpc, pace.hpc, within)
        if done:
            return float(done), hours
        if hour + hours >= len(room) or room[hour + hours] <= 0:
            break
    return 0.0, 1


def _assign(
    pace: Pace,
    hourly: NDArray[np.float64],
    room: NDArray[np.float64],
    left: NDArray[np.float64],
    cluster: str,
) -> list[Assignment]:
    """Return one stage's nodes: the hour's target divided by its slots, cluster nodes first.

    The nodes taken are subtracted from ``left``, the cluster's nodes that no stage has taken. Tasks done
    beyond a target by rounding up are not requested again; tasks without any node move to later hours.
    A request for several hours holds its node in each of them, and its tasks are spread over them.
    """
    found: list[Assignment] = []
    owed, todo = 0.0, float(pace.stage.tasks)
    staying, coming = np.zeros(len(hourly), np.int64), np.zeros(len(hourly))

    def give(
        hour: int, domain: Domain, platform: str, nodes: int, done: float, *, stays: int = 0, hours: int = 1
    ) -> None:
        nonlocal todo
        target = round(min(done, todo), 6)
        found.append(
            Assignment(
                hour=hour,
                stage=pace.stage.name,
                domain=domain,
                platform=platform,
                nodes=nodes,
                target=target,
                stays=stays,
                hours=hours,
            )
        )
        todo = max(0.0, todo - done)

    for hour in range(len(hourly)):
        owed += float(hourly[hour])
        each, hours = _request(pace, room, hour) if owed > 1e-6 else (0.0, 1)
        free = int(left[hour : hour + hours].min())
        nodes = min(free, math.ceil(owed / each - 1e-9)) if each and free >= 1 else 0
        if nodes:
            left[hour : hour + hours] -= nodes
            staying[hour + 1 : hour + hours] += nodes
            coming[hour : hour + hours] += nodes * each / len(coming[hour : hour + hours])
            owed -= nodes * each
        if nodes or staying[hour]:
            stays = int(staying[hour])
            give(hour, Domain.HPC, cluster, nodes + stays, float(coming[hour]), stays=stays, hours=hours)
        if owed > 1e-6 and room[hour] > 0 and pace.cloud is not None and pace.platform is not None:
            nodes = math.ceil(owed * pace.cloud / room[hour] - 1e-9)
            if nodes > pace.platform.limit:
                raise UsageError(
                    f"stage {pace.stage.name} needs {nodes} instances of {pace.platform.name} in hour"
                    f" {hour + 1}, of which {pace.platform.limit} are allowed",
                    hint="a later deadline, or a higher limit in the prices",
                )
            done = nodes * float(room[hour]) / pace.cloud
            give(hour, Domain.CLOUD, pace.platform.name, nodes, done)
            owed -= done
    if owed > 1e-3:
        raise UsageError(
            f"stage {pace.stage.name} runs on the cluster only, whose free nodes do not suffice:"
            f" {math.ceil(owed)} of {pace.stage.tasks} tasks would be left",
            hint="a later deadline, or a platform in the prices that takes the stage",
        )
    return found


def _written(
    paces: tuple[Pace, ...], slots: dict[str, Slots], targets: dict[str, NDArray[np.float64]]
) -> tuple[Slot, ...]:
    if sum(len(own.begin) for own in slots.values()) > MOST_SLOTS:
        return ()
    return tuple(
        Slot(
            stage=pace.stage.name,
            number=number,
            start=round(float(begin), 3),
            end=round(float(begin) + slots[pace.stage.name].length, 3),
            target=round(float(target), 6),
        )
        for pace in paces
        for number, (begin, target) in enumerate(
            zip(slots[pace.stage.name].begin, targets[pace.stage.name], strict=True)
        )
    )
