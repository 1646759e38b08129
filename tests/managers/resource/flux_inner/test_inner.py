"""Real Slurm with a real Flux inside its jobs: start, find again, loss of nodes and of the instance, end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import need_flux, need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.processes import words
from whesl.managers.resource.flux.nested_allocation import InnerFlux
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.testing.processes import running

pytestmark = [pytest.mark.slurm, pytest.mark.flux, pytest.mark.slow]

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
DECLARE EXCEPTION AGAIN JOB_LEVEL JOB [app] LIMIT 2
EXCEPTION DETECTION AGAIN LOG "once more" stdout
EXCEPTION RECOVERY STEP AGAIN JOB JOB.REPLACE
"""
# A rank tells where it is and what it runs under, and waits for the end.
RANK = """\
srun bash -c 'echo "attempt $WHESL_RESTART_COUNT rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname)" \\
 "under ${FLUX_JOB_ID:-Slurm}"
for i in $(seq 3000); do [ -e done ] && exit 0; sleep 0.05; done; exit 1'
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmBed]:
    """Four nodes for the tests that kill none, or start them again."""
    need_slurm()
    need_flux()
    with SlurmBed(nodes=4, settings={"MpiDefault": "none"}) as bed:
        yield bed


class Task:
    """A task on two of a job's three nodes."""

    def __init__(self, bed: SlurmBed, place: Path, script: str, *options: str, path: str = "") -> None:
        self.bed = bed
        self.place = place
        self.directory = TaskDir(place / "task")
        self.instance = self.directory.path / "flux"
        self.out = place / "out"
        rules = place / "rules.esl"
        rules.write_text(RULES)
        (place / "home").mkdir(mode=0o700)
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += ["--no-coordinator", "--task-dir", str(self.directory.path), "-e", str(rules)]
        command += ["--nodes", "2", *options, "--script", "-"]
        self.job = bed.submit(
            f"#!/bin/bash\nexport WHESL_HOME={place / 'home'} PATH={path}$PATH\ncd {place}\n"
            f"{shlex.join(command)} <<'EOT'\n#!/bin/bash\n{script}\nEOT\necho status $?\nsleep 1\n",
            *("-N", "3", "--nodelist=n[01-03]", "--no-kill", "--no-requeue", f"--output={self.out}"),
        )

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def log(self) -> str:
        return self.directory.log.read_text() if self.directory.log.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        try:
            journal = Journal(self.directory.journal, read_only=True)
            return [(record.kind, record.data) for record in journal.read()]
        except JournalError:
            return []

    def wait(self, condition: Callable[[], object], what: str, timeout: float = 60.0) -> None:
        try:
            self.bed.wait_for(condition, what, timeout)
        except BaseException:
            print(self.text(), self.log(), self.records())
            for name in ("log", "failed", "mpi"):
                file = self.instance / name
                print(name, file.read_text() if file.exists() else "(none)")
            raise

    def ranks(self, attempt: int) -> int:
        """How many ranks of an attempt have begun."""
        return self.text().count(f"attempt {attempt} rank")

    def end(self, status: int = 0) -> None:
        (self.place / "done").touch()
        self.wait(lambda: "status" in self.text(), "the end")
        assert f"status {status}\n" in self.text(), self.text() + self.log()

    def processes(self) -> list[psutil.Process]:
        """All processes of this task's instance, on all nodes: srun, brokers, initial program."""
        directory = str(self.instance)
        return [process for process in running() if directory in words(process)]

    def brokers(self) -> list[psutil.Process]:
        """The brokers of this task's instance on all nodes."""
        return [process for process in self.processes() if "flux-broker" in " ".join(words(process)[:1])]


def test_a_lost_node_under_flux_and_nothing_left_at_the_end(cluster: SlurmBed, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path, RANK, "--inner", "flux")
    task.wait(lambda: task.ranks(0) == 2, "both ranks")
    assert "under Slurm" not in task.text(), task.log()
    assert "rank 1 of 2 on n02" in task.text()
    record = json.loads((task.instance / "step.json").read_text())
    assert len(task.brokers()) == 3
    try:
        cluster.kill_node("n02")
        task.wait(lambda: task.ranks(1) == 2, "the ranks after the swap")
        assert "under Slurm" not in task.text()
        assert "attempt 1 rank 1 of 2 on n03" in task.text()
        assert cluster.job(task.job) == "RUNNING"
        task.end()
        assert task.processes() == [], "something of the instance outlived the task"
        assert not Path(record["rundir"]).exists()
    finally:
        cluster.run("scancel", task.job)
        cluster.start_node("n02")
        cluster.wait_for(lambda: cluster.states().count("idle") == 4, "all nodes again")


