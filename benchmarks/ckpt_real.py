"""A node fails at the end of its lead time: 16 ranks on 8 nodes of a real cluster, on limited bandwidth.

    python benchmarks/ckpt_real.py [--quick] [--json FILE] [--only WORD]

Needs root and FUSE: checkpoints are on a file system whose writes share one token bucket
(``tests.equipment.nfsbed``). Two programs, each on real Slurm, in a real Flux and on the embedded cluster
(``--only flux``, ``--only c-``, ``--only disk``):

* *python*: ranks without MPI. The node is killed (-9) at the end of its lead time, and a spare takes its
  place. The lead time covers the node's own part and not the whole checkpoint, which becomes whole after the
  kill; in Flux, which ends a job that lost a node, it covers the whole.
* *c*: ``clients/c/examples/heat.c``, with MPI. The lead time covers the checkpoint; the node is replaced
  before it fails, and killed at the end of its lead time.

The first program meets troubles as well (``TROUBLES``): a false prediction, two at once, one in the second
phase, the coordinator killed in each phase, and the disk full in each phase. All but the false prediction end
with the death of the node, and its ranks restore the checkpoint.

Each has to give the result of an undisturbed run.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from measure import Figure, NotHereError, arguments, run_parts, scratch, until

from tests.equipment.fluxbed import FluxBed, missing
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from whesl.checkpoints import control, manifest
from whesl.checkpoints.messages import StatusAsked
from whesl.checkpoints.rendezvous import known
from whesl.testing.processes import running

NODES, EACH, SPARES = 8, 2, 2
RANKS = NODES * EACH
BANDWIDTH = 4e6  # bytes a second, for all together
BYTES = 1_500_000  # of a rank: its node needs 0.75 s, all need 6 s
STEPS = 1500  # of the program in Python, 50 ms each
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
from whesl.api.checkpoints import Client, CommitError
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
        try:
            client.path.write_bytes(f"{step} {total} ".ljust(size).encode())
            client.commit(client.path)
        except (OSError, CommitError) as error:
            client.give_up(str(error))
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
        command = ["sbatch", "-N", str(NODES + SPARES), "--no-kill", "--no-requeue", f"--output={out}"]
        subprocess.run(
            command, input=script, env=environment, stdout=subprocess.DEVNULL, text=True, check=True
        )

    return submit


@contextmanager
def slurm() -> Iterator[Cluster]:
    """Start a real Slurm."""
    with SlurmBed(nodes=NODES + SPARES, cpus=4) as bed:
        environment = {**os.environ, **bed.environment}
        mpi = f"srun --overlap --overcommit --mpi=pmix -n{RANKS} --ntasks-per-node={EACH}"
        yield Cluster(environment, _sbatch(environment), bed.kill_node, SRUN, mpi, survives=True)


@contextmanager
def flux() -> Iterator[Cluster]:
    """Start a real Flux; a job is an instance of its own."""
    if lacking := missing():
        raise NotHereError(f"not installed: {', '.join(lacking)}")
    with FluxBed(nodes=NODES + SPARES, cores=4) as bed:
        if not bed.namespaces:
            raise NotHereError("nodes of their own need root")

        def submit(script: str, out: Path) -> None:
            bed.batch(f"#!/bin/bash\nexec > {out} 2>&1\n{script}", f"--nodes={NODES + SPARES}", "--exclusive")

        run = f"flux run -o cpu-affinity=off -N{NODES} -n{RANKS}"
        yield Cluster(bed.outside, submit, bed.kill_node, run, run, survives=False)


@contextmanager
def local() -> Iterator[Cluster]:
    """Start an embedded cluster."""
    whesl = [sys.executable, "-m", "whesl", "local"]
    with scratch() as place:
        environment = {**os.environ, "WHESL_LOCAL": str(place / "cluster")}
        nodes = ["--nodes", str(NODES + SPARES), "--cpus", "4", "--node-timeout", "4"]
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

    def predict(self, *predictions: tuple[str, float]) -> None:
        """Say at once of some nodes that they fail in so many seconds."""
        whesl = [sys.executable, "-m", "whesl", "ckpt", "predict", "--evidence", "benchmark"]
        told = [
            subprocess.Popen(
                [*whesl, node, "--lead", str(lead)],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for node, lead in predictions
        ]
        for each in told:
            said, _ = each.communicate()
            if each.returncode:
                raise RuntimeError(said)

    def phase(self) -> str:
        """Return the phase of the checkpoint that is being taken, empty between two."""
        return str((self.status()["checkpoint"] or {"phase": ""})["phase"])

    def processes(self, what: str) -> list[psutil.Process]:
        """Return its coordinator of checkpoints (``serve``), or the agents."""
        found = []
        for process in running():
            with suppress(psutil.Error):
                named = process.cmdline()[3:5] == ["ckpt", what]
                if named and process.environ().get("WHESL_HOME") == str(self.home):
                    found.append(process)
        return found

    def end(self) -> str:
        """Wait for its end; return its output."""
        until(lambda: "status" in self.text(), "the end of the job", 300)
        if "status 0" not in self.text():
            self.check()
        return self.text()


def _ready(job: Job) -> list[str]:
    """Wait for all ranks; return their nodes."""
    until(lambda: len(job.nodes()) == NODES, "all ranks", 300)
    return job.nodes()


def python(name: str) -> list[Figure]:
    """Kill the node at the end of its lead time."""
    with scratch() as place, NfsBed("shared") as bed, MANAGERS[name]() as cluster:
        bed.change("shared", bandwidth=BANDWIDTH)
        (place / "program.py").write_text(PROGRAM)
        ranks = f"{cluster.launch} {sys.executable} program.py {RANKS} {STEPS} {BYTES}"
        job = Job(place, cluster, bed.at("shared") / "kept", "JOB.CHECKPOINT", ranks)
        victim = _ready(job)[3]
        lead = 5.0 if cluster.survives else 15.0
        begun = time.time()
        job.predict((victim, lead))
        time.sleep(max(begun + lead - time.time(), 0))
        cluster.kill(victim)
        killed = time.time()
        text = job.end()
        kept = [one.epoch for one in manifest.whole(bed.backing / "kept")]
        whole = bed.backing / "kept" / "1" / manifest.NAME
        after = whole.stat().st_ctime - killed if whole.exists() else float("nan")
        equal, restored = _result(text)
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
                job.predict((victim, lead))
                time.sleep(max(begun + lead - time.time(), 0))
                cluster.kill(victim)
            text = job.end()
            sums.append(text.split("sum ")[1].split()[0])
        restored = "restored checkpoint 1" in text
        note = f"{sums[0]} undisturbed, {sums[1]} with the failure; restored: {restored}"
        equal = float(sums[0] == sums[1] and restored)
        return [Figure(f"{name}, C with MPI: result equal", equal, "", 1, at_most=False, note=note)]


# Troubles -------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """A job whose checkpoints meet a trouble.

    Attributes:
        job: it.
        bed: the file system of its checkpoints.
        kept: their directory, behind the limit of bandwidth.
        nodes: those with ranks.
        dying: when each node is killed, by its name.
    """

    job: Job
    bed: NfsBed
    kept: Path
    nodes: list[str]
    dying: dict[str, float]

    def predict(self, leads: dict[int, float], *, false: bool = False) -> None:
        """Say at once of some nodes, by their places, when they fail; they do, unless that is false."""
        if not false:
            self.dying |= {self.nodes[index]: time.time() + lead for index, lead in leads.items()}
        self.job.predict(*((self.nodes[index], lead) for index, lead in leads.items()))

    def phase(self, name: str) -> None:
        """Wait for a phase of the checkpoint."""
        until(lambda: self.job.phase() == name, f"phase {name}", 60)

    def whole(self) -> list[int]:
        """Return the numbers of the whole checkpoints."""
        return [found.epoch for found in manifest.whole(self.kept)] if self.kept.is_dir() else []

    def kill_coordinator(self) -> None:
        """Kill the coordinator of checkpoints; another one is started."""
        (coordinator,) = self.job.processes("serve")
        coordinator.kill()
        until(lambda: coordinator not in self.job.processes("serve"), "its end")

    def first_parts(self, number: int) -> list[int]:
        """Return the ranks of a checkpoint in the order of the ends of their writing."""
        parts = sorted((self.kept / str(number)).glob("*.part"), key=lambda part: part.stat().st_mtime_ns)
        return [int(part.stem.partition("-")[2]) for part in parts]


def _false(trial: Trial) -> str:
    trial.predict({3: 8}, false=True)
    until(trial.whole, "a whole checkpoint", 180)
    node = trial.nodes[3]
    until(lambda: trial.job.status()["nodes"][node]["fails_in"] is None, "the end of the lead time", 60)
    return "the node lived on"


def _two(trial: Trial) -> str:
    trial.predict({3: 30, 5: 25})
    until(trial.whole, "a whole checkpoint", 180)
    nodes = sorted({rank // EACH for rank in trial.first_parts(1)[: 2 * EACH]})
    return f"nodes {nodes} of 0 to {NODES - 1} wrote first"


def _second(trial: Trial) -> str:
    trial.predict({3: 30})
    trial.phase("second")
    trial.predict({5: 25})
    until(trial.whole, "a whole checkpoint", 180)
    return "nodes 3 and 5 died"


def _coordinator(phase: str) -> Callable[[Trial], str]:
    def trouble(trial: Trial) -> str:
        agents = trial.job.processes("agent")
        if phase == "agreeing":
            for agent in agents:  # no rank's step becomes known
                agent.send_signal(signal.SIGSTOP)
        trial.predict({3: 30})
        trial.phase("second" if phase == "sealing" else phase)
        if phase == "sealing":
            # It learns nothing of the ends of the parts before it dies.
            (coordinator,) = trial.job.processes("serve")
            coordinator.send_signal(signal.SIGSTOP)
            parts = trial.kept / "1"
            until(lambda: len(list(parts.glob("*.part"))) == RANKS, "all parts", 60)
        trial.kill_coordinator()
        if phase == "agreeing":
            for agent in agents:
                agent.send_signal(signal.SIGCONT)
        until(trial.whole, "a whole checkpoint", 180)
        return f"killed while {phase}"

    return trouble


def _disk(phase: str) -> Callable[[Trial], str]:
    def trouble(trial: Trial) -> str:
        full = {"error_rate": 1.0, "error": errno.ENOSPC, "operations": ("write", "create")}
        if phase == "second":
            trial.predict({3: 60}, false=True)
            trial.phase("second")
        where = "manifest" if phase == "sealing" else "rank-"
        trial.bed.change("shared", path=where, **full)
        if phase != "second":
            trial.predict({3: 60}, false=True)
        until(lambda: trial.job.status()["ended"], "the end of the checkpoint", 60)
        ended = trial.job.status()["ended"]
        trial.bed.change("shared", error_rate=0.0)
        if ended["whole"] or "No space left" not in ended["why"]:
            raise RuntimeError(f"full while {phase}: {ended}")
        trial.predict({3: 20})
        until(trial.whole, "a whole checkpoint", 180)
        return f"{ended['why'].rpartition(':')[0]}: no space; room again"

    return trouble


PHASES = ("agreeing", "first", "second", "sealing")
TROUBLES: dict[str, Callable[[Trial], str]] = {
    "false prediction": _false,
    "two predictions": _two,
    "prediction in second phase": _second,
    **{
        f"coordinator killed {each}": _coordinator(each)
        for each in ("agreeing", "first", "second", "sealing")
    },
    **{f"disk full {each}": _disk(each) for each in ("first", "second", "sealing")},
}


def trouble(what: str, name: str) -> list[Figure]:
    """Let checkpoints meet a trouble; nodes that are to fail are killed at the end of their lead time."""
    with scratch() as place, NfsBed("shared") as bed, MANAGERS[name]() as cluster:
        bed.change("shared", bandwidth=BANDWIDTH)
        (place / "program.py").write_text(PROGRAM)
        ranks = f"{cluster.launch} {sys.executable} program.py {RANKS} {STEPS} {BYTES}"
        job = Job(place, cluster, bed.at("shared") / "kept", "JOB.CHECKPOINT", ranks)
        trial = Trial(job, bed, bed.backing / "kept", _ready(job), {})
        note = TROUBLES[what](trial)
        numbers = trial.whole()
        for node, at in sorted(trial.dying.items(), key=lambda each: each[1]):
            time.sleep(max(at - time.time(), 0))
            cluster.kill(node)
        equal, restored = _result(job.end())
        held = equal and (restored >= RANKS if trial.dying else restored == 0)
        note += f"; checkpoints {numbers}; {restored} ranks restored"
        return [Figure(f"{name}, {what}: result equal", float(held), "", 1, at_most=False, note=note)]


def _result(text: str) -> tuple[bool, int]:
    """Return whether the result is that of an undisturbed run, and how often a rank restored."""
    expected = {f"rank {rank} result {STEPS * (STEPS + 1) // 2 * (rank + 1)}" for rank in range(RANKS)}
    return expected <= set(text.splitlines()), text.count("restored step")


def _part(run: Callable[..., list[Figure]], *given: str) -> Callable[[bool], list[Figure]]:
    return lambda _quick: run(*given)


if __name__ == "__main__":
    run_parts(
        arguments(__doc__ or ""),
        [(f"{each.__name__}-{name}", _part(each, name)) for each in (python, c) for name in MANAGERS]
        + [(f"{what} {name}", _part(trouble, what, name)) for what in TROUBLES for name in MANAGERS],
    )
