"""Each job is asked about at the manager that runs it, whatever the coordinator was started in view of."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from tests.processes import words
from tests.runtime.coordinator.daemons import Isolator, until, whesl
from whesl.managers.resource import cluster_environment, manager_table
from whesl.model.errors import CouldNotObserveError
from whesl.runtime.coordinator.client import start
from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import InstalledPorts
from whesl.runtime.wire.messages import Welcome

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app]
EXCEPTION DETECTION CRASH EXIT CODE 99
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""


class Both:
    """A real Slurm, and a coordinator that a workflow on a private embedded cluster has left running."""

    def __init__(self, bed: SlurmBed, place: Path, home: Path) -> None:
        self.bed = bed
        self.place = place
        self.rules = place / "rules.esl"
        self.rules.write_text(RULES)
        script = place / "app.sh"
        script.write_text("#!/bin/sh\n#SBATCH -N 1\ntrue\n")
        self.environment = {**bed.environment, "WHESL_HOME": str(home), "WHESL_HEARTBEAT": "1"}
        ended = self.whesl("run", "--rjms", "local", str(script), "-e", str(self.rules))
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert self.whesl("coordinator", "status").returncode == 0

    def whesl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(*words, env=self.environment, cwd=self.place, timeout=100)

    def submit(self, name: str, program: str) -> str:
        """Submit a job that runs the task ``exec/app``; its status follows in the file ``name``."""
        command = [sys.executable, "-m", "whesl", "exec", "--step", "app", "-e", str(self.rules)]
        text = f"#!/bin/sh\nexport WHESL_HOME={self.environment['WHESL_HOME']}\ncd {self.place}\n"
        text += f"{shlex.join([*command, '--', 'sh', '-c', program])}\necho status $?\n"
        return self.bed.submit(text, f"--output={self.place / name}", "--no-requeue", "--no-kill")

    def read(self, name: str) -> str:
        path = self.place / name
        return path.read_text() if path.exists() else ""


def _kill_all(bed: SlurmBed, node: str) -> None:
    """Kill all that a job runs on a node, isolators before they can say anything; slurmd stays."""
    for process in sorted(
        bed.processes(node), key=lambda process: "whesl.runtime.isolator" not in words(process)
    ):
        with contextlib.suppress(psutil.NoSuchProcess):
            if not process.name().startswith("slurm"):
                process.kill()


@pytest.mark.slurm
@pytest.mark.slow
def test_a_task_whose_owner_has_ended_runs_again(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path, whesl_home: Path
) -> None:
    """The coordinator asked the embedded cluster, which had ended, whether the job of Slurm runs."""
    bed = slurm_bed(nodes=3)
    both = Both(bed, tmp_path, whesl_home)
    first = both.submit("first", "echo began; sleep 1000")
    bed.wait_for(lambda: "began" in both.read("first"), "the first job")
    bed.wait_for(lambda: f"{first}" in both.whesl("status", "exec").stdout, "its registration")
    _kill_all(bed, bed.job(first, "%N"))
    bed.wait_job(first, "FAILED", "COMPLETED")
    both.submit("second", "echo came; true")
    bed.wait_for(lambda: "status" in both.read("second"), "the second job", timeout=100)
    told = both.whesl("status", "exec").stdout
    assert both.read("second") == "came\nstatus 0\n", told
    assert "perhaps" not in told


@pytest.mark.costly
def test_a_manager_that_cannot_be_asked_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An embedded cluster that was removed, with a task on it that nobody hears of any more."""
    monkeypatch.setenv("WHESL_HEARTBEAT", "0.5")
    start.ensure_running(home)
    gone = tmp_path / "gone"
    isolator = Isolator(home, "a", rjms="local", job_id="7", cluster={"WHESL_LOCAL": str(gone)})
    isolator.wait(Welcome)
    isolator.client.close()
    until(lambda: "local cannot be asked" in whesl("status").stderr, "the message")
    said = "local cannot be asked about the jobs of w/a: the local resource manager does not answer"
    assert f"whesl: {said}" in whesl("status").stderr
    (told,) = json.loads(whesl("status", "--json").stdout)["coordinator"]["unreachable"]
    assert (told["rjms"], told["tasks"]) == ("local", ["w/a"])
    assert f"trouble: {said}" in whesl("coordinator", "status").stdout
    doctor = json.loads(whesl("doctor", "--json").stdout)["findings"]
    (found,) = (finding for finding in doctor if finding["name"] == "coordinator")
    assert found["state"] == "warn" and said in found["detail"], found


