"""ARS and preloading: what is asked for in an hour, given back within it, and told in time."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.cloud.samples import CLUSTER, PRICES, complete, oai, stage, workflow
from whesl.cloud.core import scaler, schedule, stage_speed, task_preloading
from whesl.cloud.core.plan_records import HOUR, Cost, Domain, Plan, Purpose, Settings, Workflow
from whesl.cloud.core.scaler_events import (
    Command,
    DeadlineAtRisk,
    EndInstances,
    Event,
    LongInterval,
    Observation,
    PaceMeasured,
    RequestNodes,
    ScalerState,
    ShortInterval,
    StageCount,
    StartInstances,
    WithdrawRequests,
)

ONE = workflow(stage("a", 1000, [], 60))


def begun(flow: Workflow, free: float, hours: float, settings: Settings | None = None) -> ScalerState:
    found = stage_speed.paces(flow, complete(flow), PRICES, CLUSTER)
    made = schedule.build(found, PRICES, [free], 0.0, hours * HOUR)
    plan = Plan(
        schedule=made,
        cost=Cost(),
        expected_cost=0,
        probability=None,
        cluster_hours=0,
        cloud_hours=0,
        settings=settings or Settings(),
    )
    return scaler.begin(plan, found)


def seen(*counts: dict[str, int]) -> Observation:
    return Observation(stages=tuple(StageCount(**count) for count in counts))


def after(state: ScalerState, event: Event, now: float) -> tuple[ScalerState, dict[str, Any]]:
    state, commands = scaler.step(state, event, now)
    found: dict[str, Any] = {}
    for one in commands:
        key = type(one).__name__
        if isinstance(one, StartInstances | EndInstances):
            key += f" {one.purpose.value}"
        count = getattr(one, "count", None)
        found[key] = found.get(key, 0) + count if count is not None else one
    return state, found


def test_an_hour_asks_by_the_schedule_and_backs_up_every_node() -> None:
    state = begun(ONE, 3, 4)
    state, asked = after(state, LongInterval(observation=seen({})), 0.0)
    # 1000 tasks of a minute in 4 h: 250 an hour, 180 on three nodes, the rest needs two instances.
    assert asked == {"RequestNodes": 3, "StartInstances scheduled": 2, "StartInstances backup": 3}


def test_a_shorter_hour_asks_for_as_much() -> None:
    """With an hour of two minutes a stage had a minute at least: too few instances were asked for."""
    found = []
    for times in (1, 30):
        state = begun(workflow(stage("a", 300, [], 60)), 0, 0.25)
        (table,) = state.tables
        table = msgspec.structs.replace(table, cloud=60 / times, hpc=60 / times, end=table.end / times)
        settings = Settings(long=HOUR / times, short=300 / times)
        state = msgspec.structs.replace(
            state, settings=settings, deadline=state.deadline / times, tables=(table,)
        )
        found.append(after(state, LongInterval(observation=seen({})), 0.0)[1])
    assert found[0] == found[1] == {"StartInstances scheduled": 20}


def test_what_the_cluster_grants_is_given_back_in_the_cloud() -> None:
    state, _ = after(begun(ONE, 3, 4), LongInterval(observation=seen({})), 0.0)
    counts = {"hpc_waiting": 1, "hpc_running": 2, "cloud_scheduled": 2, "cloud_backup": 3, "done": 10}
    state, asked = after(state, ShortInterval(observation=seen(counts)), 300.0)
    assert asked == {"EndInstances backup": 2}
    counts |= {"hpc_waiting": 0, "hpc_running": 3, "cloud_backup": 1}
    _, asked = after(state, ShortInterval(observation=seen(counts)), 600.0)
    assert asked == {"EndInstances backup": 1}


def test_without_backup_none_is_asked_for() -> None:
    state = begun(ONE, 3, 4, Settings(backup=0.0))
    _, asked = after(state, LongInterval(observation=seen({})), 0.0)
    assert asked == {"RequestNodes": 3, "StartInstances scheduled": 2}


def test_an_hour_makes_up_for_what_the_hours_before_have_not_done() -> None:
    for settings, more in ((Settings(), True), (Settings(rebalance=False), False)):
        state, _ = after(begun(ONE, 3, 4, settings), LongInterval(observation=seen({})), 0.0)
        behind = seen({"done": 100, "hpc_running": 0, "cloud_scheduled": 2, "hpc_waiting": 3})
        _, asked = after(state, LongInterval(observation=behind), HOUR)
        assert ("StartInstances scheduled" in asked) is more
        # The same three requests go on waiting.
        assert "RequestNodes" not in asked
        assert "WithdrawRequests" not in asked


def test_an_instance_gets_the_end_that_the_schedule_foresees() -> None:
    state = begun(workflow(stage("a", 1000, [], 60)), 0, 4)
    _, commands = scaler.step(state, LongInterval(observation=seen({})), 0.0)
    ends = {one.until: one.count for one in commands if isinstance(one, StartInstances)}
    # 5, then 4 an hour: what rounding up did is not asked for again.
    assert max(ends) == 4 * HOUR
    assert sum(ends.values()) == state.tables[0].instances[0]
    assert all(until in (HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR) for until in ends)


def test_no_more_executors_are_kept_than_tasks_are_left() -> None:
    state, _ = after(begun(ONE, 3, 4), LongInterval(observation=seen({})), 0.0)
    counts = {
        "done": 996,
        "running": 4,
        "hpc_running": 3,
        "hpc_waiting": 2,
        "cloud_scheduled": 2,
        "cloud_backup": 2,
    }
    _, asked = after(state, ShortInterval(observation=seen(counts)), 300.0)
    assert asked == {"EndInstances backup": 2, "EndInstances scheduled": 1, "WithdrawRequests": 2}


def test_no_more_executors_are_asked_for_than_tasks_are_left() -> None:
    """Behind the deadline a minute is left for them; 12 tasks of five minutes had been given 60 instances."""
    flow = workflow(stage("a", 12, [], 300))
    state = begun(flow, 0.0, 2)
    late = msgspec.structs.replace(state, hour=4)
    _, commands = after(late, LongInterval(observation=seen({"ready": 12})), 5 * HOUR)
    assert commands["StartInstances scheduled"] == 12
    _, commands = after(late, LongInterval(observation=seen({"ready": 1, "done": 11})), 5 * HOUR)
    assert commands["StartInstances scheduled"] == 1


def test_a_child_is_given_no_more_than_its_parents_can_feed() -> None:
    flow = workflow(stage("a", 1000, [], 60), stage("b", 1000, ["a"], 60))
    state, _ = after(begun(flow, 0, 4), LongInterval(observation=seen({}, {})), 0.0)
    found = scaler.needs(state, seen({"done": 0}, {"done": 0}), 1)
    assert found[1] <= found[0]
    barrier = workflow(stage("a", 1000, [], 60), stage("b", 10, ["a"], 60, barrier=True))
    state, _ = after(begun(barrier, 0, 4), LongInterval(observation=seen({}, {})), 0.0)
    assert scaler.needs(state, seen({"done": 400}, {}), 1)[1] == 0


def test_run_times_that_were_measured_change_what_is_asked_for() -> None:
    state, _ = after(begun(ONE, 0, 4), LongInterval(observation=seen({})), 0.0)
    state, commands = scaler.step(state, PaceMeasured(stage="a", cloud=120.0), HOUR)
    assert commands == ()
    assert state.tables[0].cloud == 120.0
    _, asked = after(state, LongInterval(observation=seen({"done": 250, "cloud_scheduled": 5})), HOUR)
    assert asked["StartInstances scheduled"] == 5  # ten do 290 tasks of two minutes


def test_a_miss_of_the_deadline_is_told_once_and_as_soon_as_it_is_likely() -> None:
    state = begun(ONE, 0, 4)
    for hour in range(4):
        state, _ = scaler.step(state, LongInterval(observation=seen({"done": 100})), hour * HOUR)
    late = ShortInterval(observation=seen({"done": 300, "cloud_scheduled": 5}))
    state, asked = after(state, late, 3 * HOUR + 300)
    told = asked["DeadlineAtRisk"]
    assert isinstance(told, DeadlineAtRisk)
    assert told.expected == 3 * HOUR + 300 + 700 / 5 * 60
    _, asked = after(state, late, 3 * HOUR + 600)
    assert "DeadlineAtRisk" not in asked


counts = st.builds(
    StageCount,
    done=st.integers(0, 1000),
    hpc_waiting=st.integers(0, 50),
    hpc_running=st.integers(0, 50),
    cloud_scheduled=st.integers(0, 50),
    cloud_backup=st.integers(0, 50),
)


@given(
    observations=st.lists(st.tuples(*[counts] * 5), min_size=1, max_size=6),
    free=st.integers(0, 60),
    share=st.floats(0, 1),
)
def test_whatever_is_counted_nothing_is_ended_twice_or_asked_for_beyond_the_cluster(
    observations: list[tuple[StageCount, ...]], free: int, share: float
) -> None:
    state = begun(oai(1000), free, 6, Settings(backup=share))
    names = [table.stage for table in state.tables]
    for number, stages in enumerate(observations):
        state, commands = scaler.step(
            state, LongInterval(observation=Observation(stages=stages)), number * HOUR
        )
        _checked(commands, names, stages)
        asked = sum(memory.asked for memory in state.stages)
        assert asked <= free
        again, commands = scaler.step(
            state, ShortInterval(observation=Observation(stages=stages)), number * HOUR + 300
        )
        _checked(commands, names, stages)
        assert not [one for one in commands if isinstance(one, StartInstances | RequestNodes)]
        assert msgspec.convert(msgspec.to_builtins(again), ScalerState) == again


def _checked(commands: tuple[Command, ...], names: list[str], stages: tuple[StageCount, ...]) -> None:
    for one in commands:
        if isinstance(one, EndInstances):
            count = stages[names.index(one.stage)]
            have = count.cloud_backup if one.purpose is Purpose.BACKUP else count.cloud_scheduled
            assert 0 < one.count <= have
        elif isinstance(one, WithdrawRequests):
            assert 0 < one.count <= stages[names.index(one.stage)].hpc_waiting
        elif isinstance(one, RequestNodes | StartInstances):
            assert one.count > 0


def test_a_task_goes_where_the_load_is_below_one_and_ties_to_the_cloud() -> None:
    assert task_preloading.domain(0, 4, 0, 4) is Domain.CLOUD
    assert task_preloading.domain(0, 4, 4, 4) is Domain.HPC
    assert task_preloading.domain(4, 4, 4, 4) is Domain.CLOUD
    assert task_preloading.domain(5, 4, 9, 4) is Domain.HPC
    assert task_preloading.domain(0, 0, 9, 4) is Domain.CLOUD
    assert task_preloading.domain(0, 4, 0, 0) is Domain.HPC
    assert not task_preloading.may_take_over(4, 4)
    assert task_preloading.may_take_over(5, 4)
    assert task_preloading.may_take_over(1, 0)


@given(tasks=st.integers(0, 60), queues=st.tuples(*[st.integers(0, 30)] * 4))
def test_many_tasks_are_split_as_one_after_the_other(tasks: int, queues: tuple[int, int, int, int]) -> None:
    hpc, hpc_executors, cloud, cloud_executors = queues
    found = task_preloading.split(tasks, *queues)
    mapped = [0, 0]
    for _ in range(tasks):
        where = task_preloading.domain(hpc + mapped[0], hpc_executors, cloud + mapped[1], cloud_executors)
        mapped[where is Domain.CLOUD] += 1
    assert sum(found) == tasks
    assert abs(found[0] - mapped[0]) <= 1 + max(hpc_executors, cloud_executors) // 2
