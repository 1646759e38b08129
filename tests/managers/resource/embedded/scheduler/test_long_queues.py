"""Twenty thousand tasks: what one event costs does not grow with the queue.

Before, each job's end looked at every pending one, and each task of an array carried the indices of all: the
queue of 20,000 ran at a quarter of its pace, and ``squeue`` could not take the answer of more than 64 MiB.
"""

from __future__ import annotations

import msgspec
import pytest

from tests.managers.resource.embedded.scheduler.simulation import Simulation
from whesl.managers.resource.embedded.scheduler import state_machine
from whesl.managers.resource.embedded.scheduler.eligibility import Select, not_ready
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Dependency, Job, JobSpec

LONG = 2000


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []

    def counting(job: Job, now: float, select: Select) -> tuple[str | None, float]:
        seen.append(job.id)
        return not_ready(job, now, select)

    monkeypatch.setattr(state_machine, "not_ready", counting)
    return seen


def test_a_jobs_end_looks_at_the_front_of_the_queue_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(2)
    simulation.submit(10.0, array=tuple(range(LONG)))
    seen = counted(monkeypatch)
    simulation.run(51)
    ended = len(simulation.starts) - 4
    assert ended >= 16
    assert len(seen) < LONG + 20 * ended, "each once more, since its reason has changed"
    assert len(simulation.running) == 4, "every CPU is in use all the time"


def test_all_run_in_their_order_and_nobody_is_forgotten() -> None:
    simulation = Simulation(2)
    first = simulation.submit(1.0, array=tuple(range(50)))
    held = simulation.submit(1.0, hold=True)
    later = simulation.submit(1.0, begin=simulation.now + 5)
    after = simulation.submit(1.0, dependencies=(Dependency(kind="afterok", job=first),))
    assert simulation.job(held).reason == "JobHeldUser"
    assert simulation.job(later).reason == "BeginTime"
    assert simulation.job(after).reason == "Dependency"
    assert simulation.job(first + 40).reason == "Priority"
    simulation.run(100)
    assert [job for _, job in simulation.starts[:50]] == list(range(first, first + 50))
    assert [simulation.state(job) for job in (held, later, after)] == ["PENDING", "COMPLETED", "COMPLETED"]


def test_what_can_never_start_is_cancelled_behind_a_long_queue() -> None:
    simulation = Simulation(1)
    fails = simulation.submit(1.0, code=1)
    simulation.submit(100.0, array=tuple(range(50)))
    never = simulation.submit(
        dependencies=(Dependency(kind="afterok", job=fails),), kill_invalid_dependency=True
    )
    simulation.run(10)
    assert simulation.state(never) == "CANCELLED"


def test_a_task_of_an_array_does_not_carry_the_array() -> None:
    simulation = Simulation(1)
    first = simulation.submit(array=tuple(range(1, LONG + 1)))
    record = msgspec.json.encode(simulation.job(first + 7))
    assert len(record) < 2 * len(msgspec.json.encode(simulation.job(simulation.submit())))
    assert simulation.job(first + 7).array == (LONG, 1, LONG)
    assert simulation.job(first + 7).spec == JobSpec()
    assert [job.array_task for job in simulation.core.select(first)] == list(range(1, LONG + 1))
