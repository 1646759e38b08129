"""What Flux tells unasked, what is seen of brokers that die or hang, and who is inside an allocation."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from tests.processes import words
from tests.runtime.isolator.bench import exists
from tests.waiting import until
from whesl.managers import resource
from whesl.managers.resource.flux.allocation import FluxAllocation
from whesl.managers.resource.flux.scheduler import FluxScheduler, submission
from whesl.managers.resource.port import JobException, JobRequest, NodeEvent, StepRequest
from whesl.managers.resource.single_host import HostAllocation
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.model.states import JobState, NodeState

pytestmark = pytest.mark.flux


@pytest.fixture
def bed() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(nodes=4) as bed:
        yield bed


def hear(
    allocation: FluxAllocation, enough: Callable[[list[NodeEvent | JobException]], object]
) -> list[NodeEvent | JobException]:
    """Listen until there is enough and return all."""
    heard: list[NodeEvent | JobException] = []
    deadline = time.monotonic() + 120
    while not enough(heard):
        assert time.monotonic() < deadline, heard
        if select.select([allocation.watch()], [], [], 1)[0]:
            heard += allocation.events()
    return heard


def test_a_lost_node_is_told_with_the_jobs_that_it_took(
    bed: FluxBed, opened: Callable[..., FluxAllocation]
) -> None:
    inside = bed.nested(3)
    allocation = opened(inside)
    allocation.watch()
    inner = bed.run("flux", "submit", "-N3", "sleep", "300", FLUX_URI=inside["FLUX_URI"]).stdout.strip()
    bed.run("flux", "job", "wait-event", inner, "start", FLUX_URI=inside["FLUX_URI"])
    bed.kill_node("n02")
    # The inner job's end, and in the enclosing instance what is no end for the job that this is.
    heard = hear(
        allocation,
        lambda news: (
            len([item for item in news if isinstance(item, JobException)]) >= 2
            and any(isinstance(item, NodeEvent) for item in news)
        ),
    )
    nodes = [item for item in heard if isinstance(item, NodeEvent)]
    assert [(event.node, event.state) for event in nodes] == [("n02", NodeState.DOWN)]
    exceptions = {item.job_id: item for item in heard if isinstance(item, JobException)}
    own = allocation.describe().job_id
    assert set(exceptions) == {own, inner.replace("ƒ", "f")}
    fatal = exceptions[inner.replace("ƒ", "f")]
    assert (fatal.type, fatal.severity, fatal.nodes) == ("exec", 0, ("n02",))
    assert (exceptions[own].severity, exceptions[own].nodes) == (2, ("n02",))
    assert allocation.gone("n02")
    assert not allocation.gone("n03")
    scheduler = FluxScheduler(bed.outside)
    assert scheduler.jobs([own])[own].state is JobState.RUNNING
    assert not scheduler.jobs([own])[own].batch_host_lost
    scheduler.close()


def test_a_drained_node_is_told(bed: FluxBed, opened: Callable[..., FluxAllocation]) -> None:
    allocation = opened(bed.environment)
    allocation.watch()
    bed.run("flux", "resource", "drain", "n03", "corrected errors")
    (event,) = hear(allocation, bool)
    assert isinstance(event, NodeEvent)
    assert (event.node, event.state, event.reason) == ("n03", NodeState.DRAINED, "corrected errors")
    assert allocation.node_states()["n03"] is NodeState.DRAINED
    bed.run("flux", "resource", "undrain", "n03")
    (event,) = hear(allocation, bool)
    assert isinstance(event, NodeEvent)
    assert event.state is NodeState.UP


def test_an_exception_is_raised_on_the_job_that_this_is(
    bed: FluxBed, opened: Callable[..., FluxAllocation]
) -> None:
    allocation = opened(bed.nested(2))
    allocation.watch()
    assert allocation.raise_exception("whesl-test", 5, "a note")
    (event,) = hear(allocation, bool)
    assert isinstance(event, JobException)
    assert (event.job_id, event.type, event.severity) == (allocation.describe().job_id, "whesl-test", 5)
    assert not opened(bed.environment).raise_exception("whesl-test", 5, "nobody's")


def test_what_may_have_been_raised_before_is_raised_once(
    bed: FluxBed, opened: Callable[..., FluxAllocation]
) -> None:
    allocation = opened(bed.nested(2))
    job = allocation.describe().job_id

    def notes() -> list[str]:
        shown = bed.run("flux", "job", "eventlog", "--format=json", job).stdout
        entries = map(json.loads, shown.splitlines())
        return [entry["context"]["note"] for entry in entries if entry["name"] == "exception"]

    def raise_once(note: str) -> None:
        assert allocation.raise_exception("whesl-test", 5, note, once=True)
        # Flux writes an eventlog some milliseconds after its answer: much sooner than an isolator is back.
        bed.wait_for(lambda: note in notes(), "the exception's entry")

    for note in ("one", "one", "another", "one"):
        raise_once(note)
    assert notes() == ["one", "another"]


def bridges() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "bridge_program" in " ".join(words(child))]


def test_the_bridge_s_death_costs_no_news(bed: FluxBed, opened: Callable[..., FluxAllocation]) -> None:
    before = bridges()
    allocation = opened(bed.environment)
    allocation.watch()
    (bridge,) = (process for process in bridges() if process not in before)
    bridge.kill()
    psutil.wait_procs([bridge], timeout=60)
    bed.kill_node("n04")
    heard = hear(allocation, bool)
    assert [(item.node, item.state) for item in heard if isinstance(item, NodeEvent)] == [
        ("n04", NodeState.DOWN)
    ]
    assert allocation.node_states()["n04"] is NodeState.DOWN


def test_a_bridge_ends_with_its_client(bed: FluxBed) -> None:
    script = (
        "import os, signal; from whesl.managers.resource.flux.allocation import FluxAllocation\n"
        "a = FluxAllocation(os.environ); a.watch()\n"
        "print(a._bridge._life.process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    pid = int(bed.run(sys.executable, "-c", script).stdout)
    until(lambda: not exists(pid), "the end of the program", 30.0)


def test_a_silent_instance_is_not_gone(bed: FluxBed, opened: Callable[..., FluxAllocation]) -> None:
    allocation = opened(bed.environment, timeout=2)
    assert allocation.describe().nodes == bed.nodes
    bed.freeze("n01")
    try:
        with pytest.raises(CouldNotObserveError):
            allocation.node_states()
        assert not allocation.gone("n02")
    finally:
        bed.thaw("n01")
    assert allocation.node_states() == dict.fromkeys(bed.nodes, NodeState.UP)


def test_a_frozen_node_is_not_gone(bed: FluxBed, opened: Callable[..., FluxAllocation]) -> None:
    allocation = opened(bed.environment)
    allocation.describe()
    bed.freeze("n02")
    try:
        assert not any(allocation.gone("n02") for _ in range(5))
    finally:
        bed.thaw("n02")


def test_a_task_s_allocation_is_its_job_s_nodes(
    bed: FluxBed, opened: Callable[..., FluxAllocation], tmp_path: Path
) -> None:
    told = tmp_path / "environment"
    script = f'[ "$FLUX_TASK_RANK" = 0 ] && env -0 > {told}.new && mv {told}.new {told}; sleep 300'
    job = bed.run("flux", "submit", "-N2", "-n2", "--requires=rank:2-3", "sh", "-c", script).stdout.strip()
    bed.wait_for(told.exists, "the task runs")
    environment = dict(entry.split("=", 1) for entry in told.read_text().split("\0") if "=" in entry)
    assert isinstance(resource.current_allocation(environment), FluxAllocation)
    allocation = opened(environment)
    info = allocation.describe()
    assert (info.job_id, info.nodes, info.batch_host) == (job.replace("ƒ", "f"), ("n03", "n04"), "n03")
    step = allocation.launch(
        StepRequest(command=("sh", "-c", "echo $WHESL_NODE"), nodes=info.nodes, output=str(tmp_path / "out"))
    )
    bed.wait_for(lambda: step.poll() is not None, "the step has ended")
    assert sorted((tmp_path / "out").read_text().split()) == ["n03", "n04"]
    assert allocation.raise_exception("whesl-test", 5, "a note")


def test_which_processes_are_inside(bed: FluxBed, tmp_path: Path) -> None:
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}
    own = bed.environment
    assert isinstance(resource.current_allocation(own), FluxAllocation)
    # Flux was started inside a Slurm job: it is the inner one.
    assert isinstance(resource.current_allocation({**slurm, **own}), FluxAllocation)
    # A variable that came along to where there is no such instance.
    away = {"FLUX_URI": f"local://{tmp_path}/local-0"}
    assert isinstance(resource.current_allocation(away), HostAllocation)
    assert resource.current_allocation({**slurm, **away, "FLUX_JOB_ID": "f1"}).name == "slurm"
    assert isinstance(resource.current_allocation({"FLUX_URI": "ssh://login/run/flux/local"}), HostAllocation)
    # flux proxy: the instance is elsewhere.
    assert isinstance(resource.current_allocation({**own, "FLUX_PROXY_REMOTE": "n01"}), HostAllocation)


def test_an_instance_of_somebody_else_is_no_allocation(bed: FluxBed, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert isinstance(resource.current_allocation(bed.environment), HostAllocation)


def test_several_brokers_on_one_machine_are_told_apart(opened: Callable[..., FluxAllocation]) -> None:
    need_flux()
    bed = FluxBed(nodes=3, named=False)
    with bed:
        allocation = opened(bed.environment)
        nodes = allocation.describe().nodes
        assert [node.rpartition(".")[2] for node in nodes] == ["0", "1", "2"]
        assert set(allocation.node_states().values()) == {NodeState.UP}
        step = allocation.launch(
            StepRequest(
                command=("sh", "-c", "echo $WHESL_NODE"), nodes=nodes, output=str(bed.directory / "out")
            )
        )
        bed.wait_for(lambda: step.poll() is not None, "the step has ended")
        assert sorted((bed.directory / "out").read_text().split()) == sorted(nodes)


def test_a_job_outlives_its_nodes_and_ends_with_its_first(bed: FluxBed, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\ntouch runs\nwhile :; do sleep 0.2; done\n")
    script.chmod(0o700)
    scheduler = FluxScheduler(bed.outside)
    job = scheduler.submit(
        JobRequest(token="t", script=str(script), workdir=str(tmp_path), nodes=3, exclude=("n01",))
    )
    # Its instance has to be complete: the brokers cannot find each other any more when one dies before.
    bed.wait_for((tmp_path / "runs").exists, "the job's script runs")
    first, second, _ = scheduler.jobs([job])[job].nodes
    bed.kill_node(second)
    bed.wait_for(
        lambda: any(node.name == second and node.state is NodeState.DOWN for node in scheduler.nodes()),
        "the loss is known",
    )
    assert scheduler.jobs([job])[job].state is JobState.RUNNING
    bed.kill_node(first)
    bed.wait_for(lambda: scheduler.jobs([job])[job].state.ended, "the job has ended")
    assert scheduler.jobs([job])[job].state is JobState.NODE_FAIL
    scheduler.close()


def test_a_lost_reply_submits_nothing_twice(bed: FluxBed, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    request = JobRequest(token="t", script=str(script), workdir=str(tmp_path))
    scheduler = FluxScheduler(bed.outside)
    call = scheduler._bridge.call

    def lossy(operation: str, **fields: object) -> object:
        answer = call(operation, **fields)  # type: ignore[arg-type]  # any operation's
        if operation == "submit":
            raise CouldNotObserveError("the reply was lost")
        return answer

    scheduler._bridge.call = lossy  # type: ignore[method-assign]  # any operation's
    first = scheduler.submit(request)
    again = FluxScheduler(bed.outside)
    assert again.submit(request) == first
    assert len(bed.run("flux", "jobs", "-a", "-n", "-o", "{id}").stdout.split()) == 1
    assert submission(request, bed.outside)["nodes"] == 1
    for one in (scheduler, again):
        one.close()


def test_a_batch_script_s_output_is_soon_in_its_file(bed: FluxBed, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\ntrap '' USR1\nwhile :; do date +%s.%N; sleep 0.05; done\n")
    scheduler = FluxScheduler(bed.outside)
    out = tmp_path / "out"
    job = scheduler.submit(JobRequest(token="t", script=str(script), output=str(out)))
    bed.wait_for(lambda: out.exists() and out.read_text().count("\n") >= 5, "there is output")
    scheduler.cancel(job, signal.SIGKILL)
    scheduler.close()


def test_a_guest_is_refused_what_is_not_his(bed: FluxBed) -> None:
    guest = {"FLUX_HANDLE_ROLEMASK": "0x2", "FLUX_HANDLE_USERID": "1234"}  # flux-environment(7), "TESTING"
    scheduler = FluxScheduler({**bed.outside, **guest})
    job = bed.run("flux", "submit", "sleep", "300").stdout.strip()
    bed.run("flux", "job", "wait-event", job, "start")
    assert not scheduler.mark_node("n02", "corrected errors")
    with pytest.raises(RefusedError, match="own jobs"):
        scheduler.cancel(job)
    assert scheduler.jobs([job])[job].state is JobState.RUNNING
    assert {node.state for node in scheduler.nodes()} == {NodeState.UP}
    scheduler.close()
