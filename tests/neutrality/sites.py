"""The clusters on which the cases run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.equipment.fluxbed import FluxBed
from tests.equipment.install_slurm import install
from tests.equipment.slurmbed import SlurmBed
from tests.neutrality.observing import fields
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, JobSpec, Partition, Settings
from whesl.managers.resource.embedded.store import Store
from whesl.model.states import JobState

WHESL = str(Path(sys.executable).parent / "whesl")
_MAIL = """#!/bin/sh
file=$(mktemp {mails}/mail.XXXXXX)
for word; do printf '%s\\n' "$word"; done > "$file"
"""


class Site(ABC):
    """A cluster; its commands are in Slurm's form where a subclass does not say otherwise.

    Args:
        directory: where everything of it lives.
    """

    manager: ClassVar[str]
    pattern = r"(?<!\d)0*(7\d{5})(?!\d)"  # of a job's id in texts
    submit: ClassVar[tuple[str, ...]] = ("sbatch", "--parsable")
    cancel: ClassVar[tuple[str, ...]] = ("scancel",)

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = directory / "cases"
        self.root.mkdir()
        self._mails = directory / "mails"
        self._mails.mkdir()

    @property
    @abstractmethod
    def environment(self) -> dict[str, str]:
        """The environment of its users."""

    @abstractmethod
    def kill_node(self, node: str) -> None:
        """Crash a node."""

    @abstractmethod
    def start_node(self, node: str) -> None:
        """Start a node that was killed."""

    def jobs(self) -> list[dict[str, str]]:
        """Return the fields of all jobs."""
        lines = self._lines("scontrol", "-o", "show", "job")
        return [fields(line) for line in lines if line.startswith("JobId=")]

    def aliases(self, job: dict[str, str]) -> tuple[str, ...]:
        """Return how texts name a job besides its id."""
        return ()

    def steps(self) -> list[tuple[str, str, str]]:
        """Return job id, step, and its state, exit code, tasks and nodes."""
        form = "--format=JobIDRaw,JobName,State,ExitCode,NTasks,NNodes"
        found = []
        for line in self._lines("sacct", "-a", "-D", "-P", "-n", "-S", "now-1days", form):
            where, name, state, *rest = [*line.split("|"), "", ""]
            job, dot, step = where.partition(".")
            if dot:
                # Who cancelled it is a user's number.
                found.append((job, step, f"{name} {state.partition(' by')[0]} {' '.join(rest)}"))
        return found

    def mails(self) -> list[str]:
        """Return the words of all mails."""
        return [path.read_text(errors="surrogateescape") for path in self._mails.iterdir()]

    def directories(self) -> tuple[tuple[str, str], ...]:
        """Return paths of the cluster that stand in texts, and what to call them."""
        return ((str(self.directory / "home"), "<home>"), (str(self.directory), "<bed>"))

    def _lines(self, *command: str) -> list[str]:
        result = subprocess.run(command, env=self.environment, capture_output=True, timeout=300, check=False)
        return result.stdout.decode("utf-8", "surrogateescape").split("\n")

    @contextmanager
    def coordinated(self) -> Iterator[None]:
        """Have a coordinator run: of many first ones at once all but one would have to wait for it."""
        command = [WHESL, "coordinator"]
        subprocess.run([*command, "start"], env=self.environment, check=True, capture_output=True)
        try:
            yield
        finally:
            subprocess.run([*command, "stop"], env=self.environment, check=False, capture_output=True)


class SlurmSite(Site):
    """A real Slurm with accounting, mail, licenses, generic resources and partitions that preempt."""

    manager = "slurm"

    def __init__(self, bed: SlurmBed) -> None:
        super().__init__(bed.directory)
        self._bed = bed
        program = bed.directory / "mail"
        program.write_text(_MAIL.format(mails=self._mails))
        program.chmod(0o755)
        reserved = ("ReservationName=kept", "StartTime=now", "Duration=1-0", "Users=root")
        bed.run("scontrol", "create", "reservation", *reserved, f"Nodes={bed.nodes[-1]}")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its users."""
        environment = self._bed.environment
        # With flux on PATH, steps of several nodes are no steps of Slurm's (the row "flux-inside").
        kept = [one for one in environment["PATH"].split(os.pathsep) if not Path(one, "flux").exists()]
        own = {"WHESL_HOME": str(self.directory / "home"), "USER": "root", "PATH": os.pathsep.join(kept)}
        return {**environment, **own}

    def kill_node(self, node: str) -> None:
        """Crash a node."""
        self._bed.kill_node(node)

    def start_node(self, node: str) -> None:
        """Start a node that was killed."""
        self._bed.start_node(node)