@pytest.mark.slurm
def test_another_cluster_than_the_job_s_is_not_asked(slurm: SlurmBed) -> None:
    """Job ids are the same on all clusters: what another one says of this id is about somebody else."""
    job = slurm.submit("#!/bin/sh\nsleep 100\n")
    try:
        there = {"SLURM_CONF": str(slurm.conf)}
        ports = InstalledPorts()
        right = ports.scheduler("slurm", {**there, manager_table.CLUSTER_NAME: "bed"})
        assert job in right.jobs([job])
        wrong = ports.scheduler("slurm", {**there, manager_table.CLUSTER_NAME: "elsewhere"})
        for _ in range(3):  # pyslurm would be asked from the second look on
            with pytest.raises(CouldNotObserveError, match="cluster bed, not to elsewhere"):
                wrong.jobs([job])
        with pytest.raises(CouldNotObserveError):
            wrong.cancel(job)
    finally:
        slurm.run("scancel", job)


def test_what_an_embedded_cluster_put_in_front_is_not_the_coordinator_s(tmp_path: Path) -> None:
    started = {"PATH": f"{tmp_path}/bin:/usr/bin:{tmp_path}/other", "WHESL_LOCAL": str(tmp_path), "A": "1"}
    assert cluster_environment.outside(started) == {"PATH": f"/usr/bin:{tmp_path}/other", "A": "1"}
    assert cluster_environment.outside({"PATH": "/usr/bin"}) == {"PATH": "/usr/bin"}
    assert cluster_environment.outside({"WHESL_LOCAL": "/x"}) == {}


def test_a_file_that_is_not_on_this_host_names_no_cluster(tmp_path: Path) -> None:
    """A node may have a copy of slurm.conf of its own, and a broker's socket is on its node."""
    here = tmp_path / "slurm.conf"
    own = {"SLURM_CONF": "/own", "FLUX_URI": "ssh://login/run/flux"}
    gone = {"SLURM_CONF": f"{here}", "FLUX_URI": f"local://{tmp_path}/socket"}
    assert cluster_environment.asking(own, gone) == own
    here.touch()
    (tmp_path / "socket").touch()
    assert cluster_environment.asking(own, gone) == gone
    assert cluster_environment.asking(own, {"FLUX_URI": "ssh://other/run"})["FLUX_URI"] == "ssh://other/run"


@pytest.mark.parametrize(
    ("rjms", "wanted"),
    [
        ("slurm", {"SLURM_CONF": "/c", "SLURM_CONF_SERVER": "ctl:6817", "SLURM_CLUSTER_NAME": "big"}),
        ("local", {"WHESL_LOCAL": "/l"}),
        ("flux", {"FLUX_URI": "local:///f"}),
        ("host", {}),
    ],
)
def test_what_a_job_tells_of_its_cluster(rjms: str, wanted: dict[str, str]) -> None:
    here = {"SLURM_CONF": "/c", "SLURM_CONF_SERVER": "ctl:6817", "SLURM_CLUSTER_NAME": "big"}
    given = {**here, "WHESL_LOCAL": "/l", "FLUX_URI": "local:///f"}
    assert cluster_environment.described(rjms, {**given, "PATH": os.defpath}) == wanted
