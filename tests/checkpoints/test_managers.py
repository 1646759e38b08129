"""A node dies at the end of its lead time in Flux and on the embedded cluster; the result is the same."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import commands
from tests.checkpoints import asking
from tests.checkpoints.test_c_client import CLIENT, COMPILER, compiled
from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from tests.runtime.isolator.bench import records
from tests.waiting import until
from whesl.checkpoints import manifest
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Partition, Settings
from whesl.runtime.isolator.task.taskdir import TaskDir

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE RESOURCE JOB[CHECKPOINT]
DECLARE EXCEPTION DYING JOB_LEVEL JOB [app] LIMIT 3
EXCEPTION DETECTION DYING PREDICTED
EXCEPTION RECOVERY STEP DYING JOB JOB.CHECKPOINT
DECLARE EXCEPTION LOST JOB_LEVEL JOB [app] LIMIT 3
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
NODES, EACH = 3, 2  # one node more is the spare
RANKS = NODES * EACH
WHESL = [sys.executable, "-m", "whesl"]
FOREVER = 1_000_000
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler is on PATH"),
]
# Submits a script whose output goes to a file; kills a node; what starts the ranks.
Manager = tuple[Callable[[str, Path], object], Callable[[str], object], str]


@contextmanager
def flux(_place: Path) -> Iterator[Manager]:
    need_flux()
    with FluxBed(nodes=NODES + 1, cores=EACH) as bed:
        if not bed.namespaces:
            pytest.skip("nodes of their own need root")

        def submit(script: str, out: Path) -> None:
            bed.batch(f"#!/bin/sh\nexec > {out} 2>&1\n{script}", f"--nodes={NODES + 1}", "--exclusive")

        yield submit, bed.kill_node, f"flux run -o cpu-affinity=off -N{NODES} -n{RANKS}"


@contextmanager
def local(place: Path) -> Iterator[Manager]:
    cluster = Cluster(str(place / "c"))
    names = tuple(f"n{number:02}" for number in range(1, NODES + 2))
    partitions = (Partition(name="main", nodes=names),)
    daemons.start(cluster, Settings(nodes=names, partitions=partitions, cpus=EACH, node_timeout=4.0))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "SBATCH"))}
    environment |= {"WHESL_LOCAL": cluster.path, "PATH": f"{cluster.join('bin')}:{environment['PATH']}"}

    def submit(script: str, out: Path) -> None:
        command = ["sbatch", f"-N{NODES + 1}", "--no-kill", "--no-requeue", f"--output={out}"]
        text = f"#!/bin/sh\n{script}"
        subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=True)

    try:
        ranks = f"srun --overlap --overcommit --no-kill -n{RANKS} --ntasks-per-node={EACH}"
        yield submit, lambda node: daemons.kill_node(cluster, node), ranks
    finally:
        daemons.stop(cluster)


class Task:
    """A program of six ranks on three nodes, which ends at the step that a file names when it is started."""

    def __init__(self, place: Path) -> None:
        self.place, self.home, self.out, self.kept = place, place / "home", place / "out", place / "kept"
        self.program = compiled(place, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
        self.home.mkdir(mode=0o700)
        (place / "rules.esl").write_text(RULES)
        self.end_at(FOREVER)

    def end_at(self, steps: int) -> None:
        (self.place / "steps").write_text(str(steps))

    def submit(self, submit: Callable[[str, Path], object], launch: str) -> None:
        command = [*WHESL, "exec", "--no-coordinator", "--workflow", "wf", "--step", "app", "-e", "rules.esl"]
        command += ["--nodes", str(NODES), "--checkpoints", str(self.kept), "--script", "-"]
        ranks = f"{launch} {self.program} 0 {RANKS} $(cat steps) 5 10000"
        script = f"{shlex.join(command)} <<'EOT'\n#!/bin/sh\n{ranks}\nEOT\necho status $?\n"
        submit(f"export WHESL_HOME={self.home}\ncd {self.place}\n{script}", self.out)
        until(lambda: len(self.nodes()) == NODES, "all ranks", 90)

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def status(self) -> dict[str, Any]:
        assert "status" not in self.text(), self.text()
        (name,) = [found.parent.name for found in self.home.glob("ckpt/*/address")] or [""]
        return asking.status(self.home, name)

    def nodes(self) -> list[str]:
        found = self.status().get("nodes", {})
        return sorted(node for node, facts in found.items() if facts["ranks"] == EACH)

    def begin_checkpoint(self, node: str) -> list[psutil.Process]:
        """Predict a node's failure while the agents are stopped: return them; none has heard of it."""
        agents = asking.processes(self.home, "agent")
        for agent in agents:
            agent.suspend()
        environment = {**os.environ, "WHESL_HOME": str(self.home)}
        commands.whesl(
            "ckpt", "predict", node, "--lead", "300", env=environment, check=True, stdout=None, stderr=None
        )

        def begun() -> bool:
            return bool((self.status().get("checkpoint") or {}).get("phase") == "agreeing")

        until(begun, "a checkpoint that begins", 60)
        return agents

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        (journal,) = self.home.rglob("journal.db")
        return records(TaskDir(journal.parent))

    def raised(self) -> list[str]:
        return [data["raised"]["exception"] for kind, data in self.records() if kind == "raised"]

    def ends_equal(self, steps: int) -> None:
        """Assert that the task has ended well, with the result of an undisturbed run."""
        total = steps * (steps + 1) // 2
        ends = {
            int(rank): int(end) for rank, end in re.findall(rf"rank (\d) ends at {steps} (\d+)", self.text())
        }
        assert ends == {rank: total * (rank + 1) for rank in range(RANKS)}, self.text()
        assert "status 0" in self.text(), self.text()
        assert self.raised() == ["DYING", "LOST"]


