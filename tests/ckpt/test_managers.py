"""A node dies at the end of its lead time in Flux and on the embedded cluster; the result is the same."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ckpt import asking
from tests.ckpt.test_c_client import CLIENT, COMPILER, compiled
from tests.conftest import need_flux
from tests.isolator.bench import records
from tests.waiting import until
from whesl.ckpt import manifest
from whesl.isolator.task.taskdir import TaskDir
from whesl.local import daemons
from whesl.local.cluster_directory import Cluster
from whesl.scheduling.records import Partition, Settings
from whesl.testing.fluxbed import FluxBed

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
FOREVER = 1_000_000
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


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(COMPILER is None, reason="no C compiler is on PATH")
@pytest.mark.parametrize("manager", [pytest.param(flux, marks=pytest.mark.flux), local])
def test_the_result_is_the_same_after_a_predicted_node_died(
    manager: Callable[[Path], AbstractContextManager[Manager]], tmp_path: Path
) -> None:
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
    home, out, kept = tmp_path / "home", tmp_path / "out", tmp_path / "kept"
    home.mkdir(mode=0o700)
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "steps").write_text(str(FOREVER))
    whesl = [sys.executable, "-m", "whesl"]
    command = [*whesl, "exec", "--no-coordinator", "--workflow", "wf", "--step", "app", "-e", "rules.esl"]
    command += ["--nodes", str(NODES), "--checkpoints", str(kept), "--script", "-"]
    with manager(tmp_path) as (submit, kill, launch):
        ranks = f"{launch} {program} 0 {RANKS} $(cat steps) 5 10000"
        script = f"{shlex.join(command)} <<'EOT'\n#!/bin/sh\n{ranks}\nEOT\necho status $?\n"
        submit(f"export WHESL_HOME={home}\ncd {tmp_path}\n{script}", out)

        def text() -> str:
            return out.read_text() if out.exists() else ""

        def status() -> dict[str, Any]:
            assert "status" not in text(), text()
            (name,) = [found.parent.name for found in home.glob("ckpt/*/address")] or [""]
            return asking.status(home, name)

        def taken() -> dict[str, Any] | None:
            checkpoint: dict[str, Any] | None = status().get("checkpoint")
            return checkpoint

        def nodes() -> list[str]:
            found = status().get("nodes", {})
            return sorted(node for node, facts in found.items() if facts["ranks"] == EACH)

        until(lambda: len(nodes()) == NODES, "all ranks", 90)
        victim = nodes()[1]
        environment = {**os.environ, "WHESL_HOME": str(home)}
        # The coordinator is killed before an agent has heard of the prediction.
        agents = asking.processes(home, "agent")
        for agent in agents:
            agent.suspend()
        subprocess.run([*whesl, "ckpt", "predict", victim, "--lead", "300"], env=environment, check=True)
        until(lambda: (taken() or {}).get("phase") == "agreeing", "a checkpoint that begins", 60)
        (coordinator,) = asking.processes(home, "serve")
        coordinator.kill()
        for agent in agents:
            agent.resume()
        until(lambda: kept.is_dir() and manifest.whole(kept), "a whole checkpoint", 60)
        (found,) = manifest.whole(kept)
        parts = sorted(found.parts, key=lambda part: (kept / str(found.epoch) / part.name).stat().st_ctime_ns)
        steps = found.step + 100
        (tmp_path / "steps").write_text(str(steps))
        kill(victim)
        until(lambda: "status" in text(), "the end", 120)
    total = steps * (steps + 1) // 2
    ends = {int(rank): int(end) for rank, end in re.findall(rf"rank (\d) ends at {steps} (\d+)", text())}
    assert ends == {rank: total * (rank + 1) for rank in range(RANKS)}, text()
    assert text().count(f"restored step {found.step}") == RANKS and "status 0" in text(), text()
    first = {part.rank for part in parts[:EACH]}
    assert len({rank // EACH for rank in first}) == 1, parts  # one node's ranks, before all others
    (journal,) = home.rglob("journal.db")
    raised = [data["raised"] for kind, data in records(TaskDir(journal.parent)) if kind == "raised"]
    assert [each["exception"] for each in raised] == ["DYING", "LOST"]
