"""A node fails at the end of its lead time: 16 ranks on 8 nodes of a real cluster, on limited bandwidth.

    python benchmarks/ckpt_real.py [--quick] [--json FILE] [--only WORD]

Needs root and FUSE: checkpoints are on a file system whose writes share one token bucket
(``whesl.testing.nfsbed``). Two programs, each on real Slurm, in a real Flux and on the embedded cluster:

* *python*: ranks without MPI. The node is killed (-9) at the end of its lead time, and a spare takes its
  place. The lead time covers the node's own part and not the whole checkpoint, which becomes whole after the
  kill; in Flux, which ends a job that lost a node, it covers the whole.
* *c*: ``clients/c/examples/heat.c``, with MPI. The lead time covers the checkpoint; the node is replaced
  before it fails, and killed at the end of its lead time.

Each has to give the result of an undisturbed run.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Figure, NotHereError, arguments, run_parts, scratch, until

from whesl.ckpt import control, manifest
from whesl.ckpt.messages import StatusAsked
from whesl.ckpt.rendezvous import known
from whesl.testing.fluxbed import FluxBed, missing
from whesl.testing.nfsbed import NfsBed
from whesl.testing.slurmbed import SlurmBed

NODES, EACH = 8, 2
RANKS = NODES * EACH
BANDWIDTH = 4e6  # bytes a second, for all together
BYTES = 1_500_000  # of a rank: its node needs 0.75 s, all need 6 s
CLIENT = Path(__file__).resolve().parents[1] / "clients" / "c"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE RESOURCE JOB[CHECKPOINT]
DECLARE EXCEPTION DYING JOB_LEVEL JOB [*] LIMIT 5
EXCEPTION DETECTION DYING PREDICTED
EXCEPTION RECOVERY STEP DYING JOB {dying}
DECLARE EXCEPTION LOST JOB_LEVEL JOB [*] LIMIT 5
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
PROGRAM = """\
import os, sys, time
from whesl.ckpt import Client
ranks, steps, size = map(int, sys.argv[1:4])
rank = int(os.environ.get("FLUX_TASK_RANK") or os.environ["SLURM_PROCID"])
client = Client(rank, ranks)
step = total = 0
if (path := client.restore()) is not None:
    step, total = map(int, path.read_bytes()[:64].split())
    print(f"rank {rank} restored step {step}", flush=True)
while step < steps:
    time.sleep(0.05)
    step += 1
    total += step * (rank + 1)
    if client.poll():
        client.path.write_bytes(f"{step} {total} ".ljust(size).encode())
        client.commit(client.path)
