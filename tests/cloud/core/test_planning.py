"""Profile, pace, slots and schedules: what has to hold for any workflow."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cloud.samples import CLUSTER, PRICES, complete, oai, stage, workflow
from whesl.cloud.core import cost, profile_estimation, schedule, stage_pipeline, stage_speed
from whesl.cloud.core.plan_records import (
    HOUR,
    Domain,
    Measurement,
    PriceList,
    Processor,
    Profile,
    Schedule,
    Stage,
    Window,
    Workflow,
)
from whesl.model.errors import UsageError


def paces_of(
    flow: Workflow, prices: PriceList = PRICES, *, cluster: bool = True
) -> tuple[stage_speed.Pace, ...]:
    return stage_speed.paces(flow, complete(flow), prices, CLUSTER if cluster else None)


def built(flow: Workflow, free: list[float], hours: float, **options: Any) -> Schedule:
    return schedule.build(paces_of(flow), PRICES, free, 0.0, hours * HOUR, **options)


def done(made: Schedule, name: str) -> float:
    return sum(one.target for one in made.assignments if one.stage == name)


# -- the schedule --


@given(
    tasks=st.integers(1, 5000),
    seconds=st.lists(st.floats(1, 900), min_size=1, max_size=5),
    free=st.lists(st.floats(0, 200), min_size=1, max_size=12),
    hours=st.floats(2, 24),
)
def test_all_tasks_are_done_by_the_deadline_on_nodes_that_there_are(
    tasks: int, seconds: list[float], free: list[float], hours: float
) -> None:
    """(3.1), and no hour takes more of the cluster than is foreseen to be free."""
    names = [f"s{number}" for number in range(len(seconds))]
    flow = workflow(
        *(
            stage(name, tasks, names[number - 1 : number] if number else [], seconds[number])
            for number, name in enumerate(names)
        )
    )
    made = built(flow, free, hours)
    for name in names:
        assert done(made, name) == pytest.approx(tasks, rel=1e-6)
    for hour in range(24):
        used = sum(one.nodes for one in made.assignments if one.hour == hour and one.domain is Domain.HPC)
        assert used <= free[min(hour, len(free) - 1)]
    assert all(window.end <= hours * HOUR + 1e-6 for window in made.windows)


def test_parents_and_children_keep_pace() -> None:
    """(3.2): in no hour a stage is to do more than its parents have done by its end."""
    made = built(oai(20_000), [40.0] * 3 + [10.0] * 3 + [60.0] * 6, 12)
    reached: dict[str, np.ndarray[Any, Any]] = {}
    for one in made.assignments:
        hourly = reached.setdefault(one.stage, np.zeros(12))
        hourly[one.hour] += one.target
    whole = {name: np.cumsum(hourly) for name, hourly in reached.items()}
    for flow_stage in oai(20_000).stages:
        for edge in flow_stage.parents:
            ahead = whole[flow_stage.name] - whole[edge.parent]
            assert ahead.max() <= 0.02 * 20_000
            assert (-ahead).max() <= 0.05 * 20_000


def test_the_costliest_stage_has_the_cluster_first() -> None:
    """(3.3): nothing else gets nodes while it goes to the cloud."""
    made = built(oai(20_000), [40.0], 12)
    on_cluster = {one.stage for one in made.assignments if one.domain is Domain.HPC}
    assert on_cluster == {"register_image_to_atlas"}


def test_the_cluster_gets_what_it_can_do_in_proportion_to_its_free_nodes() -> None:
    """(3.4), printed: Target = min(T x TP_i / TP, TP_i)."""
    throughput = np.array([10.0, 30.0, 60.0])
    assert schedule.hpc_targets(50, throughput).tolist() == [5, 15, 30]
    assert schedule.hpc_targets(500, throughput).tolist() == [10, 30, 60]
    assert schedule.hpc_targets(50, np.zeros(3)).tolist() == [0, 0, 0]


@given(
    tasks=st.floats(0, 1000),
    have=st.lists(st.floats(0, 100), min_size=1, max_size=24),
)
def test_the_cloud_fills_up_to_one_level(tasks: float, have: list[float]) -> None:
    before, room = np.array(have), np.full(len(have), HOUR)
    added = schedule.fill(tasks, before, room)
    assert added.sum() == pytest.approx(tasks, abs=1e-6)
    level = (before + added)[added > 1e-9]
    assert not level.size or np.ptp(level) < 1e-6
    assert not level.size or (before[added <= 1e-9] >= level.min() - 1e-6).all()


def test_a_small_workflow_pays_for_few_instances() -> None:
    """Rounding up in each hour would ask for an instance of each stage in all 24."""
    made = built(oai(50), [0.0], 24)
    assert sum(one.nodes for one in made.assignments) < 24


def test_a_stage_waits_for_all_of_a_parent_behind_a_barrier() -> None:
    flow = workflow(stage("map", 600, [], 60), stage("merge", 1, ["map"], 120, barrier=True))
    made = built(flow, [5.0], 4)
    ends = {window.stage: window for window in made.windows}
    assert ends["merge"].start == ends["map"].end
    assert max(one.hour for one in made.assignments if one.stage == "map") * HOUR < ends["map"].end


# -- slots --


def test_a_longer_slot_of_the_parent_feeds_the_childs_in_its_next_slot() -> None:
    """Figure 3.4, scenario A."""
    parent, child = (
        stage_pipeline.Slots(np.array([0.0, 60.0]), 60.0),
        stage_pipeline.Slots(60 + 30.0 * np.arange(4), 30.0),
    )
    assert stage_pipeline.child_targets(parent, np.array([4.0, 8.0]), child).tolist() == [2, 2, 4, 4]
    assert stage_pipeline.parent_targets(child, np.array([2.0, 2, 4, 4]), parent).tolist() == [4, 8]


def test_a_longer_slot_of_the_child_takes_what_was_done_in_its_slot_before() -> None:
    """Figure 3.4, scenario B."""
    parent, child = (
        stage_pipeline.Slots(30.0 * np.arange(4), 30.0),
        stage_pipeline.Slots(np.array([60.0, 120.0]), 60.0),
    )
    # The first slot begins where the two slots before it end, the second takes those of the first's time.
    assert stage_pipeline.child_targets(parent, np.array([1.0, 2, 3, 4]), child).tolist() == [3, 7]
    assert stage_pipeline.parent_targets(child, np.array([3.0, 7]), parent).sum() == pytest.approx(10)


@given(
    lengths=st.tuples(st.floats(10, 4000), st.floats(10, 4000)),
    span=st.floats(8000, 40000),
    targets=st.floats(0, 100),
)
def test_no_task_is_lost_between_slots(lengths: tuple[float, float], span: float, targets: float) -> None:
    parent = stage_pipeline.slots(Window(stage="p", start=0, end=span - lengths[1]), lengths[0])
    child = stage_pipeline.slots(Window(stage="c", start=lengths[0], end=span), lengths[1])
    given_ = np.full(len(parent.begin), targets)
    assert stage_pipeline.child_targets(parent, given_, child).sum() == pytest.approx(given_.sum())
    given_ = np.full(len(child.begin), targets)
    assert stage_pipeline.parent_targets(child, given_, parent).sum() == pytest.approx(given_.sum())


def test_stages_start_behind_their_parents_and_leave_time_for_their_children() -> None:
    """Figure 3.3: start delays by depth, infeasible slots cut."""
    found = stage_pipeline.windows(paces_of(oai(100)), 6 * HOUR)
    times = {name: pace_.slot for pace_ in paces_of(oai(100)) for name in [pace_.stage.name]}
    for flow_stage in oai(100).stages:
        for edge in flow_stage.parents:
            assert found[flow_stage.name].start >= found[edge.parent].start + times[edge.parent] - 1e-9
            assert found[edge.parent].end <= found[flow_stage.name].end - times[flow_stage.name] + 1e-9


# -- what is refused --


def test_a_deadline_below_the_critical_path_is_refused_with_the_path() -> None:
    with pytest.raises(UsageError, match=r"shorter than the critical path of 4 min: preprocess -> register"):
        built(oai(10), [5.0], 0.05)


def test_a_deadline_in_the_past_is_refused() -> None:
    with pytest.raises(UsageError, match="in the past"):
        schedule.build(paces_of(oai(10)), PRICES, [5.0], 100.0, 50.0)


def test_all_stages_without_a_platform_are_named() -> None:
    flow = workflow(stage("a", 5, [], 1, gpu=True), stage("b", 5, [], 1, gpu=True), stage("c", 5, [], 1))
    cpus = PriceList(
        dated="2026-01-01",
        source="",
        currency="USD",
        platforms=tuple(one for one in PRICES.platforms if one.processor is Processor.CPU),
    )
    with pytest.raises(UsageError, match=r"no platform for a \(gpu\), b \(gpu\)"):
        paces_of(flow, cpus, cluster=False)


def test_a_stage_for_the_cluster_alone_needs_its_nodes() -> None:
    flow = workflow(stage("a", 500, [], 60, gpu=True))
    none = PriceList(dated="2026-01-01", source="", currency="USD", platforms=())
    gpus = stage_speed.cluster_nodes(gpu=True)
    found = stage_speed.paces(
        flow, profile_estimation.complete(flow, Profile(workflow=""), (gpus,)), none, gpus
    )
    with pytest.raises(UsageError, match="whose free nodes do not suffice: 382 of 500"):
        schedule.build(found, none, [1.0], 0.0, 2 * HOUR)


# -- profile and cost --


def test_missing_entries_are_estimated_and_say_how() -> None:
    flow = workflow(stage("a", 5), stage("b", 5, ["a"], 40), stage("c", 5, ["a"]))
    cpu = tuple(one for one in PRICES.platforms if one.processor is Processor.CPU)
    measured = Profile(
        workflow="w",
        measurements=(
            Measurement(stage="a", platform="c5a.4xlarge", seconds=10, count=3),
            Measurement(stage="a", platform="c4.4xlarge", seconds=15, count=3),
            Measurement(stage="c", platform="c5a.4xlarge", seconds=20, count=3),
        ),
    )
    made = profile_estimation.complete(flow, measured, cpu)
    found = {(one.stage, one.platform): (one.seconds, one.estimated) for one in made.measurements}
    assert found["a", "c4.4xlarge"] == (15, "")
    assert found["c", "c4.4xlarge"] == (30, "as on c5a.4xlarge times 1.50")
    assert found["b", "c5a.4xlarge"] == (40, "stated in the workflow")
    nothing = profile_estimation.complete(flow, Profile(workflow="w"), cpu)
    assert nothing.of("a", "c5a.4xlarge") == Measurement(
        stage="a",
        platform="c5a.4xlarge",
        seconds=300,
        estimated="five minutes, since nothing was measured",
    )


def test_the_benchmark_takes_a_share_of_the_tasks_and_none_twice() -> None:
    found = profile_estimation.sample(oai(1000), PRICES.platforms)
    assert sum(one.tasks for one in found if one.stage == "preprocess") == pytest.approx(50, abs=6)
    assert {one.platform for one in found if one.stage == "segmentation"} == {
        one.name for one in PRICES.platforms if one.processor is Processor.GPU
    }
    tiny = profile_estimation.sample(workflow(stage("a", 2)), PRICES.platforms)
    assert sum(one.tasks for one in tiny) == 2


def test_a_cost_estimate_counts_instances_by_the_hour_and_what_leaves_the_cloud() -> None:
    flow = workflow(stage("a", 60, [], 60, output_bytes=1e9))
    made = built(flow, [0.0], 1)
    priced = cost.estimate(flow, made, PRICES)
    # One Epyc Rome for one hour; 60 GB written, read to leave, and moved out.
    assert priced.instances == pytest.approx(0.616)
    assert priced.transfer == pytest.approx(60 * PRICES.leaving)
    assert cost.node_hours(made) == (0, 1)
    assert cost.estimate(flow, built(flow, [5.0], 1), PRICES).total == 0


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize(("seconds", "hours"), [(3200.0, 1), (3300.0, 2), (7200.0, 3), (100_000.0, 31)])
def test_nothing_is_planned_on_a_node_where_it_cannot_end(
    seconds: float, hours: int, checkpoints: bool
) -> None:
    # Tasks of two hours were planned into hours of the cluster, and none of them ended there.
    long = Stage(name="a", tasks=4, seconds=seconds, checkpoints=checkpoints)
    flow = Workflow(name="w", stages=(long, Stage(name="b", tasks=4, seconds=10.0)))
    paces = stage_speed.paces(flow, complete(flow), PRICES, CLUSTER)
    alone = tuple(msgspec.structs.replace(pace, cloud=None, platform=None) for pace in paces)
    for longest in (1, 2, 3, 24, 31):
        ends = checkpoints or hours <= longest
        there, short = stage_speed.whole(paces, longest)
        assert (there.hpc is not None) is ends and short.hpc is not None
        if ends:
            assert all(pace.hpc for pace in stage_speed.whole(alone, longest))
        else:
            with pytest.raises(UsageError, match="a task of a does not end"):
                stage_speed.whole(alone, longest)


@pytest.mark.parametrize(
    ("minutes", "requests"),
    # Six tasks on four free nodes: how many requests of how many hours there are for them.
    [(10, {(1, 2)}), (40, {(1, 6)}), (120, {(3, 6)})],
)
def test_a_request_is_as_long_as_a_task_needs(minutes: float, requests: set[tuple[int, int]]) -> None:
    flow = workflow(stage("a", 6, [], 60.0 * minutes))
    alone = tuple(msgspec.structs.replace(pace, cloud=None, platform=None) for pace in paces_of(flow))
    made = schedule.build(alone, PRICES, [4.0], 0.0, 10 * HOUR)
    found: dict[int, int] = {}
    for one in made.assignments:
        if one.nodes > one.stays:
            found[one.hours] = found.get(one.hours, 0) + one.nodes - one.stays
    assert {(hours, count) for hours, count in found.items() if count} == requests
    assert done(made, "a") == pytest.approx(6)


@given(seconds=st.floats(1, 9000), life=st.floats(1, 30_000))
def test_the_runner_begins_as_many_tasks_in_a_request_as_the_plan_counts(seconds: float, life: float) -> None:
    begun, now = 0, 0.0
    while begun < 50_000 and now + stage_speed.SLACK * seconds < life - 1e-6:  # as ``Queues`` decides
        begun, now = begun + 1, now + seconds
    assert stage_speed.executor_tasks(life, seconds, seconds, life) == begun
