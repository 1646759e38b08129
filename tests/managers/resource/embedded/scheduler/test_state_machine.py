"""The state machine's rules for jobs, each on a virtual clock."""

from __future__ import annotations

import pytest

from tests.managers.resource.embedded.scheduler.simulation import START, Simulation
from whesl.managers.resource.embedded.scheduler.actions import (
    EndJob,
    SignalTasks,
    StartBatch,
    StepRefused,
    ToNode,
)
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Dependency, Partition, StepWish
from whesl.managers.resource.embedded.scheduler.state_machine import Core
from whesl.model.errors import RefusedError
from whesl.model.states import JobState


def started(simulation: Simulation, job: int) -> float:
    return simulation.job(job).started - START


def test_jobs_start_in_order_and_end() -> None:
    simulation = Simulation(2)
    jobs = [simulation.submit(10, nodes=2, exclusive=True) for _ in range(3)]
    assert [simulation.state(job) for job in jobs] == ["RUNNING", "PENDING", "PENDING"]
    assert [simulation.job(job).reason for job in jobs[1:]] == ["Resources", "Priority"]
    simulation.run(40)
    assert [simulation.state(job) for job in jobs] == ["COMPLETED"] * 3
    assert [job for _, job in simulation.starts] == jobs


def test_cpus_are_shared_unless_the_job_is_exclusive() -> None:
    simulation = Simulation(1)
    small = [simulation.submit(10, tasks=1, nodes=None) for _ in range(2)]
    alone = simulation.submit(10, tasks=1, nodes=None, exclusive=True)
    assert [simulation.state(job) for job in small] == ["RUNNING", "RUNNING"]
    assert simulation.state(alone) == "PENDING"
    simulation.run(15)
    assert simulation.state(alone) == "RUNNING"
    assert simulation.core.free_cpus() == {"n01": 0}


def test_whole_nodes_are_given_where_the_cluster_says_so() -> None:
    simulation = Simulation(2, whole_nodes=True)
    job = simulation.submit(nodes=1)
    assert simulation.job(job).shares[0].cpus == 2


def test_backfilling_uses_the_gap_and_only_the_gap() -> None:
    simulation = Simulation(4)
    simulation.submit(98, nodes=3, exclusive=True, time_limit=98.0)
    head = simulation.submit(10, nodes=4, exclusive=True, time_limit=10.0)
    too_long = simulation.submit(10, nodes=1, exclusive=True, time_limit=200.0)
    fits = simulation.submit(10, nodes=1, exclusive=True, time_limit=50.0)
    assert simulation.core.shadows == {head: START + 100}
    assert simulation.state(too_long) == "PENDING"
    assert simulation.state(fits) == "RUNNING"
    simulation.run(105)
    assert 98 <= started(simulation, head) <= 100


def test_a_long_job_may_pass_beside_the_reservation() -> None:
    simulation = Simulation(4)
    simulation.submit(98, nodes=2, exclusive=True, time_limit=98.0)
    head = simulation.submit(10, nodes=3, exclusive=True, time_limit=10.0)
    beside = simulation.submit(500, nodes=1, exclusive=True, time_limit=500.0)
    second = simulation.submit(500, nodes=1, exclusive=True, time_limit=500.0)
    assert [simulation.state(job) for job in (head, beside, second)] == ["PENDING", "RUNNING", "PENDING"]
    simulation.run(101)
    assert simulation.state(head) == "RUNNING"


def test_strict_order_without_backfilling() -> None:
    simulation = Simulation(4, policy="fcfs")
    simulation.submit(50, nodes=3, exclusive=True, time_limit=50.0)
    head = simulation.submit(10, nodes=4, exclusive=True, time_limit=10.0)
    small = simulation.submit(10, nodes=1, exclusive=True, time_limit=10.0)
    assert simulation.state(small) == "PENDING"
    simulation.run(200)
    assert started(simulation, head) < started(simulation, small)


def test_partitions_do_not_hold_each_other_up() -> None:
    parts = (Partition(name="a", nodes=("n01", "n02")), Partition(name="b", nodes=("n03",), max_time=60.0))
    simulation = Simulation(3, partitions=parts, policy="fcfs")
    simulation.submit(100, nodes=2, exclusive=True)
    waiting = simulation.submit(nodes=1, exclusive=True)
    other = simulation.submit(nodes=1, exclusive=True, partition="b")
    assert [simulation.state(job) for job in (waiting, other)] == ["PENDING", "RUNNING"]
    assert simulation.job(other).time_limit == 60.0
    with pytest.raises(RefusedError, match="Invalid partition"):
        simulation.submit(partition="c")
    with pytest.raises(RefusedError, match="time limit"):
        simulation.submit(partition="b", time_limit=61.0)
    with pytest.raises(RefusedError, match="Requested node configuration"):
        simulation.submit(partition="b", nodes=2)