client.finish()
print(f"rank {rank} result {total}", flush=True)
"""


@dataclass(frozen=True)
class Cluster:
    """How a manager is used.

    Attributes:
        environment: of its commands.
        submit: takes a script and where its output goes.
        kill: kills a node.
        launch: what starts all ranks.
        mpi: what starts them with MPI.
        survives: whether ranks live on when a node of theirs dies.
    """

    environment: dict[str, str]
    submit: Callable[[str, Path], None]
    kill: Callable[[str], None]
    launch: str
    mpi: str
    survives: bool


SRUN = f"srun --overlap --overcommit --no-kill -n{RANKS} --ntasks-per-node={EACH}"


def _sbatch(environment: dict[str, str]) -> Callable[[str, Path], None]:
    def submit(script: str, out: Path) -> None:
        command = ["sbatch", "-N", str(NODES + 1), "--no-kill", "--no-requeue", f"--output={out}"]
        subprocess.run(
            command, input=script, env=environment, stdout=subprocess.DEVNULL, text=True, check=True
        )

    return submit


@contextmanager
def slurm() -> Iterator[Cluster]:
    """Start a real Slurm."""
    with SlurmBed(nodes=NODES + 1, cpus=4) as bed:
        environment = {**os.environ, **bed.environment}
        mpi = f"srun --overlap --overcommit --mpi=pmix -n{RANKS} --ntasks-per-node={EACH}"
        yield Cluster(environment, _sbatch(environment), bed.kill_node, SRUN, mpi, survives=True)


@contextmanager
def flux() -> Iterator[Cluster]:
    """Start a real Flux; a job is an instance of its own."""
    if lacking := missing():
        raise NotHereError(f"not installed: {', '.join(lacking)}")
    with FluxBed(nodes=NODES + 1, cores=4) as bed:
        if not bed.namespaces:
            raise NotHereError("nodes of their own need root")

        def submit(script: str, out: Path) -> None:
            bed.batch(f"#!/bin/bash\nexec > {out} 2>&1\n{script}", f"--nodes={NODES + 1}", "--exclusive")

        run = f"flux run -o cpu-affinity=off -N{NODES} -n{RANKS}"
        yield Cluster(bed.outside, submit, bed.kill_node, run, run, survives=False)


@contextmanager
def local() -> Iterator[Cluster]:
    """Start an embedded cluster."""
    whesl = [sys.executable, "-m", "whesl", "local"]
    with scratch() as place:
        environment = {**os.environ, "WHESL_LOCAL": str(place / "cluster")}
        nodes = ["--nodes", str(NODES + 1), "--cpus", "4", "--node-timeout", "4"]
        subprocess.run([*whesl, "start", *nodes], env=environment, check=True, stdout=subprocess.DEVNULL)
        environment["PATH"] = f"{place / 'cluster' / 'bin'}:{environment['PATH']}"

        def kill(node: str) -> None:
            subprocess.run(
                [*whesl, "kill-node", node], env=environment, check=True, stdout=subprocess.DEVNULL
            )

        try:
            # It has no PMI: Open MPI's own launcher starts its daemons by srun.
            mpi = f"mpirun --allow-run-as-root --oversubscribe -np {RANKS} --map-by ppr:{EACH}:node"
            yield Cluster(environment, _sbatch(environment), kill, SRUN, mpi, survives=True)
        finally:
            subprocess.run([*whesl, "stop"], env=environment, check=False, stdout=subprocess.DEVNULL)


MANAGERS = {"slurm": slurm, "flux": flux, "local": local}


class Job:
    """A task of 16 ranks under ``whesl exec --checkpoints`` in a job of the cluster."""

    def __init__(self, place: Path, cluster: Cluster, kept: Path, dying: str, ranks: str) -> None:
        self.place = place
        self.home, self.out = place / "home", place / "out"
        self.home.mkdir(mode=0o700)
        self.environment = {**cluster.environment, "WHESL_HOME": str(self.home)}
        (place / "rules.esl").write_text(RULES.format(dying=dying))
        command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", "-e", "rules.esl"]
        command += ["--step", "app", "--nodes", str(NODES), "--checkpoints", str(kept), "--script", "-"]
        script = f"#!/bin/bash\nexport WHESL_HOME={self.home}\ncd {place}\n{shlex.join(command)} <<'EOT'\n"
        script += f"#!/bin/bash\n{ranks}\nEOT\necho status $?\n"
        cluster.submit(script, self.out)
        os.environ["WHESL_HOME"] = str(self.home)

    def status(self) -> dict[str, Any]:
        """Return what the coordinator of its checkpoints knows."""
        addresses = known()
        if not addresses:
            self.check()
            return {"nodes": {}, "checkpoints": [], "ended": None}
        (address,) = addresses.values()
        return control.ask(address, StatusAsked()).status

    def check(self) -> None:
        """Raise RuntimeError when it has ended already."""
        if "status" in self.text():
            raise RuntimeError(self.text()[-3000:])

    def text(self) -> str:
        """Return its output."""
        return self.out.read_text(errors="replace") if self.out.exists() else ""

    def nodes(self) -> list[str]:
        """Return the nodes that have their ranks."""
        return sorted(name for name, facts in self.status()["nodes"].items() if facts["ranks"] == EACH)

    def predict(self, node: str, lead: float) -> None:
        """Say that a node fails."""
        words = ["ckpt", "predict", node, "--lead", str(lead), "--evidence", "benchmark"]
        told = subprocess.run(
            [sys.executable, "-m", "whesl", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode:
            raise RuntimeError(told.stderr)

    def end(self) -> str:
        """Wait for its end; return its output."""
        until(lambda: "status" in self.text(), "the end of the job", 300)
        if "status 0" not in self.text():
            self.check()
        return self.text()


def _ready(job: Job) -> list[str]:
    """Wait for all ranks; return their nodes."""
    until(lambda: len(job.nodes()) == NODES, "all ranks", 120)
    return job.nodes()


def python(name: str) -> list[Figure]:
    """Kill the node at the end of its lead time."""
    with scratch() as place, NfsBed("shared") as bed, MANAGERS[name]() as cluster:
        bed.change("shared", bandwidth=BANDWIDTH)
        steps = 600
        (place / "program.py").write_text(PROGRAM)
        ranks = f"{cluster.launch} {sys.executable} program.py {RANKS} {steps} {BYTES}"
        job = Job(place, cluster, bed.at("shared") / "kept", "JOB.CHECKPOINT", ranks)
        victim = _ready(job)[3]
        lead = 5.0 if cluster.survives else 15.0
        begun = time.time()
        job.predict(victim, lead)
        time.sleep(max(begun + lead - time.time(), 0))
        cluster.kill(victim)
        killed = time.time()
        text = job.end()
        kept = [one.epoch for one in manifest.whole(bed.backing / "kept")]
        expected = {f"rank {rank} result {steps * (steps + 1) // 2 * (rank + 1)}" for rank in range(RANKS)}
        equal = expected <= set(text.splitlines())
        whole = bed.backing / "kept" / "1" / manifest.NAME
        after = whole.stat().st_ctime - killed if whole.exists() else float("nan")
        restored = text.count("restored step")
        note = f"whole {after:+.1f} s after the kill; checkpoints {kept}; {restored} ranks restored"
        return [Figure(f"{name}, python: result equal", float(equal), "", 1, at_most=False, note=note)]


def c(name: str) -> list[Figure]:
    """Replace the node before it fails."""
    mpicc = shutil.which("mpicc")
    if mpicc is None:
        raise NotHereError("no mpicc is on PATH")
    with scratch() as place, NfsBed("shared") as bed, MANAGERS[name]() as cluster:
        bed.change("shared", bandwidth=BANDWIDTH)
        sources = [str(CLIENT / "examples" / "heat.c"), str(CLIENT / "src" / "whesl_ckpt.c")]
        include = f"-I{CLIENT / 'include'}"
        subprocess.run([mpicc, "-std=c99", "-O2", include, *sources, "-o", str(place / "heat")], check=True)
        mpi = "export OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1\n"
        sums = []
        for number, disturbed in enumerate((False, True)):
            here = place / str(number)
            here.mkdir()
            shutil.copy(place / "heat", here / "heat")
            kept = bed.at("shared") / f"kept{number}"
            run = f"{mpi}{cluster.mpi} ./heat 20000 400 40"
            job = Job(here, cluster, kept, "NODE.REPLACE BEFORE FAILURE", run)
            if disturbed:
                victim, begun, lead = _ready(job)[3], time.time(), 20.0
                job.predict(victim, lead)
                time.sleep(max(begun + lead - time.time(), 0))
                cluster.kill(victim)
            text = job.end()
            sums.append(text.split("sum ")[1].split()[0])
        restored = "restored checkpoint 1" in text
        note = f"{sums[0]} undisturbed, {sums[1]} with the failure; restored: {restored}"
        equal = float(sums[0] == sums[1] and restored)
        return [Figure(f"{name}, C with MPI: result equal", equal, "", 1, at_most=False, note=note)]


def _part(program: Callable[[str], list[Figure]], name: str) -> Callable[[bool], list[Figure]]:
    return lambda _quick: program(name)


if __name__ == "__main__":
    run_parts(
        arguments(__doc__ or ""),
        [(f"{each.__name__}-{name}", _part(each, name)) for each in (python, c) for name in MANAGERS],
    )
