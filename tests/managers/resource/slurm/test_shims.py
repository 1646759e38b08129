"""The launchers' shims in batch scripts on real Slurm: where do the ranks run?"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.launcher_shims import nodes_in_use
from whesl.managers.resource.port import StepRequest
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.model import hostlist
from whesl.model.allocation_nodes import NodeSet
from whesl.testing.contract_rjms import wait_until

pytestmark = pytest.mark.slurm

NODES = NodeSet(active=("n01", "n02"), spares=("n03",))
SWAPPED = NODES.replace("n02")
HELLO = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  char name[MPI_MAX_PROCESSOR_NAME]; int length, rank, size, sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  /* Up, then down: two ranks that connect to each other at once may fail (open-mpi/ompi#10734). */
  MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  printf("%s %d %d\\n", name, size, sum);
  MPI_Finalize();
  return 0;
}
"""


class Task:
    """A task's environment in a job of n01, n02, n03, as the isolator would make it, and the job's script."""

    def __init__(self, bed: SlurmBed, directory: Path) -> None:
        self.bed = bed
        self.directory = directory
        launcher_shims.install(directory / "bin")
        (directory / "hosts").write_text("n01\nn02\n")

    def exports(self, nodes: NodeSet, restarts: int = 0, **more: str) -> str:
        """Return shell lines that set the environment of an attempt."""
        job = {
            "SLURM_JOB_ID": "1",
            "SLURM_JOB_NODELIST": "n[01-03]",
            "SLURM_JOB_CPUS_PER_NODE": "2(x3)",
            "SLURM_TASKS_PER_NODE": "2(x3)",
        }
        variables = {
            **SlurmAllocation(job).launch_environment(nodes.active, job),
            "WHESL_NODELIST": ",".join(nodes.active),
            "WHESL_SWAPPED": json.dumps(nodes.swapped),
            "WHESL_HOSTFILE": str(self.directory / "hosts"),
            "WHESL_RESTART_COUNT": str(restarts),
            "WHESL_ATTEMPT_TOKEN": f"token-{restarts}",
            **more,
        }
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        lines.append(f"export {nodes_in_use.JOB}=$SLURM_JOB_ID")
        return "\n".join([*lines, f"PATH={self.directory}/bin:$PATH", f"cd {self.directory}", ""])

    def start(self, script: str, *options: str) -> str:
        """Submit a script on the three nodes and return the job's id."""
        place = ("--nodelist=n01,n02,n03", "--nodes=3", "--exclusive", "--no-kill", "--no-requeue")
        return self.bed.submit(script, *place, f"--output={self.directory}/out", *options)

    def run(self, script: str, *options: str) -> list[str]:
        """Run a script to its end and return the sorted lines of its output."""
        job_id = self.start(script, *options)
        state = self.bed.wait_job(job_id, "COMPLETED", "FAILED", "CANCELLED")
        text = (self.directory / "out").read_text()
        assert state == "COMPLETED", text
        return sorted(text.splitlines())


@pytest.fixture
def task(slurm: SlurmBed, tmp_path: Path) -> Task:
    return Task(slurm, tmp_path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("srun -N2 -n2 hostname", ["n01", "n02"]),
        ("srun hostname", ["n01", "n02"]),
        ("srun -n4 hostname", ["n01", "n01", "n02", "n02"]),
        ("srun --nodes=3 hostname", ["n01", "n02"]),
        ("srun -lN1 -w n02 hostname", ["0: n02"]),
        ("srun --exclude=n01 hostname", ["n02"]),
        ("srun -r1 -N1 hostname", ["n02"]),
        ("for i in 1 2; do srun -N1 -n1 --exclusive sh -c 'hostname; sleep 1' & done; wait", ["n01", "n02"]),
        ("srun -N1 --export=NONE /bin/sh -c 'echo $WHESL_ATTEMPT_TOKEN'", ["token-0"]),
        ("srun -N1 --export=A,B=2 /bin/sh -c 'echo $B$WHESL_ATTEMPT_TOKEN'", ["2token-0"]),
        ("scontrol show hostnames", ["n01", "n02"]),
    ],
)
def test_spares_are_not_used(task: Task, line: str, expected: list[str]) -> None:
    assert task.run(task.exports(NODES) + line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("srun -N2 -n2 hostname", ["n01", "n03"]),
        ("srun -N1 -w n02 hostname", ["n03"]),
        ("srun -N2 --exclusive hostname", ["n01", "n03"]),
        ("echo n02 > nodes; srun -N1 -w ./nodes hostname", ["n03"]),
        ("srun --nodes=1 --exclude n02 hostname", ["n01"]),
        ("for i in 1 2; do srun -N1 -n1 hostname; done", ["n01", "n01"]),
        ("for i in 1 2; do srun -N1 -n1 sh -c 'hostname; sleep 1' & done; wait", ["n01", "n03"]),
        (
            "printf 'n02\\nn01\\nn02\\n' > f; SLURM_HOSTFILE=f srun -n3 -m arbitrary hostname",
            ["n01", "n03", "n03"],
        ),
    ],
)
def test_ranks_run_on_the_new_nodes(task: Task, line: str, expected: list[str]) -> None:
    assert task.run(task.exports(SWAPPED, 1) + line) == expected


