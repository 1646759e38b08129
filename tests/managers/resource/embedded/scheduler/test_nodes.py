"""The state machine's rules for nodes that are lost, drained and come back, on a virtual clock."""

from __future__ import annotations

import pytest

from tests.managers.resource.embedded.scheduler.simulation import Simulation
from whesl.managers.resource.embedded.scheduler.actions import DropNode, EndJob, ToNode
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Partition
from whesl.managers.resource.embedded.scheduler.state_machine import Core
from whesl.model.errors import RefusedError
from whesl.model.states import JobState


def test_a_lost_node_is_noticed_only_after_the_timeout() -> None:
    simulation = Simulation(2)
    job = simulation.submit(1000, nodes=2, requeue=False)
    simulation.run(5)
    simulation.kill("n02")
    simulation.run(14)
    assert simulation.state(job) == "RUNNING"
    assert not simulation.core.responds("n02", simulation.now)
    simulation.run(17)
    assert simulation.state(job) == "NODE_FAIL"
    assert not simulation.core.nodes["n02"].up
    assert DropNode("n02") in simulation.actions
    notes = {end.note for _, end in simulation.sent(EndJob)}
    assert notes == {"CANCELLED AT {time} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"}


def test_a_silent_node_gets_nothing_new() -> None:
    simulation = Simulation(2)
    simulation.kill("n01")
    simulation.run(7)
    job = simulation.submit(1000)
    assert simulation.job(job).nodes == ("n02",)


def test_a_job_without_no_kill_is_requeued() -> None:
    simulation = Simulation(2)
    job = simulation.submit(1000, nodes=1)
    simulation.kill("n01")
    simulation.run(20)
    assert (simulation.state(job), simulation.job(job).restarts) == ("RUNNING", 1)
    assert simulation.job(job).nodes == ("n02",)


def test_a_no_kill_job_outlives_a_node() -> None:
    simulation = Simulation(3)
    job = simulation.submit(100, nodes=3, no_kill=True, requeue=False)
    simulation.kill("n02")
    simulation.run(20)
    record = simulation.job(job)
    assert (record.state, record.nodes, record.lost) == (JobState.RUNNING, ("n01", "n03"), ("n02",))
    simulation.run(110)
    assert simulation.state(job) == "COMPLETED"


def test_a_no_kill_job_without_its_batch_host_stays_for_ever() -> None:
    simulation = Simulation(3)
    job = simulation.submit(100, nodes=3, no_kill=True, requeue=False, time_limit=300.0)
    simulation.kill("n01")
    simulation.run(250)
    record = simulation.job(job)
    assert (record.state, record.batch_host, record.nodes) == (JobState.RUNNING, "n01", ("n02", "n03"))
    simulation.run(310)
    assert simulation.state(job) == "TIMEOUT"


def test_the_owner_requeues_a_job_whose_batch_host_is_lost() -> None:
    simulation = Simulation(4)
    job = simulation.submit(1000, nodes=3, no_kill=True, requeue=False)
    simulation.kill("n01")
    simulation.core.requeue(job, simulation.now, at_once=True)
    simulation.run(5)
    assert simulation.state(job) == "COMPLETING"
    simulation.run(15)
    record = simulation.job(job)
    assert (record.state, record.restarts, record.nodes) == (JobState.RUNNING, 1, ("n02", "n03", "n04"))


def test_a_no_kill_job_with_one_node_fails_with_it() -> None:
    simulation = Simulation(2)
    job = simulation.submit(1000, nodes=1, no_kill=True, requeue=False)
    simulation.kill("n01")
    simulation.run(20)
    assert simulation.state(job) == "NODE_FAIL"


def test_a_script_that_never_started_is_requeued() -> None:
    simulation = Simulation(3)
    simulation.kill("n01")
    job = simulation.submit(5, nodes=2, no_kill=True, requeue=False)
    assert simulation.job(job).batch_host == "n01"
    simulation.run(20)
    record = simulation.job(job)
    assert (record.state, record.restarts, record.nodes) == (JobState.COMPLETED, 1, ("n02", "n03"))