class LocalSite(Site):
    """An embedded cluster. All its nodes are called as the machine is."""

    manager = "local"

    def __init__(self, directory: Path, nodes: int) -> None:
        super().__init__(directory)
        self._cluster = Cluster(str(directory / "cluster"))
        names = tuple(f"n{number:02d}" for number in range(1, nodes + 1))
        partitions = (Partition(name="main", nodes=names),)
        settings = Settings(nodes=names, cpus=4, partitions=partitions, kill_wait=15.0)
        daemons.prepare(self._cluster, settings)
        # Ids that no other number looks like.
        store = Store(self._cluster.join("state.db"))
        store.write([Job(id=710_000, spec=JobSpec(), state=JobState.COMPLETED)], (), ())
        store.close()
        daemons.start(self._cluster, None)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its users."""
        outer = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "WHESL"))}
        own = {"WHESL_LOCAL": self._cluster.path, "WHESL_HOME": str(self.directory / "home"), "USER": "root"}
        return {**outer, **own, "PATH": f"{self._cluster.join('bin')}:{outer['PATH']}"}

    def kill_node(self, node: str) -> None:
        """Crash a node."""
        daemons.kill_node(self._cluster, node)

    def start_node(self, node: str) -> None:
        """Start a node that was killed."""
        daemons.start_nodes(self._cluster, [node])

    def close(self) -> None:
        """End it."""
        daemons.stop(self._cluster)


@contextmanager
def local(nodes: int = 16) -> Iterator[LocalSite]:
    """Start an embedded cluster."""
    with tempfile.TemporaryDirectory(prefix="whesl-neutral-") as directory, ExitStack() as stack:
        site = LocalSite(Path(directory), nodes)
        stack.callback(site.close)
        stack.enter_context(site.coordinated())
        yield site


class FluxSite(Site):
    """A real Flux: each job is an instance of its own, as ``flux batch`` makes it."""

    manager = "flux"
    pattern = r"(ƒ\w+)"
    submit = ("flux", "batch")
    cancel = ("flux", "cancel")

    def __init__(self, directory: Path, bed: FluxBed) -> None:
        super().__init__(directory)
        self._bed = bed

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its users."""
        return {**self._bed.environment, "WHESL_HOME": str(self.directory / "home"), "USER": "root"}

    def kill_node(self, node: str) -> None:
        """Crash a node."""
        self._bed.kill_node(node)

    def start_node(self, node: str) -> None:
        """Flux takes no lost broker back."""
        raise NotImplementedError(node)

    def jobs(self) -> list[dict[str, str]]:
        """Return the fields of all jobs, by Slurm's names where there is one."""
        told = "".join(self._lines("flux", "jobs", "-a", "--json"))
        return [self._fields(job) for job in json.loads(told or '{"jobs": []}')["jobs"]]

    def _fields(self, job: dict[str, Any]) -> dict[str, str]:
        running = {"RUN": "RUNNING", "CLEANUP": "COMPLETING", "INACTIVE": job.get("result", "")}
        state = running.get(job["state"], "PENDING").replace("CANCELED", "CANCELLED")
        names = {"name": "JobName", "nodelist": "NodeList", "cwd": "WorkDir"}
        kept = (
            "ntasks",
            "ncores",
            "nnodes",
            "waitstatus",
            "returncode",
            "urgency",
            "success",
            "duration",
            "exception",
        )
        found = {ours: str(job[theirs]) for theirs, ours in names.items() if job.get(theirs)}
        found |= {name: str(job[name]) for name in kept if name in job}
        return {"JobId": str(job["id"]), "JobState": state, "Alias": job["jobid"], **found}

    def aliases(self, job: dict[str, str]) -> tuple[str, ...]:
        """Return its id as Flux prints it."""
        return (job["Alias"],)

    def steps(self) -> list[tuple[str, str, str]]:
        """Flux keeps no account of what ran in an instance that is over."""
        return []

    def directories(self) -> tuple[tuple[str, str], ...]:
        """Return paths of the cluster that stand in texts, and what to call them."""
        return (*super().directories(), (str(self._bed.directory), "<flux>"))


@contextmanager
def flux(nodes: int = 8) -> Iterator[FluxSite]:
    """Start a Flux."""
    with tempfile.TemporaryDirectory(prefix="whesl-neutral-") as directory, FluxBed(nodes) as bed:
        site = FluxSite(Path(directory), bed)
        with site.coordinated():
            yield site


_LOW = "PartitionName=low-{} Nodes=ALL PriorityTier=1 PreemptMode={} State=UP OverSubscribe={}"


@contextmanager
def slurm(nodes: int = 24) -> Iterator[SlurmSite]:
    """Start such a cluster."""
    install(("slurm", "dbd", "shells"))
    preempting = {"requeue": ("REQUEUE", "NO"), "cancel": ("CANCEL", "NO"), "off": ("OFF", "NO")}
    preempting["suspend"] = ("SUSPEND", "FORCE:1")
    bed = SlurmBed(
        nodes=nodes,
        cpus=4,
        dbd=True,
        settings={
            "FirstJobId": "710001",
            "MinJobAge": "7200",
            "MaxJobCount": "100000",
            "KillWait": "15",  # on a busy machine a script may need some seconds for what it does at SIGTERM
            "Licenses": "soft:8",
            "GresTypes": "tape",
            "PreemptType": "preempt/partition_prio",
            "PreemptMode": "SUSPEND,GANG",
            "RequeueExit": "111",
            "JobRequeue": "1",
            "NodeName": "DEFAULT Gres=tape:2 Feature=fast",
        },
        more=(
            "PartitionName=DEFAULT PreemptMode=OFF OverSubscribe=NO",
            "PartitionName=other Nodes=ALL State=UP",
            "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP",
            *(_LOW.format(name, *mode) for name, mode in preempting.items()),
        ),
    )
    bed._settings["MailProg"] = str(bed.directory / "mail")
    (bed.directory / "etc").mkdir(exist_ok=True)
    (bed.directory / "etc" / "gres.conf").write_text("Name=tape Count=2\n")
    with bed:
        site = SlurmSite(bed)
        with site.coordinated():
            yield site


SITES = {"slurm": slurm, "local": local, "flux": flux}
