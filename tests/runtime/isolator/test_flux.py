"""The isolator inside a real Flux job: job exceptions heard and raised, nodes lost and drained."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need_flux
from tests.equipment.faults import keep_locks
from tests.equipment.fluxbed import FluxBed
from tests.processes import mentioning, words
from tests.runtime.isolator.bench import records, stop_for
from tests.waiting import until
from whesl.managers.resource.flux.scheduler import FluxScheduler
from whesl.managers.resource.port import JobRequest
from whesl.model.states import JobState
from whesl.runtime.isolator.task.taskdir import TaskDir

pytestmark = [pytest.mark.flux, pytest.mark.slow]

PATIENCE = 60.0
DECLARATIONS = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE JOB[REPLACE]
"""
NODELOST = """\
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app] RAISE "whesl-nodelost" SEVERITY 3
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION DETECTION NODELOST JOB EXCEPTION "exec" SEVERITY 0
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
UNHEALTHY = """\
DECLARE EXCEPTION UNHEALTHY JOB_LEVEL JOB [app] RAISE "whesl-unhealthy"
EXCEPTION DETECTION UNHEALTHY JOB EXCEPTION "node-health" SEVERITY 2
EXCEPTION RECOVERY STEP UNHEALTHY JOB NODE.REPLACE {"unknown": "fail"}
"""
DRAINED = """\
DECLARE EXCEPTION DRAINED JOB_LEVEL JOB [app]
EXCEPTION DETECTION DRAINED NODE DRAINED
EXCEPTION RECOVERY STEP DRAINED JOB NODE.REPLACE
"""
HANG = """\
DECLARE EXCEPTION STALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION STALLED LOG "tick" stdout TIMEOUT 4
EXCEPTION RECOVERY STEP STALLED JOB JOB.REPLACE
"""
RANKS = """\
cd {place}
echo "start $WHESL_RESTART_COUNT with $WHESL_NODELIST"
flux run -N{used} -n{used} sh -c 'echo "attempt $WHESL_RESTART_COUNT on $(hostname)"
for i in $(seq 3000); do [ -e done ] && exit 0; sleep 0.02; done; exit 1'
"""


@pytest.fixture
def bed() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(nodes=4) as made:
        if not made.namespaces:
            pytest.skip("nodes of their own need root")
        yield made


class Protected:
    """A batch job of Flux with one task under the isolator, some of its nodes spare."""

    def __init__(
        self,
        bed: FluxBed,
        place: Path,
        rules: str,
        *,
        nodes: int = 3,
        used: int = 2,
        submit: bool = True,
        part: bool = True,
        script: str = RANKS,
    ) -> None:
        self.bed = bed
        self.place = place
        self.directory = TaskDir(place / "task")
        self.out = place / "out"
        file = place / "rules.esl"
        file.write_text(DECLARATIONS + rules)
        home = place / "home"
        home.mkdir(mode=0o700)
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += ["--no-coordinator", "--task-dir", str(self.directory.path), "-e", str(file)]
        command += [*(["--nodes", str(used)] if part else []), "--script", "-"]
        text = (
            f"#!/bin/sh\nexport WHESL_HOME={home}\necho $FLUX_URI > {place}/uri.new\n"
            f"mv {place}/uri.new {place}/uri\n"
            f"{shlex.join(command)} <<'EOT' > {self.out} 2>&1\n#!/bin/sh\n"
            f"{script.format(place=place, used=used)}\nEOT\necho status $? >> {self.out}\n"
        )
        (place / "job.sh").write_text(text)
        self.job = bed.batch(text, f"--nodes={nodes}", "--exclusive") if submit else ""

    def flux(self, *command: str) -> str:
        """Run a command of Flux inside the job's own instance."""
        uri = (self.place / "uri").read_text().strip()
        done = self.bed.run("flux", *command, FLUX_URI=uri)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def events(self) -> list[str]:
        """Return the exceptions in the job's own record, as the enclosing instance has it."""
        text = self.bed.run("flux", "job", "eventlog", self.job).stdout
        return [line for line in text.splitlines() if " exception " in line]

    def ended(self) -> str:
        """Wait for the batch job's end, and return its result and exit status."""
        listed = ("flux", "jobs", "-a", "--no-header", "--format={state} {result} {returncode}", self.job)
        self.until(lambda: self.bed.run(*listed).stdout.startswith("INACTIVE"), "the end of the job")
        return self.bed.run(*listed).stdout.strip().partition(" ")[2]

    def text(self) -> str:
        return self.out.read_text(errors="replace") if self.out.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        return records(self.directory)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    def agents(self, count: int) -> bool:
        return self.kinds().count("agent") == count

    def raised(self) -> list[str]:
        return [data["raised"]["exception"] for kind, data in self.records() if kind == "raised"]

    def until(self, condition: Callable[[], object], what: str) -> None:
        try:
            until(condition, what, PATIENCE)
        except AssertionError:
            log = self.directory.log
            print(self.text(), log.read_text() if log.exists() else "", self.bed.log(), sep="\n---\n")
            for record in self.records():
                print(record)
            raise

    def running(self, attempt: int, ranks: int) -> None:
        """Wait until all ranks of an attempt run, and the agents before them."""
        self.until(lambda: self.text().count(f"attempt {attempt} on") == ranks, f"attempt {attempt}")

    def finish(self) -> None:
        (self.place / "done").touch()
        self.until(lambda: "\nstatus " in f"\n{self.text()}", "the end")
        assert "status 0" in self.text(), self.text()