def test_a_rebooted_node_lost_what_ran_there() -> None:
    simulation = Simulation(1)
    job = simulation.submit(1000, requeue=False)
    simulation.kill("n01")
    simulation.run(1)
    simulation.revive("n01")
    simulation.run(2)
    assert simulation.state(job) == "NODE_FAIL"
    assert simulation.core.nodes["n01"].up


def test_a_node_that_was_only_silent_gives_up_what_is_not_its_own() -> None:
    simulation = Simulation(2)
    job = simulation.submit(1000, requeue=False)
    boot = simulation.core.nodes["n01"].boot
    simulation.kill("n01")
    simulation.run(15)
    assert simulation.state(job) == "NODE_FAIL"
    simulation.dead.discard("n01")
    simulation.core.node_registered("n01", boot, [(job, 0)], simulation.now)
    assert ToNode("n01", EndJob(job=job, restart=0, grace=2.0)) in simulation.core.actions
    assert simulation.core.nodes["n01"].up


def test_a_drained_node_finishes_and_takes_nothing_new() -> None:
    simulation = Simulation(2)
    job = simulation.submit(10, nodes=1, exclusive=True)
    simulation.core.update_node("n01", "drain", "bad disk", "me", simulation.now)
    other = simulation.submit(1000, nodes=1)
    wide = simulation.submit(10, nodes=2)
    small = simulation.submit(5, nodes=1)
    assert simulation.job(other).nodes == ("n02",)
    # Nodes that are away must not hold up those behind.
    assert simulation.job(wide).reason == "ReqNodeNotAvail"
    assert simulation.state(small) == "RUNNING"
    simulation.run(20)
    assert simulation.state(job) == "COMPLETED"
    simulation.core.update_node("n01", "resume", "", "me", simulation.now)
    simulation.run(21)
    assert simulation.state(wide) == "RUNNING"
    with pytest.raises(RefusedError, match="reason"):
        simulation.core.update_node("n01", "drain", "", "me", simulation.now)


def test_a_node_that_somebody_calls_down_comes_back_when_it_lives() -> None:
    simulation = Simulation(1)
    simulation.core.update_node("n01", "down", "try", "me", simulation.now)
    assert not simulation.core.nodes["n01"].up
    simulation.core.node_registered("n01", simulation.core.nodes["n01"].boot, (), simulation.now)
    assert simulation.core.nodes["n01"].up
    assert simulation.core.nodes["n01"].reason == ""


def test_a_job_gives_a_node_back() -> None:
    simulation = Simulation(3)
    job = simulation.submit(1000, nodes=3, exclusive=True, no_kill=True)
    simulation.core.update(job, simulation.now, nodelist=("n01", "n03"))
    other = simulation.submit(nodes=1, exclusive=True)
    assert simulation.job(job).nodes == ("n01", "n03")
    assert simulation.job(other).nodes == ("n02",)
    with pytest.raises(RefusedError, match="Invalid node name"):
        simulation.core.update(job, simulation.now, nodelist=("n02",))


# Steps --------------------------------------------------------------------------------------------------


def test_another_set_of_nodes_ends_what_was_on_the_old_ones() -> None:
    simulation = Simulation(3)
    gone, stays = simulation.submit(100, nodelist=("n03",)), simulation.submit(100, nodelist=("n01",))
    parts = (Partition(name="new", nodes=("n01",)),)
    waiting = simulation.submit(hold=True)
    settings = simulation.settings.__class__(nodes=("n01",), partitions=parts)
    core = Core(settings, simulation.now, simulation.core.jobs.values())
    assert core.jobs[gone].state is JobState.NODE_FAIL
    assert core.jobs[stays].state is JobState.RUNNING
    assert core.jobs[waiting].state is JobState.CANCELLED
    assert core.free_cpus() == {"n01": 1}
    core.advance(simulation.now)


def test_a_server_that_did_not_run_blames_no_node() -> None:
    simulation = Simulation(1)
    job = simulation.submit(1000)
    simulation.core.excuse_silence(simulation.now + 500)
    simulation.core.advance(simulation.now + 505)
    assert simulation.state(job) == "RUNNING"
    simulation.core.advance(simulation.now + 511)
    assert not simulation.core.nodes["n01"].up
