"""When an instance is started inside a job, and what the allocation with one says. Needs no Flux."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import waiting
from whesl.managers.resource.flux import nested_allocation
from whesl.managers.resource.flux.nested_allocation import InnerFlux, wanted
from whesl.managers.resource.flux.nested_instance import _PROGRAM, Instance
from whesl.managers.resource.port import (
    AllocationInfo,
    JobException,
    JobHolder,
    NodeEvent,
    Step,
    StepRequest,
    TellsEvents,
)
from whesl.managers.workflow import script_wrapping
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError
from whesl.model.states import NodeState

NODES = ("n01", "n02", "n03")
INFO = AllocationInfo(rjms="slurm", job_id="7", nodes=NODES, batch_host="n01")


class Outer:
    """A job of Slurm's that only remembers."""

    name = "slurm"

    def __init__(self) -> None:
        self.launched: list[StepRequest] = []
        self.dead: set[str] = set()

    def describe(self) -> AllocationInfo:
        return INFO

    def launch(self, request: StepRequest) -> Step:
        self.launched.append(request)
        raise RefusedError("no steps here")

    def signal(self, step: Step, signum: int) -> None:
        raise AssertionError("there is no step")

    def node_states(self) -> dict[str, NodeState]:
        return {node: NodeState.DOWN if node in self.dead else NodeState.UP for node in NODES}

    def gone(self, node: str) -> bool | None:
        return node in self.dead

    def launch_environment(self, active: object, base: object) -> dict[str, str]:
        return {"SLURM_NNODES": "2"}

    def release(self, node: str) -> bool:
        return True


class Seen:
    """What the instance says of itself."""

    def __init__(self) -> None:
        self.states: dict[str, NodeState] | None = dict.fromkeys(NODES, NodeState.UP)
        self.told: list[NodeEvent | JobException] = []
        self.end, self.begin = os.pipe()
        self.closed = False

    def node_states(self) -> dict[str, NodeState]:
        if self.states is None:
            raise CouldNotObserveError("flux: no answer")
        return self.states

    def gone(self, node: str) -> bool | None:
        return self.states is not None and self.states[node] is NodeState.DOWN

    def watch(self) -> int:
        return self.end

    def events(self) -> list[NodeEvent | JobException]:
        told, self.told = self.told, []
        return told

    def close(self) -> None:
        self.closed = True