def test_a_job_exception_of_somebody_else_s_is_recovered(bed: FluxBed, tmp_path: Path) -> None:
    """A health check of the site raises an exception on the task's job: the node that it names is swapped."""
    made = Protected(bed, tmp_path, UNHEALTHY)
    made.running(0, 2)
    inner = made.flux("jobs", "--no-header", "--format={id.f58plain}").splitlines()[0]
    made.flux("job", "raise", "--type=node-health", "--severity=5", inner, "--", "only", "a", "remark")
    made.until(lambda: "job-exception" in made.kinds(), "the remark")
    assert made.raised() == []
    note = ("--", "ECC", "errors", "on", "n02", "(rank", "1)")
    made.flux("job", "raise", "--type=node-health", "--severity=2", inner, *note)
    made.running(1, 2)
    made.finish()
    assert made.raised() == ["UNHEALTHY"]
    assert {"attempt 1 on n01", "attempt 1 on n03"} <= set(made.text().splitlines()), made.text()
    (evidence,) = next(data["raised"]["evidence"] for kind, data in made.records() if kind == "raised")
    assert (evidence["kind"], evidence["node"]) == ("job-exception", "n02")
    assert "node-health, severity 2" in evidence["detail"] and "ECC errors" in evidence["detail"]


def test_names_and_ranks_agree_after_the_first_node_is_replaced(bed: FluxBed, tmp_path: Path) -> None:
    rules = UNHEALTHY.replace('JOB EXCEPTION "node-health" SEVERITY 2', 'MATCH "^sick" stdout')
    rules = rules.replace('{"unknown": "fail"}', '{"node": "n01"}').replace(' RAISE "whesl-unhealthy"', "")
    script = """\
echo "names $WHESL_NODELIST $(paste -sd, $WHESL_HOSTFILE)"
echo "ranks $(flux run -N{used} -n{used} -l hostname | sort -n | cut -d' ' -f2 | paste -sd,)"
echo "shown $(flux hostlist -led,) $(flux getattr size) $(flux resource list -no {{nodelist}} -s free)"
[ "$WHESL_RESTART_COUNT" != 0 ] || {{ echo sick; sleep 600; }}
"""
    made = Protected(bed, tmp_path, rules, script=script)
    made.until(lambda: "status" in made.text(), "the end")
    printed = [line for line in made.text().splitlines() if "ESL095" not in line]
    assert printed == [
        "names n01,n02 n01,n02",
        "ranks n01,n02",
        "shown n01,n02 2 n[01-02]",
        "sick",
        "names n02,n03 n02,n03",
        "ranks n02,n03",
        "shown n02,n03 2 n[02-03]",
        "status 0",
    ]


