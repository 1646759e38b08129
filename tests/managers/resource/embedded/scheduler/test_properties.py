"""What holds for every workload: no node given twice, no head delayed, order kept, everything ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.managers.resource.embedded.scheduler.simulation import START, Simulation
from whesl.managers.resource.embedded.artificial_wait import QueueWait
from whesl.managers.resource.embedded.scheduler.fitting import spread
from whesl.model.states import JobState

NODES = 4
LONG_ENOUGH = 4000.0


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    """Return a job that fits the cluster, with a limit that its script may or may not keep."""
    limit = draw(st.integers(1, 30))
    nodes = draw(st.integers(1, NODES) | st.none())
    tasks = draw(st.integers(1, 2 * NODES) | st.none()) if nodes is None else None
    return {
        "seconds": draw(st.integers(1, 40)),
        "time_limit": float(limit),
        "nodes": nodes if nodes or tasks else 1,
        "tasks": tasks,
        "exclusive": draw(st.booleans()),
    }


arrivals = st.lists(st.tuples(st.integers(0, 20), jobs()), min_size=1, max_size=25)


def watched(simulation: Simulation) -> None:
    """Check after every step that nothing is given twice."""

    def check() -> None:
        core = simulation.core
        assert all(free >= 0 for free in core.free_cpus().values())
        holders: dict[str, list[bool]] = {}
        for job in core.jobs.values():
            if job.state in (JobState.RUNNING, JobState.COMPLETING):
                for share in job.held_shares:
                    holders.setdefault(share.node, []).append(job.spec.exclusive)
            if job.state is JobState.RUNNING:
                asked = job.spec.nodes
                assert asked is None or len(job.nodes) + len(job.lost) == asked
        assert all(len(exclusive) == 1 or not any(exclusive) for exclusive in holders.values())

    simulation.on_step = check


def feed(simulation: Simulation, workload: list[tuple[int, dict[str, Any]]]) -> None:
    """Submit each job at its time (the gaps add up)."""
    time = 0
    for gap, fields in workload:
        time += gap
        simulation.run(time)
        simulation.submit(**fields)


@pytest.mark.costly
@settings(max_examples=examples(60), deadline=None)
@given(arrivals)
def test_easy_never_delays_the_head(workload: list[tuple[int, dict[str, Any]]]) -> None:
    simulation = Simulation(NODES)
    watched(simulation)
    check = simulation.on_step
    promised: dict[int, float] = {}

    def promise() -> None:
        check()
        for job, time in simulation.core.shadows.items():
            # A promise may only improve, except for the moment that clearing up takes.
            assert time <= promised.get(job, time) + 0.5
            promised.setdefault(job, time)

    simulation.on_step = promise
    feed(simulation, workload)
    simulation.run(LONG_ENOUGH)
    for number, job in simulation.core.jobs.items():
        assert job.state in (JobState.COMPLETED, JobState.TIMEOUT)
        if number in promised:
            assert job.started <= promised[number] + 0.5


@pytest.mark.costly
@settings(max_examples=examples(60), deadline=None)
@given(arrivals)
def test_strict_order_is_kept(workload: list[tuple[int, dict[str, Any]]]) -> None:
    simulation = Simulation(NODES, policy="fcfs")
    watched(simulation)
    feed(simulation, workload)
    simulation.run(LONG_ENOUGH)
    assert [job for _, job in simulation.starts] == sorted(simulation.core.jobs)


@pytest.mark.costly
@settings(max_examples=examples(60), deadline=None)
@given(
    arrivals,
    st.lists(st.tuples(st.integers(1, 100), st.integers(1, NODES), st.integers(1, 40)), max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_everything_ends_though_nodes_die(
    workload: list[tuple[int, dict[str, Any]]],
    deaths: list[tuple[int, int, int]],
    no_kill: bool,
    requeue: bool,
) -> None:
    simulation = Simulation(NODES)
    watched(simulation)
    for time, number, away in deaths:
        name = f"n{number:02}"
        simulation.at(START + time, lambda name=name: simulation.kill(name))  # type: ignore[misc]  # bound now
        simulation.at(START + time + away, lambda name=name: simulation.revive(name))  # type: ignore[misc]  # as above
    feed(simulation, [(gap, {**fields, "no_kill": no_kill, "requeue": requeue}) for gap, fields in workload])
    simulation.run(LONG_ENOUGH)
    assert all(job.state.ended for job in simulation.core.jobs.values())
    assert simulation.core.free_cpus() == dict.fromkeys(simulation.settings.nodes, 2)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6).flatmap(
        lambda capacity: st.tuples(st.just(capacity), st.integers(len(capacity), sum(capacity)))
    )
)
def test_tasks_are_spread_evenly_and_fit(case: tuple[list[int], int]) -> None:
    capacity, tasks = case
    placed = spread(tasks, capacity)
    assert sum(placed) == tasks
    assert all(1 <= count <= room for count, room in zip(placed, capacity, strict=True))
    # A node has two more than another only where that one is full.
    pairs = list(zip(placed, capacity, strict=True))
    assert all(few == room or many <= few + 1 for few, room in pairs for many in placed)


@given(st.sampled_from(["0", "fixed:30", "exp:60", "lognormal:1,0.5", "empirical:1,2,3"]), st.integers(0, 9))
def test_a_queue_wait_can_be_repeated(text: str, seed: int) -> None:
    draws = [QueueWait(text, seed).draw(number) for number in range(50)]
    assert draws == [QueueWait(text, seed).draw(number) for number in range(50)]
    assert all(draw >= 0 for draw in draws)