def test_a_time_limit_ends_the_job() -> None:
    simulation = Simulation()
    job = simulation.submit(1000, nodes=2, time_limit=60.0, warning=(10, 20.0, True))
    simulation.run(39)
    assert not [message for _, message in simulation.sent(SignalTasks)]
    simulation.run(41)
    warnings = [message for _, message in simulation.sent(SignalTasks)]
    assert [(a.number, a.batch, a.steps) for a in warnings] == [(10, True, False), (10, False, False)]
    simulation.run(59)
    assert simulation.state(job) == "RUNNING"
    simulation.run(65)
    assert simulation.state(job) == "TIMEOUT"
    notes = {end.note for _, end in simulation.sent(EndJob)}
    assert notes == {"CANCELLED AT {time} DUE TO TIME LIMIT"}


def test_a_token_is_one_job_for_ever() -> None:
    simulation = Simulation()
    first = simulation.submit(5, token="t")
    assert simulation.submit(5, token="t") == first
    simulation.run(10)
    assert simulation.state(first) == "COMPLETED"
    assert simulation.submit(5, token="t") == first
    again = Core(simulation.settings, simulation.now, simulation.core.jobs.values())
    found = again.find("t")
    assert found is not None
    assert found.id == first


def test_a_queue_wait_delays_the_start() -> None:
    simulation = Simulation()
    slow, quick = simulation.submit(wait=30.0), simulation.submit()
    assert (simulation.state(slow), simulation.job(slow).reason) == ("PENDING", "Priority")
    assert simulation.state(quick) == "RUNNING"
    simulation.run(35)
    assert started(simulation, slow) == pytest.approx(30)


def test_holds_and_begin_times() -> None:
    simulation = Simulation()
    held, later = simulation.submit(hold=True), simulation.submit(begin=START + 20)
    simulation.run(10)
    assert simulation.job(held).reason == "JobHeldUser"
    assert simulation.job(later).reason == "BeginTime"
    simulation.core.update(held, simulation.now, held=False)
    simulation.run(25)
    assert started(simulation, held) == pytest.approx(10)
    assert started(simulation, later) == pytest.approx(20)
    with pytest.raises(RefusedError, match="no longer pending"):
        simulation.core.update(later, simulation.now, begin=0.0)


@pytest.mark.parametrize(
    ("kind", "code", "outcome"),
    [
        ("afterok", 0, "COMPLETED"),
        ("afterok", 1, "PENDING"),
        ("afternotok", 1, "COMPLETED"),
        ("afternotok", 0, "PENDING"),
        ("afterany", 1, "COMPLETED"),
        ("after", 1, "COMPLETED"),
    ],
)
def test_dependencies(kind: str, code: int, outcome: str) -> None:
    simulation = Simulation()
    parent = simulation.submit(10, code)
    child = simulation.submit(1, dependencies=(Dependency(kind=kind, job=parent),))
    if kind != "after":
        assert simulation.job(child).reason == "Dependency"
    simulation.run(30)
    assert simulation.state(child) == outcome
    if outcome == "PENDING":
        assert simulation.job(child).reason == "DependencyNeverSatisfied"


def test_a_dependency_that_cannot_be_met_ends_the_job_when_asked() -> None:
    simulation = Simulation()
    parent = simulation.submit(5, 1)
    child = simulation.submit(
        dependencies=(Dependency(kind="afterok", job=parent),), kill_invalid_dependency=True
    )
    grandchild = simulation.submit(
        dependencies=(Dependency(kind="afterok", job=child),), kill_invalid_dependency=True
    )
    simulation.run(10)
    assert simulation.state(child) == simulation.state(grandchild) == "CANCELLED"
    with pytest.raises(RefusedError, match="dependency"):
        simulation.submit(dependencies=(Dependency(kind="afterok", job=77),))


def test_any_of_several_dependencies() -> None:
    simulation = Simulation()
    parents = [simulation.submit(5, 1), simulation.submit(10, 0)]
    wanted = tuple(Dependency(kind="afterok", job=parent) for parent in parents)
    either = simulation.submit(1, dependencies=wanted, any_dependency=True)
    both = simulation.submit(1, dependencies=wanted)
    simulation.run(20)
    assert (simulation.state(either), simulation.state(both)) == ("COMPLETED", "PENDING")


def test_an_array_runs_as_many_at_a_time_as_it_may() -> None:
    simulation = Simulation(4)
    array = simulation.submit(10, array=(1, 3, 5, 7), array_limit=2)
    after = simulation.submit(1, dependencies=(Dependency(kind="afterok", job=array),))
    tasks = simulation.core.select(array)
    assert [(job.label, job.state.value) for job in tasks] == [
        (f"{array}_1", "RUNNING"),
        (f"{array}_3", "RUNNING"),
        (f"{array}_5", "PENDING"),
        (f"{array}_7", "PENDING"),
    ]
    assert tasks[2].reason == "JobArrayTaskLimit"
    simulation.run(15)
    assert [job.state.value for job in simulation.core.select(array)] == ["COMPLETED"] * 2 + ["RUNNING"] * 2
    assert [job.id for job in simulation.core.select(array, 5)] == [tasks[2].id]
    assert simulation.state(after) == "PENDING"
    simulation.run(30)
    assert simulation.state(after) == "COMPLETED"