def test_a_job_submitted_without_environment(task: Task) -> None:
    """sbatch --export=NONE makes srun pass nothing on either."""
    line = "srun -N1 /bin/sh -c 'echo $WHESL_ATTEMPT_TOKEN'"
    assert task.run(task.exports(NODES) + line, "--export=NONE") == ["token-0"]


@pytest.mark.slow
def test_a_swap_after_a_crash(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """The node dies under the script's srun; the next attempt starts at once, while Slurm still waits."""
    bed = slurm_bed(nodes=3)
    task = Task(bed, tmp_path)
    first = "srun -N2 -n2 sh -c 'touch at.$(hostname); sleep 600' & while ! [ -e go ]; do sleep 0.1; done\n"
    second = "srun -N2 -n2 sh -c 'hostname; date +%s.%N' > second\n"
    job_id = task.start(task.exports(NODES) + first + task.exports(SWAPPED, 1) + second)
    environment = {"SLURM_JOB_ID": job_id, "SLURM_JOB_NODELIST": "n[01-03]"}
    allocation = SlurmAllocation({**bed.environment, **environment})
    agents = allocation.launch(StepRequest(command=("sleep", "600"), nodes=("n01", "n02", "n03")))
    wait_until(lambda: all((tmp_path / f"at.{node}").exists() for node in NODES.active), "the ranks run")
    bed.kill_node("n02")
    (tmp_path / "go").touch()
    begun = time.time()
    second_out = tmp_path / "second"
    wait_until(
        lambda: second_out.exists() and second_out.read_text().count("\n") == 4, "the second attempt ran"
    )
    lines = (tmp_path / "second").read_text().split()
    assert sorted(line for line in lines if line.startswith("n0")) == ["n01", "n03"]
    assert "n02" in hostlist.expand(bed.job(job_id, "%N")), "Slurm noticed before us"
    assert max(float(line) for line in lines if not line.startswith("n0")) - begun < 10
    allocation.signal(agents, 9)


def test_steps_start_beside_our_own(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """Where memory is counted too, our agents' step takes nothing from the script's steps."""
    bed = slurm_bed(3, settings={"SelectTypeParameters": "CR_Core_Memory", "DefMemPerCPU": "100"})
    task = Task(bed, tmp_path)
    line = "while ! [ -e go ]; do sleep 0.1; done; srun -N2 -n4 hostname"
    job_id = task.start(task.exports(NODES) + line)
    bed.wait_job(job_id, "RUNNING")
    environment = {"SLURM_JOB_ID": job_id, "SLURM_JOB_NODELIST": "n[01-03]"}
    allocation = SlurmAllocation({**bed.environment, **environment})
    request = StepRequest(
        command=("sh", "-c", "touch at.$(hostname); sleep 600"), nodes=("n01", "n02", "n03")
    )
    agents = allocation.launch(
        StepRequest(command=request.command, nodes=request.nodes, workdir=str(tmp_path))
    )
    wait_until(lambda: len(list(tmp_path.glob("at.*"))) == 3, "the agents run")
    (tmp_path / "go").touch()
    assert bed.wait_job(job_id, "COMPLETED", "FAILED", timeout=60) == "COMPLETED"
    assert sorted((tmp_path / "out").read_text().split()) == ["n01", "n01", "n02", "n02"]
    wait_until(lambda: agents.poll() is not None, "the agents ended with the job")


def environment_of_mpi(bed: SlurmBed) -> dict[str, str]:
    """Return what OpenMPI needs with root."""
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "TMPDIR": str(bed.local),
    }


@pytest.fixture(scope="session")
def hello(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile an MPI program that says where its ranks are, and that they can talk to each other."""
    need_slurm("mpi")
    program = tmp_path_factory.mktemp("mpi") / "hello"
    program.with_suffix(".c").write_text(HELLO)
    subprocess.run(["mpicc", "-o", program, program.with_suffix(".c")], check=True)
    return program


@pytest.mark.slow
@pytest.mark.parametrize(
    "launcher",
    [
        "srun --mpi=pmix -N2 -n4",
        "mpirun --mca plm slurm -n 4",
        "mpirun --mca plm slurm --host n01:2,n02:2 -n 4",
        "printf 'n01 slots=2\\nn02 slots=2\\n' > h; mpiexec --mca plm slurm --hostfile h -n 4",
    ],
)
@pytest.mark.parametrize("nodes", [NODES, SWAPPED], ids=["before", "swapped"])
def test_mpi_ranks(task: Task, hello: Path, launcher: str, nodes: NodeSet) -> None:
    """A rank of Open MPI 4.1.4 crashes now and then by itself; that says nothing of where ranks run."""
    exports = task.exports(nodes, int(nodes is SWAPPED), **environment_of_mpi(task.bed))
    again = "grep -q 'Segmentation fault' said || break"
    tries = f"for i in 1 2 3; do {{ {launcher} {hello}; }} >said 2>&1 && break; {again}; done; cat said"
    lines = task.run(exports + tries)
    assert lines == sorted(f"{node} 4 4" for node in nodes.active for _ in range(2))


def test_a_shim_outside_a_task_is_the_real_command(tmp_path: Path) -> None:
    launcher_shims.install(tmp_path / "shims")
    assert (tmp_path / "shims").stat().st_mode & 0o777 == 0o700
    real = tmp_path / "real"
    real.mkdir()
    (real / "srun").write_text('#!/bin/sh\nprintf "<%s>" "$0" "$@"\n')
    (real / "srun").chmod(0o755)
    nested = tmp_path / "nested"
    launcher_shims.install(nested)
    path = os.pathsep.join(map(str, (nested, tmp_path / "shims", real, "/usr/bin", "/bin")))

    def call(environment: Mapping[str, str]) -> str:
        command = [str(nested / "srun"), "-N2", "a b", ""]
        return subprocess.run(
            command, env={"PATH": path, **environment}, capture_output=True, text=True, check=True
        ).stdout

    assert call({}) == f"<{real}/srun><-N2><a b><>"
    inside = {"WHESL_NODELIST": "n1,n2,n3", "WHESL_HIDDEN_NODES": "n4", "SLURM_JOB_ID": "7"}
    inside["WHESL_HOSTFILE"] = str(tmp_path / "hosts")
    assert call(inside) == f"<{real}/srun><--nodes=2><--nodelist=n[1-2]><a b><>"
    assert call(inside) == f"<{real}/srun><--nodes=2><--nodelist=n[1-2]><a b><>", "the one before has ended"
    # A step that runs has its number until it ends.
    (real / "srun").write_text('#!/bin/sh\nprintf "<%s>" "$@"\ntouch "$RUNS"; read line\n')
    runs = tmp_path / "runs"
    with subprocess.Popen(
        [str(nested / "srun"), "-N2", "a"],
        env={"PATH": path, "RUNS": str(runs), **inside},
        stdin=subprocess.PIPE,
    ) as first:
        wait_until(runs.exists, "the first step runs")
        (real / "srun").write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
        assert call(inside) == "<--nodes=2><--nodelist=n[3,1]><a b><>"
        assert first.stdin is not None
        first.stdin.write(b"\n")
    assert call(inside) == "<--nodes=2><--nodelist=n[1-2]><a b><>"
    missing = subprocess.run(
        [str(nested / "mpirun"), "x"], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    if missing.returncode == 127:  # no MPI on this machine
        assert "mpirun: command not found" in missing.stderr