def test_all_of_a_job_that_was_stopped_goes_on(bed: FluxBed, tmp_path: Path) -> None:
    """Its brokers too, as on machines that were paused: Flux suspends no job, so nobody can be asked."""
    made = Protected(
        bed, tmp_path, NODELOST + HANG, script=RANKS.replace("sleep 0.02", "echo tick; sleep 0.1")
    )
    made.running(0, 2)
    made.until(lambda: made.kinds().count("agent") == 2, "the agents")
    everything = [process for node in bed.nodes for process in bed.processes(node)]
    stopped = mentioning(str(made.directory.path), "FLUX_JOB_ID=", among=everything)
    assert any("broker" in process.name() for process in stopped)
    stop_for(stopped, 12.0)
    ticks = made.text().count("tick")
    made.until(lambda: made.text().count("tick") > ticks + 20, "that the ranks go on")
    time.sleep(4.0)
    made.finish()
    assert made.raised() == []
    assert not {"node", "lease-ended"} & set(made.kinds())


def test_ours_is_seen_in_the_job_s_own_record(bed: FluxBed, tmp_path: Path) -> None:
    made = Protected(bed, tmp_path, UNHEALTHY)
    made.running(0, 2)
    bed.run("flux", "job", "raise", "--type=node-health", "--severity=1", made.job, "--", "fan", "on", "n02")
    made.running(1, 2)
    made.until(lambda: "job-raised" in made.kinds(), "that it was raised")
    made.finish()
    (own,) = [line for line in made.events() if "whesl-unhealthy" in line]
    assert "severity=7" in own
    assert "whesl wf/app #1: UNHEALTHY in attempt 1: job-exception: node-health, severity 1" in own
    assert made.raised() == ["UNHEALTHY"], "our own exception was detected"


def test_a_lost_node_is_one_exception_and_the_rest_goes_on_without_queueing(
    bed: FluxBed, tmp_path: Path
) -> None:
    """flux-core 4417: N+1 nodes allocated, one lost, the program relaunched on the rest in the same job.

    Agent, node event, job exceptions and the launcher's exit all tell of it.
    """
    made = Protected(bed, tmp_path, NODELOST)
    made.running(0, 2)
    made.until(lambda: made.kinds().count("agent") >= 2, "the agents")
    bed.kill_node("n02")
    made.running(1, 2)
    made.until(lambda: "job-raised" in made.kinds(), "that it was raised")
    made.finish()
    assert made.raised() == ["NODELOST"]
    assert {"attempt 1 on n01", "attempt 1 on n03"} <= set(made.text().splitlines())
    jobs = bed.run("flux", "jobs", "-a", "--no-header", "--format={id.f58plain} {nnodes}").stdout.split()
    assert len(jobs) == 2, "another job was queued"
    (own,) = [line for line in made.events() if "whesl-nodelost" in line]
    assert "severity=3" in own
    assert made.ended() == "COMPLETED 0"


def test_a_drained_node_s_place_is_taken_by_a_spare(bed: FluxBed, tmp_path: Path) -> None:
    """flux-core 4972: spares are kept aside, and one is swapped in when another node is drained.

    Whether a request can be satisfied does not count the spare: what asks for it is refused at once.
    """
    asking = "flux run -N3 true\necho three nodes: $?\n"
    made = Protected(bed, tmp_path, DRAINED, script=asking + RANKS)
    made.running(0, 2)
    assert "three nodes: 1" in made.text()
    assert "unsatisfiable" in made.text()
    made.flux("resource", "drain", "1", "fans")
    made.running(1, 2)
    made.finish()
    assert made.raised() == ["DRAINED"]
    assert {"attempt 1 on n01", "attempt 1 on n03"} <= set(made.text().splitlines())


def test_tasks_side_by_side_hear_of_their_own_jobs_alone(bed: FluxBed, tmp_path: Path) -> None:
    """Two isolators in one instance: an exception on the job of one is nothing to the other."""
    rules = UNHEALTHY.replace("NODE.REPLACE", "JOB.REPLACE").replace('"unknown": "fail"', "")
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
    made = [Protected(bed, place, rules, nodes=2, used=1, submit=False) for place in places]
    bed.batch("\n".join(f"sh {place}/job.sh &" for place in places) + "\nwait\n", "--nodes=2", "--exclusive")
    for one in made:
        one.running(0, 1)
    first, second = made
    jobs = first.flux("jobs", "--no-header", "--format={id.f58plain}").splitlines()
    assert len(jobs) == 2
    first.flux("job", "raise", "--type=node-health", "--severity=2", jobs[0], "--", "fans")
    first.until(lambda: bool(first.raised() + second.raised()), "a detection")
    hit, other = (first, second) if first.raised() else (second, first)
    hit.running(1, 1)
    hit.finish()
    other.until(lambda: "job-exception" in other.kinds(), "what the other one raised")
    other.finish()
    assert (hit.raised(), other.raised()) == (["UNHEALTHY"], [])
    heard = [data["exception_type"] for kind, data in other.records() if kind == "job-exception"]
    assert heard == ["whesl-unhealthy"], (
        "what the other one raised on the job that they share is known to both"
    )