def test_cancelling_in_every_state() -> None:
    simulation = Simulation(1)
    running, waiting = simulation.submit(100, exclusive=True), simulation.submit(exclusive=True)
    simulation.core.cancel(waiting, simulation.now)
    simulation.core.cancel(running, simulation.now)
    assert simulation.state(running) == "COMPLETING"
    simulation.run(1)
    assert simulation.state(running) == simulation.state(waiting) == "CANCELLED"
    simulation.core.cancel(running, simulation.now)
    assert not simulation.starts[1:]


def test_a_requeued_job_runs_again_under_its_id() -> None:
    simulation = Simulation(requeue_delay=120.0)
    job = simulation.submit(1000)
    simulation.core.requeue(job, simulation.now)
    simulation.run(1)
    assert (simulation.state(job), simulation.job(job).reason) == ("PENDING", "BeginTime")
    simulation.run(119)
    assert simulation.state(job) == "PENDING"
    simulation.run(121)
    assert (simulation.state(job), simulation.job(job).restarts) == ("RUNNING", 1)
    fixed = simulation.submit(1000, requeue=False)
    with pytest.raises(RefusedError, match="disabled"):
        simulation.core.requeue(fixed, simulation.now)
    simulation.core.requeue(fixed, simulation.now, at_once=True)
    simulation.run(123)
    assert (simulation.state(fixed), simulation.job(fixed).restarts) == ("RUNNING", 1)


def test_the_hold_of_a_requeued_job_can_be_lifted() -> None:
    simulation = Simulation(requeue_delay=120.0)
    job = simulation.submit(1000)
    simulation.core.requeue(job, simulation.now)
    simulation.core.update(job, simulation.now, begin=simulation.now)
    simulation.run(2)
    assert simulation.state(job) == "RUNNING"


def test_a_late_report_of_an_earlier_run_counts_for_nothing() -> None:
    simulation = Simulation()
    job = simulation.submit(1000)
    simulation.core.requeue(job, simulation.now)
    simulation.run(1)
    assert simulation.job(job).restarts == 1
    simulation.core.batch_ended(job, 0, 1, 0, simulation.now)
    simulation.core.cleared("n01", job, 0, simulation.now)
    assert simulation.state(job) == "RUNNING"


# Loss of nodes ------------------------------------------------------------------------------------------


def test_what_a_job_cannot_give_is_refused() -> None:
    simulation = Simulation(3)
    job = simulation.submit(1000, nodes=2)
    core = simulation.core
    wishes = {
        1: StepWish(job=job, nodes=3),
        2: StepWish(job=job, tasks=9),
        3: StepWish(job=job, nodelist=("n03",)),
        4: StepWish(job=job, nodes=2, exclude=("n01",)),
    }
    for request, wish in wishes.items():
        core.request_step(request, wish, simulation.now)
    simulation.settle()
    refused = {a.request: a.text for a in simulation.actions if isinstance(a, StepRefused)}
    assert refused == {
        1: "Only allocated 2 nodes asked for 3",
        2: f"Unable to create step for job {job}: More processors requested than permitted",
        3: f"Unable to create step for job {job}: Requested node configuration is not available",
        4: f"Unable to create step for job {job}: Requested node configuration is not available",
    }
    with pytest.raises(RefusedError):
        core.request_step(5, StepWish(job=99), simulation.now)


def test_a_restarted_server_goes_on_from_its_records() -> None:
    simulation = Simulation(2)
    running = simulation.submit(100, nodes=1)
    waiting = simulation.submit(100, nodes=2, exclusive=True)
    old = simulation.core
    core = Core(simulation.settings, simulation.now, old.jobs.values(), old.steps.open(), old.nodes.values())
    assert core.free_cpus() == {"n01": 1, "n02": 2}
    # The order to start never arrived: it is repeated when the node registers, for the node to decide.
    core.node_registered("n01", old.nodes["n01"].boot, (), simulation.now)
    assert core.take().actions == [StartBatch(running, "n01")]
    core.batch_ended(running, 0, 0, 0, simulation.now)
    core.take()
    core.node_registered("n01", old.nodes["n01"].boot, (), simulation.now)
    assert core.take().actions == [ToNode("n01", EndJob(job=running, restart=0, grace=2.0))]
    core.cleared("n01", running, 0, simulation.now)
    core.advance(simulation.now)
    assert core.jobs[running].state is JobState.COMPLETED
    assert core.jobs[waiting].state is JobState.RUNNING


def test_shutting_down_cancels_everything() -> None:
    simulation = Simulation(1)
    jobs = [simulation.submit(100, exclusive=True) for _ in range(2)]
    simulation.core.shut_down(simulation.now)
    assert [simulation.state(job) for job in jobs] == ["CANCELLED"] * 2
    assert simulation.core.free_cpus() == {"n01": 2}
