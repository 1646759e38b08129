"""What the benchmarks share: figures and their table, clusters to measure on, protected jobs, percentiles."""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import math
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil

import whesl
from tests.equipment.fluxbed import FluxBed
from tests.equipment.install_slurm import missing
from tests.equipment.slurmbed import SlurmBed
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

PATIENCE = 60.0
_LOAD = os.getloadavg()[0]  # of what else runs here: figures of a busy machine are worse
RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app] LIMIT 1000
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
DECLARE EXCEPTION BOOM JOB_LEVEL JOB [app] LIMIT 1000
EXCEPTION DETECTION BOOM LOG "bench: boom" stdout
EXCEPTION RECOVERY STEP BOOM JOB JOB.REPLACE {"environment": {"AFTER_BOOM": "1"}}
"""


class NotHereError(Exception):
    """This machine cannot measure it; the text says why."""


# Figures --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One measured value. ``target`` is what it is held against, ``floor`` what the machine itself needs."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = True
    floor: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the target is kept; None without one."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


# A benchmark's part: its name, and what measures it; that takes ``quick``.
Part = tuple[str, Callable[[bool], list[Figure]]]


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` (0 to 1) of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def machine() -> dict[str, Any]:
    """Describe this machine without naming it."""
    model = ""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return {
        "processor": model or platform.machine(),
        "processors": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": platform.release(),
        "load_before": round(_LOAD, 1),
        "python": platform.python_version(),
        "slurm": version("sinfo", "--version"),
        "flux": version("flux", "--version").split("\n")[0],
    }


def version(*command: str) -> str:
    """Return what a command says of its version, empty without the command."""
    if shutil.which(command[0]) is None:
        return ""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip()


def arguments(description: str) -> argparse.Namespace:
    """Read the options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few repetitions, to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    parser.add_argument("--only", default="", help="a word that the names of the parts to run contain")
    return parser.parse_args()


def run_parts(options: argparse.Namespace, parts: Sequence[Part]) -> None:
    """Run the parts of a benchmark one after the other and show, and write, what they measured.

    Args:
        options: from ``arguments``.
        parts: name and function of each; that takes ``quick``.
    """
    # As in an installed package: where nothing may write bytecode, each start would compile what was changed.
    compileall.compile_dir(Path(whesl.__file__).parent, quiet=2)
    figures: list[Figure] = []
    for name, part in parts:
        if options.only not in name:
            continue
        try:
            found = part(options.quick)
        except NotHereError as error:
            print(f"{name}: left out, {error}", flush=True)
            continue
        figures += found
        for figure in found:
            print(line(figure), flush=True)
    if options.json:
        shown = [{**asdict(figure), "holds": figure.holds} for figure in figures]
        options.json.write_text(json.dumps({"machine": machine(), "figures": shown}, indent=2) + "\n")


def line(figure: Figure) -> str:
    """Return a figure's line of the table."""
    parts = [f"{figure.name:<58}{figure.value:>10.3f} {figure.unit:<6}"]
    if figure.target is not None:
        verdict = "holds" if figure.holds else "DOES NOT HOLD"
        parts.append(f"target {'<=' if figure.at_most else '>='} {figure.target:g}: {verdict}")
    if figure.floor is not None:
        parts.append(f"floor {figure.floor:.3f}")
    if figure.note:
        parts.append(figure.note)
    return "  ".join(parts)


# Waiting --------------------------------------------------------------------------------------------


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Return the condition's value once it is true. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)
    return value


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a directory for one part and remove it."""
    place = Path(tempfile.mkdtemp(prefix="whesl-bench-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


# Clusters -------------------------------------------------------------------------------------------


class Cluster(Protocol):
    """What a benchmark needs of a cluster."""

    name: str
    launcher: str  # starts one process on each of two nodes
    options: tuple[str, ...]  # of whesl exec

    def submit(self, script: str, nodes: int) -> None:
        """Run a script in an allocation of its own."""

    def kill(self, node: str) -> None:
        """Take a node's power."""


class _Local:
    name = "local"
    launcher = "srun -N 2 -n 2"
    options: tuple[str, ...] = ()

    def __init__(self, place: Path) -> None:
        self._place = place
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "WHESL"))}
        home = place / "home"
        home.mkdir(mode=0o700)
        self.environment |= {"WHESL_HOME": str(home), "USER": os.environ.get("USER", "user")}
        self._cluster = home / "local" / "default"

    def start(self, nodes: int) -> None:
        self._whesl("local", "start", "--nodes", str(nodes))
        self.environment["WHESL_LOCAL"] = str(self._cluster)
        self.environment["PATH"] = f"{self._cluster / 'bin'}:{self.environment['PATH']}"

    def stop(self) -> None:
        self._whesl("local", "stop")

    def _whesl(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "whesl", *arguments]
        subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=PATIENCE)

    def submit(self, script: str, nodes: int) -> None:
        path = self._place / "job.sh"
        path.write_text(script)
        command = ["sbatch", f"-N{nodes}", "--no-kill", "--output=/dev/null", str(path)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=PATIENCE)

    def kill(self, node: str) -> None:
        from whesl.managers.resource.embedded import daemons
        from whesl.managers.resource.embedded.cluster_directory import Cluster as LocalCluster

        daemons.kill_node(LocalCluster(str(self._cluster)), node)