def test_a_lost_node_concerns_its_task_and_a_spare_is_taken_once(bed: FluxBed, tmp_path: Path) -> None:
    """As on Slurm (``test_slurm_pilots.py``): three tasks in four nodes, two of them lost."""
    (tmp_path / "home").mkdir(mode=0o700)
    lines, made = [], []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        task = Protected(bed, tmp_path / name, NODELOST, nodes=4, used=1, submit=False)
        job = tmp_path / name / "job.sh"
        job.write_text(job.read_text().replace(f"{tmp_path}/{name}/home", f"{tmp_path}/home"))
        # One after the other, so that the test knows who is where.
        lines += [f"sh {job} &", f"until grep -q attempt {task.out}; do sleep 0.1; done"]
        made.append(task)
    bed.batch("\n".join((*lines, "wait", "")), "--nodes=4", "--exclusive")
    for task in made:
        task.running(0, 1)
        task.until(partial(task.agents, 3), "the agents")
    assert [f"attempt 0 on n0{n}" in task.text() for n, task in enumerate(made, 1)] == [True] * 3
    for node in ("n02", "n03"):
        bed.kill_node(node)
    made[1].until(lambda: any("\nstatus 1" in task.text() for task in made[1:]), "the one without a spare")
    failed, went_on = (made[1], made[2]) if "\nstatus 1" in made[1].text() else (made[2], made[1])
    went_on.running(1, 1)
    for task in (made[0], went_on):
        task.finish()
    assert "attempt 1 on n04" in went_on.text()
    assert "attempt 1" not in made[0].text() + failed.text()


def test_a_lost_node_ends_only_the_tasks_whose_jobs_run_on_it(bed: FluxBed, tmp_path: Path) -> None:
    """Two tasks that may use any node: each was restarted for a node that the other one alone used."""
    (tmp_path / "home").mkdir(mode=0o700)
    lines, made = [], []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        task = Protected(bed, tmp_path / name, NODELOST, used=1, submit=False, part=False)
        job = tmp_path / name / "job.sh"
        job.write_text(job.read_text().replace(f"{tmp_path}/{name}/home", f"{tmp_path}/home"))
        lines += [f"sh {job} &", f"until grep -q attempt {task.out}; do sleep 0.1; done"]
        made.append(task)
    bed.batch("\n".join((*lines, "wait", "")), "--nodes=4", "--exclusive")
    first, second = made
    for task in made:
        task.running(0, 1)
        task.until(partial(task.agents, 3), "the agents")
    assert ["attempt 0 on n01" in first.text(), "attempt 0 on n02" in second.text()] == [True, True]
    bed.kill_node("n02")
    second.running(1, 1)
    first.until(lambda: "node" in first.kinds(), "the loss")
    for task in made:
        task.finish()
    assert "attempt 1" not in first.text()


def test_without_a_spare_nothing_waits_for_a_node_that_cannot_return(bed: FluxBed, tmp_path: Path) -> None:
    """flux-core 6641: an instance that has lost nodes must not wait for them until the time limit."""
    made = Protected(bed, tmp_path, NODELOST, nodes=2)
    made.running(0, 2)
    bed.kill_node("n02")
    made.until(lambda: "\nstatus " in f"\n{made.text()}", "the end of the task")
    assert "status 1\n" in made.text()
    assert made.ended() == "COMPLETED 0"