@pytest.mark.parametrize("manager", [pytest.param(flux, marks=pytest.mark.flux), local])
def test_the_result_is_the_same_after_a_predicted_node_died(
    manager: Callable[[Path], AbstractContextManager[Manager]], tmp_path: Path
) -> None:
    task = Task(tmp_path)
    with manager(tmp_path) as (submit, kill, launch):
        task.submit(submit, launch)
        victim = task.nodes()[1]
        agents = task.begin_checkpoint(victim)
        (coordinator,) = asking.processes(task.home, "serve")
        coordinator.kill()
        for agent in agents:
            agent.resume()
        until(lambda: task.kept.is_dir() and manifest.whole(task.kept), "a whole checkpoint", 60)
        (found,) = manifest.whole(task.kept)
        parts = sorted(
            found.parts, key=lambda part: (task.kept / str(found.epoch) / part.name).stat().st_ctime_ns
        )
        task.end_at(found.step + 100)
        kill(victim)
        until(lambda: "status" in task.text(), "the end", 120)
    task.ends_equal(found.step + 100)
    assert task.text().count(f"restored step {found.step}") == RANKS, task.text()
    first = {part.rank for part in parts[:EACH]}
    assert len({rank // EACH for rank in first}) == 1, parts  # one node's ranks, before all others


@pytest.mark.flux
def test_a_launcher_that_ends_of_the_loss_before_the_checkpoint_was_heard_of(tmp_path: Path) -> None:
    """``flux run`` ends with 143 of a node failure: so did a task with a checkpoint under way."""
    task = Task(tmp_path)
    with flux(tmp_path) as (submit, kill, launch):
        task.submit(submit, launch)
        victim = task.nodes()[1]
        stopped = [*task.begin_checkpoint(victim), *asking.processes(task.home, "serve")]
        stopped[-1].suspend()
        task.end_at(100)
        kill(victim)
        until(lambda: "exited" in [kind for kind, _ in task.records()], "the launcher's end", 60)
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()
        until(lambda: "status" in task.text(), "the end", 120)
    task.ends_equal(100)
