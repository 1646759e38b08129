"""CLOUD nodes of a real Slurm as instances that are processes, and the reaper."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.install_slurm import PATH
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import looks, until
from whesl.cloud.providers.port import Instance
from whesl.cloud.providers.processes.provider import ProcessProvider

pytestmark = [pytest.mark.slurm, pytest.mark.usefixtures("require_slurm")]


class Site:
    """A Slurm with two CLOUD nodes, and the cloud behind them."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "cloud.toml"
        self.directory = directory
        whesl = f"{shlex.quote(sys.executable)} -m whesl cloud burst"
        for name in ("resume", "suspend"):
            program = directory / name
            program.write_text(
                f'#!/bin/sh\nexec {whesl} {name} --site {self.file} "$1" >>{directory}/{name}.log 2>&1\n'
            )
            program.chmod(0o755)
        host = os.uname().nodename.split(".")[0]
        place = f"NodeAddr=127.0.0.1 NodeHostname={host} CPUs=2 RealMemory=1000 State=CLOUD"
        self.bed = SlurmBed(
            1,
            "host",
            settings={
                "ResumeProgram": str(directory / "resume"),
                "SuspendProgram": str(directory / "suspend"),
                "SuspendTime": "3",
                "SuspendTimeout": "3",
                "ResumeTimeout": "60",
                "SuspendExcNodes": "n01",
                "ResumeRate": "0",
                "SuspendRate": "0",
            },
            more=[f"NodeName=burst{n} {place} Port={{port}}" for n in (1, 2)],
        )

    def __enter__(self) -> Site:
        conf = self.bed.conf
        # The fixture may have installed it a moment ago, where Slurm's programs' own PATH does not lead.
        slurmd = shutil.which("slurmd", path=PATH)
        assert slurmd is not None
        # What tells a job's processes from others is not for a node's daemon.
        clean = "unset $(env | sed -n 's/^\\(SLURM_[A-Z_]*\\)=.*/\\1/p')"
        self.file.write_text(
            f"""
[cloud]
provider = "processes"
[cloud.processes]
capacity = 3
start_delay = 0.2
[burst]
name = "bed"
directory = "{self.directory}/burst"
lifetime = 600
command = "{clean}; exec {slurmd} -D -b -f {conf} -N {{node}}"
""".replace("\\(", "\\\\(")
            .replace("\\)", "\\\\)")
            .replace("\\1", "\\\\1")
        )
        self.bed.start()
        with conf.open("a") as file:
            file.write("PartitionName=burst Nodes=burst1,burst2 MaxTime=INFINITE State=UP\n")
        self.bed.run("scontrol", "reconfigure")
        return self

    def __exit__(self, *_: object) -> None:
        self.bed.stop()
        provider = self.provider()
        provider.terminate([one.id for one in provider.instances("bed")])
        until(lambda: not self.alive(), "all have ended", 60)
        provider.close()

    def provider(self) -> ProcessProvider:
        return ProcessProvider(self.directory / "burst" / "instances")

    def alive(self) -> list[Instance]:
        if not (self.directory / "burst" / "instances").exists():
            return []
        return [one for one in self.provider().instances("bed") if not one.gone]

    def wait_running(self, job: str) -> None:
        """Wait until a job runs. Fails at once when an instance ends before, with what it has said."""
        for _ in looks(80):
            if self.bed.job(job) == "RUNNING":
                return
            for ended in self.directory.glob("burst/instances/instances/*/ended.json"):
                said = (ended.parent / "console").read_text(errors="replace")
                raise AssertionError(f"an instance ended before job {job} ran: {said}")
        said = (self.directory / "resume.log").read_text(errors="replace")
        raise AssertionError(f"job {job} does not run\n{said}\n{self.bed.log()}")

    def whesl(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "whesl", "cloud", "burst", *words]
        return subprocess.run(
            command, env=self.bed.environment, capture_output=True, text=True, check=False, timeout=100
        )

    def reap(self, grace: str) -> subprocess.CompletedProcess[str]:
        return self.whesl("reap", "--site", str(self.file), "--grace", grace)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_a_job_brings_its_node_and_the_reaper_takes_what_slurm_forgot(site: Site) -> None:
    """From submission to running, the orphan beside it, a dead slurmctld, and the end of the idle node."""
    job = site.bed.submit("#!/bin/sh\nsleep 1000", "-p", "burst", "-N1")
    site.wait_running(job)
    (used,) = site.alive()
    # An instance for a node that Slurm takes for powered down: nobody would ever end it.
    assert site.whesl("resume", "--site", str(site.file), "burst2").returncode == 0
    assert site.whesl("resume", "--site", str(site.file), "burst2").returncode == 0
    assert len(site.alive()) == 2
    site.bed.run("scontrol", "update", "NodeName=burst2", "State=POWER_DOWN_FORCE")
    first = site.reap("0")
    assert first.returncode == 0 and not first.stdout, first.stderr
    # Slurm does not answer: that says nothing of any node.
    os.kill(site.bed.pid("slurmctld"), signal.SIGKILL)
    assert site.reap("0").returncode != 0
    assert len(site.alive()) >= 1
    site.bed.restart_controller()
    until(lambda: not site.bed.run("sinfo").returncode, "slurmctld answers", 60)

    def orphan_ended() -> bool:
        site.reap("0")
        return [one.id for one in site.alive()] == [used.id]

    until(orphan_ended, "the orphan is ended, the other one goes on", 60)
    # A killed slurmctld may run the job again, on the node that it has.
    assert site.bed.job(job) in ("RUNNING", "CONFIGURING", "PENDING")
    site.bed.run("scancel", job)
    until(lambda: not site.alive(), "Slurm suspends the idle node", 80)