class _Slurm:
    name = "Slurm"
    launcher = "srun -N 2 -n 2"
    options: tuple[str, ...] = ("--inner", "slurm")

    def __init__(self, bed: SlurmBed, place: Path) -> None:
        self.bed = bed
        self._home = place / "home"
        self._home.mkdir(mode=0o700, exist_ok=True)

    def submit(self, script: str, nodes: int) -> None:
        first, _, rest = script.partition("\n")
        text = f"{first}\nexport WHESL_HOME={self._home}\n{rest}"
        self.bed.submit(text, f"-N{nodes}", "--no-kill", "--no-requeue")

    def kill(self, node: str) -> None:
        self.bed.kill_node(node)


class _SlurmWithFlux(_Slurm):
    name = "Slurm with Flux inside"
    options: tuple[str, ...] = ("--inner", "flux")


class _Flux:
    name = "Flux"
    launcher = "flux run -N 2 -n 2"
    options: tuple[str, ...] = ()

    def __init__(self, bed: FluxBed, place: Path) -> None:
        self.bed = bed
        self._home = place / "home"
        self._home.mkdir(mode=0o700)

    def submit(self, script: str, nodes: int) -> None:
        first, _, rest = script.partition("\n")
        text = f"{first}\nexport WHESL_HOME={self._home}\n{rest}"
        survive = ("--setopt=exit-timeout=none", "--broker-opts=-Stbon.topo=kary:0")
        self.bed.batch(text, f"--nodes={nodes}", "--exclusive", *survive)

    def kill(self, node: str) -> None:
        self.bed.kill_node(node)


@contextlib.contextmanager
def local(nodes: int) -> Iterator[tuple[Cluster, Path]]:
    """Start the embedded resource manager."""
    with scratch() as place:
        made = _Local(place)
        made.start(nodes)
        try:
            yield made, place
        finally:
            made.stop()


@contextlib.contextmanager
def slurm(nodes: int, mode: str = "pid") -> Iterator[tuple[Cluster, Path]]:
    """Start a real Slurm, nodes with process numbers (or networks) of their own. Raises NotHereError."""
    if os.geteuid() != 0:
        raise NotHereError("a real Slurm has to be started by root")
    if lacking := missing():
        raise NotHereError(f"not installed: {', '.join(lacking)}")
    # Five minutes is what sites have: Slurm itself never notices within a measurement.
    with scratch() as place, SlurmBed(nodes=nodes, mode=mode, slurmd_timeout=300) as bed:  # type: ignore[arg-type]
        place.chmod(0o755)
        yield _Slurm(bed, place), place


@contextlib.contextmanager
def slurm_with_flux(nodes: int) -> Iterator[tuple[Cluster, Path]]:
    """Start a real Slurm in whose jobs tasks run by a Flux instance. Raises NotHereError."""
    if shutil.which("flux") is None:
        raise NotHereError("there is no flux on PATH")
    with slurm(nodes) as (cluster, place):
        assert isinstance(cluster, _Slurm)
        yield _SlurmWithFlux(cluster.bed, place), place


@contextlib.contextmanager
def flux(nodes: int) -> Iterator[tuple[Cluster, Path]]:
    """Start a real Flux. Raises NotHereError."""
    if shutil.which("flux") is None:
        raise NotHereError("there is no flux on PATH")
    with scratch() as place, FluxBed(nodes=nodes) as bed:
        yield _Flux(bed, place), place


CLUSTERS: dict[str, Callable[[int], contextlib.AbstractContextManager[tuple[Cluster, Path]]]] = {
    "local": local,
    "Slurm": slurm,
    "Slurm with Flux inside": slurm_with_flux,
    "Flux": flux,
}


# Protected jobs -------------------------------------------------------------------------------------


class Protected:
    """A script under ``whesl exec`` and the journal that it leaves.

    Args:
        place: where everything is put.
        rules: ESL text.
    """

    def __init__(self, place: Path, rules: str = RULES) -> None:
        self.place = place
        self.directory = TaskDir(place / "task")
        self._rules = place / "rules.esl"
        self._rules.write_text(rules)

    def command(self, script: Path, *options: str) -> list[str]:
        """Return the command that protects a script."""
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += ["--no-coordinator", "--task-dir", str(self.directory.path), "-e", str(self._rules)]
        return [*command, *options, "--script", str(script)]

    def line(self, script: Path, *options: str) -> str:
        """Return the same as a line of a batch script."""
        return shlex.join(self.command(script, *options))

    def records(self) -> list[tuple[str, dict[str, Any], float]]:
        """Return kind, data and time of what the isolator has written down."""
        try:
            journal = Journal(self.directory.journal, read_only=True)
            return [(record.kind, record.data, record.time) for record in journal.read()]
        except JournalError:
            return []

    def kinds(self) -> list[str]:
        """Return the kinds of the records."""
        return [kind for kind, _, _ in self.records()]

    def times(self, kind: str) -> list[float]:
        """Return when records of a kind were written, seconds since the epoch."""
        return [time for other, _, time in self.records() if other == kind]


def stamps(path: Path) -> list[tuple[float, str]]:
    """Return the lines of a file that programs wrote: seconds since the epoch and a word each."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return []
    return [(float(time), word) for time, _, word in (line.partition(" ") for line in lines)]
