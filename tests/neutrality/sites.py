"""The clusters on which the cases run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.neutrality.observing import fields
from whesl.testing.install_slurm import install
from whesl.testing.slurmbed import SlurmBed

WHESL = str(Path(sys.executable).parent / "whesl")
_MAIL = """#!/bin/sh
file=$(mktemp {mails}/mail.XXXXXX)
for word; do printf '%s\\n' "$word"; done > "$file"
"""


class Site(Protocol):
    """A cluster: what the suite asks of it."""

    manager: str
    root: Path
    pattern: str  # of a job's id in texts

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its users."""
        ...

    def jobs(self) -> list[dict[str, str]]:
        """Return the fields of all jobs, as ``scontrol -o show job`` names them."""
        ...

    def steps(self) -> list[tuple[str, str, str]]:
        """Return job id, step, and its state, exit code, tasks and nodes, of all steps."""
        ...

    def mails(self) -> list[str]:
        """Return the words of all mails."""
        ...

    def directories(self) -> tuple[tuple[str, str], ...]:
        """Return paths of the cluster that stand in texts, and what to call them."""
        ...

    def kill_node(self, node: str) -> None:
        """Crash a node."""
        ...

    def start_node(self, node: str) -> None:
        """Start a node that was killed."""
        ...


class SlurmSite:
    """A real Slurm with accounting, mail, licenses, generic resources and partitions that preempt."""

    manager = "slurm"
    pattern = r"(?<!\d)0*(7\d{5})(?!\d)"

    def __init__(self, bed: SlurmBed) -> None:
        self.bed = bed
        self.root = bed.directory / "cases"
        self.root.mkdir()
        self._mails = bed.directory / "mails"
        self._mails.mkdir()
        program = bed.directory / "mail"
        program.write_text(_MAIL.format(mails=self._mails))
        program.chmod(0o755)
        reserved = ("ReservationName=kept", "StartTime=now", "Duration=1-0", "Users=root")
        bed.run("scontrol", "create", "reservation", *reserved, f"Nodes={bed.nodes[-1]}")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its users."""
        home = {"WHESL_HOME": str(self.bed.directory / "home"), "USER": "root"}
        return {**self.bed.environment, **home}

    def jobs(self) -> list[dict[str, str]]:
        """Return the fields of all jobs."""
        return [
            fields(line) for line in self._lines("scontrol", "-o", "show", "job") if line.startswith("JobId=")
        ]

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
        """Return paths of the cluster that stand in texts."""
        return ((str(self.bed.directory / "home"), "<home>"), (str(self.bed.directory), "<bed>"))

    def kill_node(self, node: str) -> None:
        """Crash a node."""
        self.bed.kill_node(node)

    def start_node(self, node: str) -> None:
        """Start a node that was killed."""
        self.bed.start_node(node)

    def _lines(self, *command: str) -> list[str]:
        result = subprocess.run(command, env=self.environment, capture_output=True, timeout=300, check=False)
        return result.stdout.decode("utf-8", "surrogateescape").split("\n")


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
        subprocess.run([WHESL, "coordinator", "start"], env=site.environment, check=True, capture_output=True)
        try:
            yield site
        finally:
            subprocess.run(
                [WHESL, "coordinator", "stop"], env=site.environment, check=False, capture_output=True
            )
