"""Flux by its commands alone, where its Python does not import: the port's contract, and the isolator."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import need_flux
from tests.rjms.flux import test_contract, test_news
from tests.waiting import written
from whesl.journal import Journal, JournalError
from whesl.model.errors import RefusedError
from whesl.model.states import NodeState
from whesl.rjms.flux import FluxAllocation, FluxScheduler
from whesl.rjms.flux.batch_jobspec import batch_jobspec
from whesl.rjms.flux.bridge import COMMANDS
from whesl.rjms.flux.scheduler import submission
from whesl.rjms.port import JobException, JobRequest, NodeEvent
from whesl.testing.contract_rjms import NodeLossContract, SchedulerContract
from whesl.testing.fluxbed import FluxBed, without_bindings

pytestmark = pytest.mark.flux
PATIENCE = 60.0


def broken(environ: dict[str, str], directory: Path) -> dict[str, str]:
    """Return an environment in which Flux's bindings do not import."""
    return {**environ, "PATH": f"{without_bindings(directory / 'front')}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def bed() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(nodes=8) as bed:
        yield bed


@pytest.fixture
def small() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(nodes=4) as bed:
        yield bed


def test_the_bindings_are_really_out_of_use(bed: FluxBed) -> None:
    environ = broken(bed.outside, bed.directory)
    done = subprocess.run(["flux", "jobs"], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "no cffi for this Python" in done.stderr
    assert (
        subprocess.run(["flux", "job", "list"], env=environ, capture_output=True, check=False).returncode == 0
    )


class TestScheduler(SchedulerContract):
    can_requeue = False
    can_mark = False

    @pytest.fixture
    def scheduler(self, bed: FluxBed) -> Iterator[FluxScheduler]:
        scheduler = FluxScheduler(broken(bed.outside, bed.directory))
        yield scheduler
        assert scheduler._bridge.way == COMMANDS
        assert "no cffi" in scheduler._bridge.lacking
        scheduler.close()

    @pytest.fixture
    def unreachable(self, bed: FluxBed) -> FluxScheduler:
        away = {**broken(bed.outside, bed.directory), "FLUX_URI": f"local://{bed.directory}/nobody"}
        return FluxScheduler(away, timeout=5, settle=0.5)


@pytest.fixture(scope="module")
def inside(bed: FluxBed) -> Iterator[dict[str, str]]:
    environment = bed.nested(3)
    yield environment
    bed.run("flux", "cancel", environment["FLUX_ENCLOSING_ID"])


class TestBatchJob(test_contract.InsideContract):
    @pytest.fixture
    def allocation(
        self, bed: FluxBed, inside: dict[str, str], opened: Callable[..., FluxAllocation]
    ) -> FluxAllocation:
        made = opened(broken(inside, bed.directory))
        made.describe()
        assert made._bridge.way == COMMANDS
        return made


class TestNodeLoss(NodeLossContract):
    node_name = "$WHESL_NODE"
    tells_gone = True

    @pytest.fixture
    def bed(self) -> Iterator[FluxBed]:
        need_flux()
        with FluxBed(nodes=3) as bed:
            yield bed

    @pytest.fixture
    def allocation(self, bed: FluxBed, opened: Callable[..., FluxAllocation]) -> FluxAllocation:
        return opened(broken(bed.nested(3), bed.directory))

    @pytest.fixture
    def kill_node(self, bed: FluxBed) -> Callable[[str], None]:
        return bed.kill_node


def test_a_lost_node_is_told_with_the_jobs_that_it_took(
    small: FluxBed, opened: Callable[..., FluxAllocation]
) -> None:
    inside = small.nested(3)
    allocation = opened(broken(inside, small.directory))
    allocation.watch()
    inner = small.run("flux", "submit", "-N3", "sleep", "300", FLUX_URI=inside["FLUX_URI"]).stdout.strip()
    small.run("flux", "job", "wait-event", inner, "start", FLUX_URI=inside["FLUX_URI"])
    small.kill_node("n02")

    def complete(news: list[NodeEvent | JobException]) -> bool:
        exceptions = {item.job_id for item in news if isinstance(item, JobException)}
        return len(exceptions) == 2 and any(isinstance(item, NodeEvent) for item in news)

    heard = test_news.hear(allocation, complete)
    nodes = [item for item in heard if isinstance(item, NodeEvent)]
    assert [(event.node, event.state) for event in nodes] == [("n02", NodeState.DOWN)]
    exceptions = {item.job_id: item for item in heard if isinstance(item, JobException)}
    own = allocation.describe().job_id
    fatal = exceptions.pop(inner.replace("ƒ", "f"))
    assert (fatal.type, fatal.severity, fatal.nodes, fatal.attempt) == ("exec", 0, ("n02",), "")
    assert list(exceptions) == [own]
    assert (exceptions[own].severity, exceptions[own].nodes) == (2, ("n02",))
    assert allocation.gone("n02")
    assert not allocation.gone("n03")


def test_drains_and_exceptions_are_told_once_over_the_program_s_death(
    small: FluxBed, opened: Callable[..., FluxAllocation]
) -> None:
    allocation = opened(broken(small.environment, small.directory))
    allocation.watch()
    job = small.run("flux", "submit", "--env=WHESL_ATTEMPT_TOKEN=abc", "sleep", "300").stdout.strip()
    small.run("flux", "resource", "drain", "n03", "corrected errors")
    small.run("flux", "job", "raise", "--type=first", "--severity=3", job, "--", "fan", "on", "n02")
    first = test_news.hear(allocation, lambda news: len(news) >= 2)
    life = allocation._bridge._life
    assert life is not None
    started = psutil.Process(life.process.pid).children(recursive=True)
    assert started
    life.process.kill()
    small.run("flux", "job", "raise", "--type=second", "--severity=4", job)
    second = test_news.hear(allocation, bool)
    drained = next(item for item in first if isinstance(item, NodeEvent))
    assert (drained.node, drained.state, drained.reason) == ("n03", NodeState.DRAINED, "corrected errors")
    raised = [item for item in [*first, *second] if isinstance(item, JobException)]
    assert [(item.type, item.severity, item.nodes, item.attempt) for item in raised] == [
        ("first", 3, ("n02",), "abc"),
        ("second", 4, (), "abc"),
    ]
    # Nothing of what it had started is left.
    assert psutil.wait_procs(started, timeout=20)[1] == []
    assert allocation.node_states()["n03"] is NodeState.DRAINED


def test_a_node_that_is_cut_off_is_told(small: FluxBed, opened: Callable[..., FluxAllocation]) -> None:
    allocation = opened(broken(small.environment, small.directory))
    allocation.watch()
    small.run("flux", "overlay", "disconnect", "2")
    (event,) = test_news.hear(allocation, bool)
    assert isinstance(event, NodeEvent)
    assert (event.node, event.state) == ("n03", NodeState.DOWN)
    assert allocation.node_states()["n03"] is NodeState.DOWN


def test_a_guest_is_refused_what_is_not_his(bed: FluxBed) -> None:
    guest = {"FLUX_HANDLE_ROLEMASK": "0x2", "FLUX_HANDLE_USERID": "1234"}  # flux-environment(7), "TESTING"
    scheduler = FluxScheduler({**broken(bed.outside, bed.directory), **guest})
    job = bed.run("flux", "submit", "sleep", "300").stdout.strip()
    bed.run("flux", "job", "wait-event", job, "start")
    calls: tuple[Callable[[], None], ...] = (
        lambda: scheduler.cancel(job),
        lambda: scheduler.annotate(job, "text"),
    )
    for call in calls:
        with pytest.raises(RefusedError, match="own jobs"):
            call()
    assert {node.state for node in scheduler.nodes()} == {NodeState.UP}
    scheduler.close()
    bed.run("flux", "cancel", job)


def test_a_batch_job_is_what_flux_itself_would_make(bed: FluxBed, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    wide = {"tasks": 5, "error": "/e", "partition": "q", "exclude": ("n01", "n02"), "after_ok": ("f2",)}
    for more in ({}, wide):
        job = submission(
            JobRequest(token="t", script=str(script), arguments=("a b",), nodes=2, time_limit=3, **more),  # type: ignore[arg-type]  # of any type
            {"A": "b", "PATH": "/bin"},
        )
        theirs = bed.run("flux", "python", "-c", _SPECIFICATION, json.dumps(job))
        assert theirs.returncode == 0, theirs.stderr
        assert batch_jobspec(job) == json.loads(theirs.stdout)


# The specification that the other far end would submit.
_SPECIFICATION = f"""
import json, sys
sys.path.insert(0, {str(Path(sys.modules[FluxScheduler.__module__].__file__ or "").parent)!r})
import flux.job, bridge_program
def submit(handle, spec):
    print(spec.dumps()); raise SystemExit
flux.job.submit = submit
bridge_program.ApiEnd.op_submit(type("End", (), {{"waiting": None}}), 0, **json.loads(sys.argv[1]))
"""

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app] RAISE "whesl-nodelost" SEVERITY 3
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION DETECTION NODELOST JOB EXCEPTION "exec" SEVERITY 0
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app]
EXCEPTION DETECTION CRASH EXIT CODE 3
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
PROGRAM = """\
#!/bin/sh
flux run -N2 -n2 sh -c 'echo "attempt $WHESL_RESTART_COUNT on $(hostname)"
while [ ! -e {place}/go$WHESL_RESTART_COUNT ]; do sleep 0.02; done
exit $(cat {place}/go$WHESL_RESTART_COUNT)'
"""


def test_a_lost_node_and_a_crash_are_recovered_by_commands_alone(small: FluxBed, tmp_path: Path) -> None:
    """The script's own ``flux run``, which is Python, is taken over from the first attempt on."""
    if not small.namespaces:
        pytest.skip("nodes of their own need root")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (tmp_path / "rules.esl").write_text(RULES)
    task = tmp_path / "task"
    command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app", "--no-coordinator"]
    command += ["--task-dir", str(task), "-e", str(tmp_path / "rules.esl"), "--nodes", "2", "--script", "-"]
    environ = broken({}, tmp_path)
    job = small.batch(
        f"#!/bin/sh\nexport WHESL_HOME={home} PATH={shlex.quote(environ['PATH'])}\ncd {tmp_path}\n"
        f"{shlex.join(command)} <<'EOT' >out 2>&1\n{PROGRAM.format(place=tmp_path)}EOT\necho $? >status\n",
        "--nodes=3",
        "--exclusive",
    )

    def records() -> list[tuple[str, dict[str, Any]]]:
        try:
            return [(r.kind, r.data) for r in Journal(task / "journal.db", read_only=True).read()]
        except JournalError:
            return []

    def until(condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            log = task / "log"
            told = (text(), log.read_text() if log.exists() else "", small.log())
            assert time.monotonic() < deadline, "\n---\n".join((what, *told))
            time.sleep(0.02)

    def text() -> str:
        out = tmp_path / "out"
        return out.read_text() if out.exists() else ""

    until(lambda: text().count("attempt 0 on") == 2, "the first attempt")
    until(lambda: [kind for kind, _ in records()].count("agent") >= 2, "the agents")
    small.kill_node("n02")
    until(lambda: text().count("attempt 1 on") == 2, "the attempt on the spare node")
    (tmp_path / "go1").write_text("3")
    until(lambda: text().count("attempt 2 on") == 2, "the attempt after the crash")
    (tmp_path / "go2").write_text("0")
    until(lambda: written(tmp_path / "status"), "the end")
    assert (tmp_path / "status").read_text().strip() == "0", text()
    assert {"attempt 1 on n01", "attempt 1 on n03", "attempt 2 on n01"} <= set(text().splitlines())
    raised = [data["raised"]["exception"] for kind, data in records() if kind == "raised"]
    assert raised == ["NODELOST", "CRASH"]
    events = small.run("flux", "job", "eventlog", job).stdout
    assert "whesl-nodelost" in events
    assert "its commands are used" in (task / "log").read_text()