class Scripted(Instance):
    """An instance whose life the test writes: its files, and when it ends."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, Outer(), "7.0", {})
        self._rundir = "/run/x"
        self.over = False

    def wait_ready(self) -> str:
        while not (self.ready or self.failed or self.over):
            time.sleep(0.005)
        return "" if self.ready else "it did not start"

    def wait_end(self) -> None:
        while not self.over:
            time.sleep(0.005)


def until(condition: Callable[[], object]) -> None:
    waiting.until(condition, "what was told", 30.0)


@pytest.fixture
def path_with_flux(tmp_path: Path) -> str:
    place = tmp_path / "bin"
    place.mkdir()
    (place / "flux").write_text("#!/bin/sh\nexit 1\n")
    (place / "flux").chmod(0o755)
    return str(place)


@pytest.mark.parametrize(
    ("mode", "info", "found", "expected"),
    [
        ("auto", INFO, True, True),
        ("auto", INFO, False, False),
        ("auto", AllocationInfo(rjms="slurm", job_id="7", nodes=("n01",), batch_host="n01"), True, False),
        ("auto", AllocationInfo(rjms="host", job_id="", nodes=NODES, batch_host="n01"), True, False),
        ("auto", AllocationInfo(rjms="flux", job_id="f1", nodes=NODES, batch_host="n01"), True, False),
        ("slurm", INFO, True, False),
        ("flux", INFO, True, True),
        ("flux", AllocationInfo(rjms="slurm", job_id="7", nodes=("n01",), batch_host="n01"), True, True),
        ("flux", AllocationInfo(rjms="flux", job_id="f1", nodes=NODES, batch_host="n01"), True, False),
    ],
)
def test_when_an_instance_is_wanted(
    mode: str, info: AllocationInfo, found: bool, expected: bool, path_with_flux: str
) -> None:
    assert wanted(mode, info, {"PATH": path_with_flux if found else "/nowhere"}) is expected


def test_what_was_asked_for_and_cannot_be_is_said() -> None:
    with pytest.raises(UsageError, match="no flux on PATH"):
        wanted("flux", INFO, {"PATH": "/nowhere"})
    host = AllocationInfo(rjms="host", job_id="", nodes=("n01",), batch_host="n01")
    with pytest.raises(UsageError, match="needs a job of Slurm"):
        wanted("flux", host, {"PATH": "/nowhere"})


def test_a_step_that_cannot_be_started_leaves_the_job_as_it_was(tmp_path: Path, path_with_flux: str) -> None:
    outer = Outer()
    made = nested_allocation.around(outer, "auto", tmp_path / "flux", "7.0", {"PATH": path_with_flux})
    assert made is outer
    (request,) = outer.launched
    assert (request.nodes, request.tasks, request.pmi) == (NODES, 3, "pmi2")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[tuple[InnerFlux, Outer, Scripted, Seen]]:
    outer, seen = Outer(), Seen()
    directory = tmp_path / "flux"
    directory.mkdir()
    instance = Scripted(directory)
    allocation = InnerFlux(outer, instance, {}, lambda environ, uri: seen)
    yield allocation, outer, instance, seen
    allocation.close()
    instance.over = True
    allocation._thread.join(120)
    assert not allocation._thread.is_alive()


def start(instance: Scripted, allocation: InnerFlux) -> None:
    (instance.directory / "uri").write_text("local:///run/y/local-0\n")
    until(lambda: allocation._witness is not None)


Made = tuple[InnerFlux, Outer, Scripted, Seen]


def test_launchers_are_told_where_the_instance_is_before_it_has_started(made: Made) -> None:
    allocation, _, instance, _ = made
    told = allocation.launch_environment(("n01", "n02"), {})
    assert told["SLURM_NNODES"] == "2"
    assert told["FLUX_URI"] == told["WHESL_FLUX_URI"] == "local:///run/x/local-0"
    assert told["WHESL_FLUX_INSTANCE"] == str(instance.directory)
    assert "FLUX_LOCAL_CONNECTOR_RETRY_COUNT" in told, "who speaks to Flux by himself may come too early"
    start(instance, allocation)
    told = allocation.launch_environment(("n01", "n02"), {})
    assert told["FLUX_URI"] == "local:///run/y/local-0"
    assert "FLUX_LOCAL_CONNECTOR_RETRY_COUNT" not in told


def test_a_node_is_down_when_either_says_so(made: Made) -> None:
    allocation, outer, instance, seen = made
    assert set(allocation.node_states().values()) == {NodeState.UP}
    start(instance, allocation)
    seen.states = {"n01": NodeState.UP, "n02": NodeState.DOWN, "n03": NodeState.UNKNOWN}
    outer.dead = {"n03"}
    expected = {"n01": NodeState.UP, "n02": NodeState.DOWN, "n03": NodeState.DOWN}
    assert allocation.node_states() == expected
    assert [allocation.gone(node) for node in NODES] == [False, True, True]
    seen.states = None
    assert allocation.node_states()["n02"] is NodeState.UP, "Flux's silence is no news of a node"


def test_news_come_through_one_descriptor(made: Made) -> None:
    allocation, _, instance, seen = made
    assert isinstance(allocation, TellsEvents) and isinstance(allocation, JobHolder)
    readable = select.poll()
    readable.register(allocation.watch(), select.POLLIN)
    assert not readable.poll(0)
    start(instance, allocation)
    seen.told = [NodeEvent(node="n02", state=NodeState.DOWN, reason="offline", time=1.0)]
    os.write(seen.begin, b"x")
    assert readable.poll(5000)
    (event,) = allocation.events()
    assert isinstance(event, NodeEvent) and event.node == "n02"
    os.read(seen.end, 1)
    assert not readable.poll(0)


def test_the_instances_end_is_news_and_leaves_the_outers_steps(
    made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    allocation, _, instance, _ = made
    start(instance, allocation)
    readable = select.poll()
    readable.register(allocation.watch(), select.POLLIN)
    instance.over = True
    assert readable.poll(5000)
    (told,) = allocation.events()
    assert isinstance(told, JobException)
    assert (told.type, told.severity, told.job_id) == ("instance", 0, "7")
    assert allocation.events() == []
    assert allocation.launch_environment(("n01",), {}) == {"SLURM_NNODES": "2"}
    assert sum("steps are slurm's own" in record.message for record in caplog.records) == 1


def test_an_instance_that_does_not_start_is_said_once(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    allocation, _, instance, _ = made
    instance.over = True
    until(lambda: instance.failed)
    until(lambda: caplog.records)
    assert allocation.launch_environment(("n01",), {}) == {"SLURM_NNODES": "2"}
    assert allocation.events() == []
    allocation.end_jobs()
    assert [r.message for r in caplog.records] == [
        "no Flux inside this job: it did not start; steps are slurm's own"
    ]


def test_our_own_steps_are_the_outers(made: Made) -> None:
    allocation, outer, _, _ = made
    with pytest.raises(RefusedError):
        allocation.launch(StepRequest(command=("agent",), nodes=("n02",)))
    assert outer.launched[0].command == ("agent",)
    assert allocation.describe() is INFO
    assert allocation.release("n02")
    assert not allocation.raise_exception("x", 0, "")


def test_the_end_gives_everything_back(made: Made) -> None:
    allocation, _, instance, seen = made
    start(instance, allocation)
    allocation.close()
    assert seen.closed and instance.failed


def test_a_wrapped_script_says_what_runs_its_steps() -> None:
    def call(mode: str) -> script_wrapping.TaskCall:
        return script_wrapping.TaskCall(
            program=("whesl",), workflow="wf", step="a", spec="/s.json", inner=mode
        )

    assert "--inner" not in script_wrapping.program_for(call("auto"), "#!/bin/bash", "job.sh", "/w").text
    assert " --inner slurm" in script_wrapping.program_for(call("slurm"), "#!/bin/bash", "job.sh", "/w").text


def test_time_in_which_the_job_was_suspended_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three suspensions of ten seconds, and an instance that needs six of running."""
    now = [100.0]
    suspended = [102.0, 114.0, 126.0]
    starts = True

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if suspended and now[0] >= suspended[0]:
            suspended.pop(0)
            now[0] += 10.0
        if now[0] >= 136.0 and starts:
            (tmp_path / "uri").write_text("local:///x\n")

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr("whesl.managers.resource.flux.nested_instance.time", clock)
    monkeypatch.setattr("whesl.managers.resource.flux.nested_instance.START_LIMIT", 15.0)
    monkeypatch.setattr(Instance, "_running", lambda _self: True)
    assert Instance(tmp_path, Outer(), "7.0", {}).wait_ready() == ""
    starts = False
    (tmp_path / "uri").unlink()
    assert "was not there within 15 s" in Instance(tmp_path, Outer(), "7.0", {}).wait_ready()


def test_launchers_find_the_instance_when_slurms_type_of_mpi_is_known(tmp_path: Path) -> None:
    """A busy slurmctld told it after the instance was there, and the first srun took Slurm's own step."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("flux", "echo 1"), ("sleep", "[ -e uri ] || echo none >mpi")):
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    (tmp_path / "end").write_text("\n")
    path = f"{commands}:{os.environ['PATH']}"
    words = ["sh", "-c", _PROGRAM, "whesl-instance", str(tmp_path), "1"]
    subprocess.run(words, env={"PATH": path, "FLUX_URI": "local:///x"}, check=True, timeout=60)
    assert (tmp_path / "mpi").read_text() == "none\n", "it was waited for"
    assert (tmp_path / "uri").read_text() == "local:///x\n"