def test_a_new_isolator_finds_the_instance(cluster: SlurmBed, tmp_path: Path) -> None:
    # A busy machine may take longer than the agents' lease for the next isolator.
    task = Task(cluster, tmp_path, RANK, "--inner", "auto", "--heartbeat-limit", "30")
    task.wait(lambda: task.ranks(0) == 2, "both ranks")
    step = (task.instance / "step.json").read_text()
    owner = task.directory.owner()
    assert owner is not None
    isolator = next(
        process
        for process in running()
        if "whesl.runtime.isolator" in (line := words(process)) and str(task.directory.path) in line
    )
    isolator.kill()
    task.wait(lambda: task.log().count("Flux inside this job is ready") == 2, "the next isolator's instance")
    assert (task.instance / "step.json").read_text() == step
    assert len(task.brokers()) == 3
    task.end()
    assert task.ranks(0) == 2 and task.ranks(1) == 0, "the task did not notice"
    assert task.processes() == []


def test_without_its_leader_slurms_own_steps_take_over(cluster: SlurmBed, tmp_path: Path) -> None:
    script = RANK.replace("srun", "for whesl_try in 1 2; do srun").replace(
        "exit 1'", "exit 1' && break; done"
    )
    task = Task(cluster, tmp_path, script, "--inner", "flux")
    task.wait(lambda: task.ranks(0) == 2, "both ranks")
    leader = int((task.instance / "broker").read_text())
    on_node = next(p for p in cluster.processes("n01") if _inner_pid(p) == leader)
    on_node.send_signal(signal.SIGKILL)
    task.wait(lambda: (task.instance / "failed").exists(), "the end of the instance")
    task.wait(lambda: task.ranks(0) == 4, "the script's second step")
    assert task.text().count("under Slurm") == 2
    task.wait(lambda: task.brokers() == [], "the end of the other brokers")
    assert task.log().count("steps are slurm's own from now on") == 1
    task.end()


