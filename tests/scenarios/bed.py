"""A cluster for the scenarios: the embedded one, a real Slurm or a real Flux, with one interface.

What the scheduler knows is read through its own commands, and given in Slurm's words; what users would see
is read through the command line of the product.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests import commands
from tests.processes import below
from tests.waiting import looks
from whesl.testing.processes import running

BIN = Path(sys.executable).parent


@dataclass
class Run:
    """A finished ``whesl run`` and what it left behind."""

    status: int
    output: str
    workflow: str
    report: dict[str, Any]
    events: list[dict[str, Any]]

    def kinds(self) -> list[str]:
        """The words of all events, in order."""
        return [event["kind"] for event in self.events]

    def exceptions(self, name: str = "") -> list[dict[str, Any]]:
        """What the report says of exceptions, of one name or all."""
        return [row for row in self.report["exceptions"] if name in ("", row["exception"])]


@dataclass
class Bed:
    """One cluster and one user's WHESL home.

    ``crash`` takes the power from a node. ``environment`` finds the cluster's commands. ``inner`` is what
    runs the tasks' steps, where that is to be chosen.
    """

    rjms: str
    directory: Path
    environment: dict[str, str]
    crash: Callable[[str], None]
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    inner: str = ""

    def call(self, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command in the cluster's environment."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    def whesl(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run the product's command line."""
        return commands.whesl(*arguments, env=self.environment, timeout=timeout)

    def begin(
        self, study: Path, rules: Path, *options: str, more: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        """Start ``whesl run``; its root is the study's name beside it. ``more``: further batch scripts."""
        self.adapt(study, *(Path(script.split(":")[0]) for script in more))
        process = commands.begin(
            "run",
            str(study),
            *more,
            "-e",
            str(rules),
            "--rjms",
            self.rjms,
            "--out",
            str(self.root(study)),
            "-y",
            "--poll",
            "1",
            *(("--inner", self.inner) if self.inner else ()),
            *options,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def root(self, study: Path) -> Path:
        """The directory where Maestro puts a study's workspaces."""
        return study.with_name(study.stem + ".out")

    def end(self, process: subprocess.Popen[str], study: Path, timeout: float = 200) -> Run:
        """Wait for a run and gather its records."""
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            for member in below(process.pid):
                with contextlib.suppress(psutil.NoSuchProcess):
                    member.kill()
            process.kill()
            output, _ = process.communicate()
            late = f"whesl run did not end within {timeout} s:\n{output[-6000:]}\n{self.evidence()}"
            raise AssertionError(late) from None
        workflow = self.workflow_of(study, output)
        report = self.whesl("report", workflow, "--json")
        assert report.returncode == 0, report.stderr
        events = self.whesl("events", "--workflow", workflow, "--json")
        assert events.returncode == 0, events.stderr
        return Run(
            status=process.returncode,
            output=output,
            workflow=workflow,
            report=json.loads(report.stdout),
            events=[json.loads(line) for line in events.stdout.splitlines()],
        )

    def run(
        self, study: Path, rules: Path, *options: str, more: tuple[str, ...] = (), timeout: float = 200
    ) -> Run:
        """Run a study to its end."""
        return self.end(self.begin(study, rules, *options, more=more), study, timeout)

    def workflow_of(self, study: Path, output: str = "") -> str:
        """The id under which a study's last run is known."""
        status = self.whesl("status", "--json")
        assert status.returncode == 0, status.stderr
        root = str(self.root(study))
        found = [flow["id"] for flow in json.loads(status.stdout)["workflows"] if flow["root"] == root]
        assert found, f"no workflow with root {root} in {status.stdout}\n{output}"
        return str(found[-1])

    # The scheduler's own records ----------------------------------------------------------------------

    def adapt(self, *files: Path) -> None:
        """Make studies and scripts that are written for Slurm ones for this bed's resource manager."""
        if self.rjms != "flux":
            return
        for file in files:
            text = file.read_text().replace("  type: slurm\n", "  type: flux\n")
            text = re.sub(r"^#SBATCH --time=(\d+)$", r"#flux: --time-limit=\1m", text, flags=re.MULTILINE)
            text = text.replace("#SBATCH --ntasks=", "#flux: --nslots=").replace("#SBATCH", "#flux:")
            file.write_text(text)

    def jobs(self) -> list[dict[str, str]]:
        """Every job that the scheduler ever had, oldest first, with the fields of ``scontrol show job``."""
        if self.rjms == "flux":
            return self._flux_jobs()
        ids = self.call("squeue", "-h", "-t", "all", "-o", "%i").stdout.split()
        records = []
        for job in dict.fromkeys(ids):
            text = self.call("scontrol", "-o", "show", "job", job).stdout
            records.append(dict(re.findall(r"(\w[\w/:]*)=(\S*)", text)))
        return records

    def _flux_jobs(self) -> list[dict[str, str]]:
        listed = json.loads(self.call("flux", "jobs", "-a", "--json").stdout)
        # Of one job alone the command prints the job itself.
        jobs = listed.get("jobs", [listed] if listed else [])
        return [
            {
                "JobId": str(job["id"]),
                "JobName": job["name"],
                "JobState": "RUNNING" if job["state"] == "RUN" else job["result"] or job["state"],
                "Restarts": "0",
            }
            for job in sorted(jobs, key=lambda job: job["t_submit"])
        ]

    def check_each_job_once(self, tasks: int) -> None:
        """One job per task, all completed, none requeued."""
        jobs = self.jobs()
        names = [job["JobName"] for job in jobs]
        assert len(names) == len(set(names)) == tasks, names
        assert {job["JobState"] for job in jobs} == {"COMPLETED"}, jobs
        assert {job.get("Restarts", "0") for job in jobs} == {"0"}, jobs

    # Processes ----------------------------------------------------------------------------------------

    def processes(self, word: str, **variables: str) -> list[psutil.Process]:
        """Processes of this bed whose command line has a word and whose environment has the variables."""
        found = []
        home = self.environment["WHESL_HOME"]
        for process in running():
            with contextlib.suppress(psutil.Error):
                if not any(word in part for part in process.cmdline()):
                    continue
                environment = process.environ()
                if environment.get("WHESL_HOME") == home and all(
                    environment.get(name) == value for name, value in variables.items()
                ):
                    found.append(process)
        return found

    def rank(self, number: int, word: str = "solver.py", timeout: float = 40) -> psutil.Process:
        """The process of one rank of a running parallel program."""
        variable = "FLUX_TASK_RANK" if self.rjms == "flux" else "SLURM_PROCID"
        found: list[psutil.Process] = self.wait(
            lambda: self.processes(word, **{variable: str(number)}), f"rank {number}", timeout
        )
        return found[0]

    def wait(self, condition: Callable[[], Any], what: str, timeout: float = 40) -> Any:
        """Return the condition's value once it is true, and show what there is when it takes too long."""
        for _ in looks(timeout):
            if value := condition():
                return value
        raise AssertionError(f"did not happen: {what}\n{self.evidence()}")

    def evidence(self) -> str:
        """What helps to understand a scenario that went wrong."""
        listing = ("flux", "jobs", "-a") if self.rjms == "flux" else ("squeue", "-t", "all")
        parts = [self.call(*listing).stdout, self.whesl("status").stdout]
        parts.append("\n".join(self.whesl("events").stdout.splitlines()[-60:]))
        for log in sorted(Path(self.environment["WHESL_HOME"]).rglob("log")):
            if log.is_file():
                parts.append(f"--- {log}\n{log.read_text(errors='replace')[-2500:]}")
        return "\n".join(parts)

    def close(self) -> None:
        """End what this bed started and is still there, managers in sessions of their own too."""
        for process in self.started:
            if process.poll() is None:
                for member in below(process.pid):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        member.kill()
                process.kill()
                process.wait()
        self.whesl("coordinator", "stop")


def base_environment(home: Path) -> dict[str, str]:
    """An environment without any trace of an enclosing job or of the user's own WHESL."""
    outer = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "WHESL", "FLUX_"))}
    home.mkdir(mode=0o700)
    return {
        **outer,
        "WHESL_HOME": str(home),
        "USER": outer.get("USER", "root"),
        "PATH": f"{BIN}:{outer['PATH']}",
    }