def test_a_job_of_ours_outlives_its_nodes_with_no_option_set_by_hand(
    bed: FluxBed, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """flux-core 4583: resilient batch jobs; nodes that are left are neither ended nor cut off."""
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/sh\ntouch {tmp_path}/started\n"
        f"for i in $(seq 3000); do [ -e {tmp_path}/lost ] && break; sleep 0.02; done\n"
        f"flux run -N2 --requires=-rank:1,2 hostname > {tmp_path}/left 2>&1\n"
    )
    script.chmod(0o755)
    scheduler = FluxScheduler(environ=bed.outside)
    request.addfinalizer(scheduler.close)
    job = scheduler.submit(JobRequest(token="resilient", script=str(script), nodes=4, workdir=str(tmp_path)))
    bed.wait_for((tmp_path / "started").exists, "the job runs")
    for node in ("n02", "n03"):
        bed.kill_node(node)
    (tmp_path / "lost").touch()
    bed.wait_for(lambda: scheduler.jobs([job])[job].state.ended, "the end of the job")
    assert (tmp_path / "left").read_text().split() in (["n01", "n04"], ["n04", "n01"])
    assert scheduler.jobs([job])[job].state is JobState.COMPLETED


@pytest.mark.parametrize(
    ("otherwise", "status"), [("FAIL", "status 1"), ("ESCALATE", "status 75"), ("PAUSE", "")]
)
def test_what_else_says_is_done_when_no_spare_is_left(
    bed: FluxBed, tmp_path: Path, otherwise: str, status: str
) -> None:
    """As on Slurm (``test_slurm_else.py``)."""
    made = Protected(bed, tmp_path, NODELOST.replace("RAISE", f"ELSE {otherwise} RAISE"), nodes=2)
    made.running(0, 2)
    made.until(lambda: "agent" in made.kinds(), "the agent")
    bed.kill_node("n02")
    if not status:
        made.until(lambda: "paused" in made.kinds(), "the pause")
        assert "status" not in made.text()
        return
    made.until(lambda: "\nstatus " in f"\n{made.text()}", "the end of the task")
    assert f"{status}\n" in made.text()
    assert "spares-exhausted" in [data for kind, data in made.records() if kind == "finished"][-1]["reason"]
    assert "attempt 1 on" not in made.text()


def test_a_start_that_flux_refuses_is_tried_again(bed: FluxBed, tmp_path: Path) -> None:
    """As on Slurm (``test_slurm_refused.py``): the instance takes no jobs while a node is lost."""
    made = Protected(bed, tmp_path, NODELOST)
    made.running(0, 2)
    made.until(lambda: made.kinds().count("agent") >= 2, "the agents")
    made.flux("queue", "disable", "--message=maintenance")
    bed.kill_node("n02")
    made.until(lambda: "refused" in made.kinds(), "a refusal")
    assert "confirmed" not in made.kinds()
    made.flux("queue", "enable")
    made.until(lambda: "confirmed" in made.kinds(), "the program")
    number = [data for kind, data in made.records() if kind == "confirmed"][-1]["attempt"] - 1
    made.running(number, 2)
    made.finish()
    assert made.raised() == ["NODELOST"], "a refusal is no failure of the program's"


def test_a_dead_host_s_lock_does_not_lose_its_task(bed: FluxBed, tmp_path: Path) -> None:
    """The file server keeps it. Flux runs no job again, so another one is submitted for the same task."""
    script = "cd {place}; echo begun on $(hostname); until [ -e done ]; do sleep 0.02; done"
    made = Protected(bed, tmp_path, NODELOST, nodes=1, used=1, submit=False, script=script)
    text = (tmp_path / "job.sh").read_text()
    made.job = bed.batch(text, "--nodes=1", "--requires=host:n02")
    made.until(lambda: "begun on n02" in made.text(), "the program")
    isolator = next(
        p for p in mentioning("whesl.runtime.isolator", among=bed.processes("n02")) if "-m" in words(p)
    )
    kept = keep_locks(isolator.pid)
    assert kept
    try:
        bed.kill_node("n02")
        again = text.replace(f"{made.out}", f"{made.out}-again")
        made.out = tmp_path / "out-again"
        made.job = bed.batch(again, "--nodes=1", "--requires=host:n03")
        made.until(lambda: "begun on n03" in made.text(), "the program on the other node")
        assert "was taken over: the resource manager calls its host down or its job ended" in made.text()
        made.finish()
    finally:
        for descriptor in kept:
            os.close(descriptor)