def _inner_pid(process: psutil.Process) -> int:
    """A process's number as its own node sees it."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[-1]) for line in lines if line.startswith("NSpid:")), 0)


@pytest.mark.parametrize("where", ["everywhere", "with its leader alone"])
def test_a_flux_that_does_not_start_costs_little(cluster: SlurmBed, tmp_path: Path, where: str) -> None:
    """Brokers that wait for a leader that has ended keep the step alive."""
    (tmp_path / "broken").mkdir()
    others = "" if where == "everywhere" else '[ "$SLURM_PROCID" = 0 ] || exec sleep 60\n'
    (tmp_path / "broken" / "flux").write_text(f"#!/bin/sh\n{others}echo no licence today >&2\nexit 3\n")
    (tmp_path / "broken" / "flux").chmod(0o755)
    task = Task(cluster, tmp_path, RANK, path=f"{tmp_path / 'broken'}:")
    task.wait(lambda: task.ranks(0) == 2, "both ranks")
    assert task.text().count("under Slurm") == 2
    assert task.log().count("no Flux inside this job: it ended: no licence today") == 1
    task.end()


def test_the_jobs_of_an_attempt_end_with_it(cluster: SlurmBed, tmp_path: Path) -> None:
    """A job of Flux outlives the script that submitted it, and one that waits has no process to be killed."""
    script = """\
    if [ "$WHESL_RESTART_COUNT" = 0 ]; then
      flux submit -N2 --exclusive sh -c 'echo $$ > held.$(hostname); exec sleep 6123' >/dev/null
      flux submit -N2 --exclusive touch late >/dev/null
      while [ $(ls held.* | wc -l) -lt 2 ]; do sleep 0.05; done
      echo once more; sleep 600
    fi
    srun -n2 true && flux jobs -a -n -o '{name} {status_abbrev}'
    touch after
    """
    task = Task(cluster, tmp_path, textwrap.dedent(script), "--inner", "flux")
    task.wait(lambda: "status" in task.text(), "the end")
    assert "status 0" in task.text(), task.text() + task.log()
    assert (tmp_path / "after").exists() and not (tmp_path / "late").exists()
    assert not [process for process in running() if "6123" in words(process)]


def test_commands_of_flux_in_a_script_reach_the_nodes_in_use(cluster: SlurmBed, tmp_path: Path) -> None:
    script = """\
    flux run -N2 -l hostname
    flux run -N1 --requires=host:n02 --env-remove='*' --env=PATH sh -c 'echo "token $WHESL_ATTEMPT_TOKEN"'
    flux exec hostname | sort | xargs echo exec
    flux run -N3 hostname || echo "three are refused"
    srun -l --exact -n2 -N2 sh -c 'echo "$SLURM_PROCID $SLURM_NODEID $SLURMD_NODENAME $FLUX_JOB_ID"'
    srun --overlap -n1 -N1 sh -c 'echo "real ${SLURM_STEP_ID:-none}"'
    printf 'a\\nb\\n' | srun -n1 wc -l
    srun -n1 -o written echo text; srun -n1 --open-mode=append -o written echo more; cat written
    srun -n1 sh -c 'exit 7'; echo "ended with $?"
    """
    task = Task(cluster, tmp_path, textwrap.dedent(script), "--inner", "flux")
    task.wait(lambda: "status" in task.text(), "the end")
    text = task.text()
    assert "0: n01\n" in text and "1: n02\n" in text, text + task.log()
    assert re.search(r"token [0-9a-f]+\.1\n", text), "an environment that is emptied keeps the token"
    assert "exec n01 n02\n" in text
    assert "three are refused" in text
    assert "0: 0 0 n01 ƒ" in text and "1: 1 1 n02 ƒ" in text
    assert "real none" not in text, "what only srun can do is srun's"
    assert "\n2\n" in text and "text\nmore\n" in text
    assert "ended with 7" in text


def test_programs_of_openmpi_find_each_other(cluster: SlurmBed, tmp_path: Path) -> None:
    need_slurm("mpi")
    source = tmp_path / "hello.c"
    source.write_text(HELLO)
    subprocess.run(["mpicc", "-o", str(tmp_path / "hello"), str(source)], check=True, timeout=60)
    script = "srun -N2 -n2 ./hello\nmpirun -np 2 --map-by node ./hello"
    root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n" if os.geteuid() == 0 else ""
    task = Task(cluster, tmp_path, root + script, "--inner", "flux")
    task.wait(lambda: "status" in task.text(), "the end", timeout=90)
    assert task.text().count("of 2, sum 2, under Flux") == 2, task.text() + task.log()
    assert task.text().count("of 2, sum 2, under Slurm") == 2, task.text() + task.log()


HELLO = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int rank, size, sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Up, then down: two ranks that connect to each other at once may fail (open-mpi/ompi#10734). */
  MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  printf("%d of %d, sum %d, under %s\\n", rank, size, sum, getenv("FLUX_JOB_ID") ? "Flux" : "Slurm");
  MPI_Finalize();
  return 0;
}
"""


def test_the_instance_is_what_the_isolator_holds(cluster: SlurmBed, tmp_path: Path) -> None:
    """The port's view from inside a job, without an isolator: states, looks and the end."""
    program = tmp_path / "view.py"
    program.write_text(VIEW)
    out = tmp_path / "out"
    cluster.submit(
        f"#!/bin/bash\nexec {sys.executable} {program} {tmp_path}\n",
        *("-N", "3", "--no-kill", "--no-requeue", f"--output={out}"),
    )
    cluster.wait_for(lambda: out.exists() and "over" in out.read_text(), "the end")
    text = out.read_text()
    assert "states UP UP UP" in text, text
    assert "gone False" in text
    assert f"kind {InnerFlux.__name__}" in text


VIEW = """\
import os, sys, time
from pathlib import Path
from whesl.managers.resource import current_allocation
from whesl.managers.resource.flux.nested_allocation import around
made = around(current_allocation(os.environ), "flux", Path(sys.argv[1]) / "flux", "1.0", os.environ)
print("kind", type(made).__name__)
deadline = time.monotonic() + 120
while made._witness is None and time.monotonic() < deadline:
    time.sleep(0.02)
print("states", *(state.name for state in made.node_states().values()))
print("gone", made.gone("n02"))
made.close()
print("over", flush=True)
"""