@contextlib.contextmanager
def local_bed(directory: Path, nodes: int = 8, *options: str) -> Iterator[Bed]:
    """An embedded cluster."""
    environment = base_environment(directory / "home")
    cluster = directory / "cluster"
    environment["WHESL_LOCAL"] = str(cluster)
    environment["PATH"] = f"{cluster / 'bin'}:{environment['PATH']}"
    start = commands.whesl("local", "start", "--nodes", str(nodes), "--cpus", "2", *options, env=environment)
    assert start.returncode == 0, start.stderr
    bed = Bed("local", directory, environment, lambda node: _crash_local(environment, node))
    try:
        yield bed
    finally:
        bed.close()
        commands.whesl("local", "stop", env=environment)


def _crash_local(environment: dict[str, str], node: str) -> None:
    commands.whesl("local", "kill-node", node, env=environment, check=True)


@contextlib.contextmanager
def slurm_bed(directory: Path, nodes: int = 8, inner: str = "slurm") -> Iterator[Bed]:
    """A real Slurm whose nodes can be crashed; ``inner`` runs the tasks' steps in its jobs."""
    from tests.equipment.slurmbed import SlurmBed

    with SlurmBed(nodes, "pid", slurmd_timeout=15, settings={"MpiDefault": "none"}) as cluster:
        own = base_environment(directory / "home")
        environment = {**cluster.environment, **{k: own[k] for k in ("WHESL_HOME", "USER")}}
        environment["PATH"] = f"{BIN}:{environment['PATH']}"
        bed = Bed("slurm", directory, environment, cluster.kill_node, inner=inner)
        try:
            yield bed
        finally:
            bed.close()


@contextlib.contextmanager
def flux_bed(directory: Path, bindings: Path, nodes: int = 8) -> Iterator[Bed]:
    """A real Flux instance whose nodes can be crashed; ``bindings``: what its Python bindings need."""
    from tests.equipment.fluxbed import FluxBed

    with FluxBed(nodes, cores=2) as cluster:
        environment = {**base_environment(directory / "home"), "FLUX_URI": cluster.uri}
        environment["PYTHONPATH"] = str(bindings)
        bed = Bed("flux", directory, environment, cluster.kill_node)
        try:
            yield bed
        finally:
            bed.close()
