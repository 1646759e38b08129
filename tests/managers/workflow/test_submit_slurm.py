"""The sbatch in front of a real Slurm's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.managers.workflow.wrapped import wrapped
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import bad_nodes_file
from whesl.managers.workflow.submission.install import install
from whesl.model.workflow import BadNode

pytestmark = pytest.mark.slurm


class Front:
    """A manager's place: its PATH, its workspace, and a whesl that notes what it sees and sleeps."""

    def __init__(self, bed: SlurmBed, directory: Path) -> None:
        self.directory = directory
        self.commands = install(directory / "front")
        home = directory / "home"
        home.mkdir(mode=0o700)
        self.environment = {
            **bed.environment,
            "PATH": f"{self.commands}:{bed.environment['PATH']}",
            "WHESL_HOME": str(home),
            "WHESL_PYTHON": sys.executable,
            "WHESL_RJMS": "slurm",
        }
        program = directory / "whesl"
        program.write_text(
            f'#!/bin/sh\nenv > "{directory}/seen.new"\nmv "{directory}/seen.new" "{directory}/seen"\n'
        )
        program.chmod(0o755)
        call = script_wrapping.TaskCall(
            program=(str(program),), workflow="w", step="a step", spec="/r", nodes="2", spares=1, tasks="4"
        )
        header = '#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks=4\n#SBATCH --comment "its own words"\n'
        self.script = directory / "a_step.slurm.sh"
        self.script.write_text(wrapped(call, f"{header}true\n"))
        self.jobs: set[str] = set()

    def submit(self, *options: str) -> str:
        """Submit as Maestro does and return the job's id."""
        done = subprocess.run(
            ["sbatch", *options, "-D", str(self.directory), str(self.script)],
            env=self.environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = re.search("[0-9]+", done.stdout)
        assert found, done.stdout
        self.jobs.add(found.group())
        return found.group()

    def record(self, job: str) -> dict[str, str]:
        text = self.call("scontrol", "-o", "show", "job", job)
        return dict(re.findall(r"(\w[\w/:]*)=((?:[^\s=]|\s(?![\w/:]+=))*)", text))

    def call(self, *words: str) -> str:
        return subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=60, check=True
        ).stdout


@pytest.fixture
def front(slurm: SlurmBed, tmp_path: Path) -> Iterator[Front]:
    found = Front(slurm, tmp_path)
    yield found
    for job in found.jobs:
        found.call("scancel", job)


def test_what_the_job_is(front: Front, slurm: SlurmBed) -> None:
    job = front.submit()
    record = front.record(job)
    assert record["NumNodes"].split("-")[0] == "3"
    assert record["NumTasks"] == "6"
    assert record["Requeue"] == "1", "Slurm may run it again until its isolator was heard"
    assert record["Comment"].strip() == "its own words"
    seen = front.directory / "seen"
    slurm.wait_for(seen.exists, "the job runs")
    variables = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert variables["WHESL_REQUEUE_SAID"] == "nothing w/a step"
    assert variables["SLURM_NNODES"] == "3", "Slurm really granted the spare"
    assert variables["SLURM_NTASKS"] == variables["SLURM_NPROCS"] == "4", "the script's own number"


def test_one_job_for_one_submission(front: Front, slurm: SlurmBed) -> None:
    first = front.submit("--hold")
    assert front.submit("--hold") == first
    front.call("scancel", first)
    second = front.submit()
    assert second != first
    assert front.record(second)["Comment"].strip() == "its own words"
    slurm.wait_for(lambda: front.record(second)["JobState"] == "COMPLETED", "the job ends")
    assert front.submit() == second, "it has succeeded: the manager only missed that"


def test_a_lost_reply(front: Front, tmp_path: Path) -> None:
    """Slurm takes the job and its answer never arrives."""
    real = shutil.which("sbatch", path=front.environment["PATH"].split(os.pathsep, 1)[1])
    liar = tmp_path / "liar"
    liar.mkdir()
    (liar / "sbatch").write_text(
        f'#!/bin/sh\n"{real}" "$@" > /dev/null 2>&1\n'
        'echo "sbatch: error: Socket timed out on send/recv operation" >&2\nexit 1\n'
    )
    (liar / "sbatch").chmod(0o755)
    places = front.environment["PATH"].split(os.pathsep, 1)
    front.environment["PATH"] = os.pathsep.join((places[0], str(liar), places[1]))
    job = front.submit("--hold")
    text = front.call("squeue", "-h", "-t", "all", "-o", "%i|%k")
    assert text.splitlines().count(f"{job}|its own words") == 1
    assert front.submit("--hold") == job


def test_a_cluster_without_room_for_the_spare(front: Front) -> None:
    """All four nodes and a spare cannot be had: the job gets its four."""
    text = front.script.read_text().replace("--nodes=2", "--nodes=4")
    front.script.write_text(text)
    job = front.submit()
    assert front.record(job)["NumNodes"].split("-")[0] == "4"
    assert front.record(job)["NumTasks"] == "4"


def test_a_refusal_is_passed_on(front: Front) -> None:
    done = subprocess.run(
        ["sbatch", "-p", "nowhere", str(front.script)],
        env=front.environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "invalid partition" in done.stderr
    assert "Traceback" not in done.stderr


def remember(front: Front, *nodes: str, expires: float = 1e12) -> None:
    """Write down bad nodes as the coordinator does."""
    home = Path(front.environment["WHESL_HOME"])
    (home / "coordinator").mkdir(exist_ok=True)
    bad_nodes_file.publish(
        home, [BadNode(node=n, reason="x", task="t", time=1.0, expires=expires) for n in nodes]
    )


def test_bad_nodes_are_avoided(front: Front) -> None:
    remember(front, "n02")
    record = front.record(front.submit("--hold"))
    assert record["ExcNodeList"] == "n02"
    assert record["NumNodes"].split("-")[0] == "3", "and the spare is asked for as before"


def test_bad_nodes_never_keep_a_job_from_running(front: Front) -> None:
    """Names that this cluster does not know, and too many: the job is submitted all the same."""
    remember(front, "None assigned", "elsewhere7")
    job = front.submit("--hold")
    assert front.record(job)["ExcNodeList"] in ("", "(null)")
    front.call("scancel", job)
    remember(front, "n01", "n02", "n03", "n04")
    job = front.submit("--hold")
    assert front.record(job)["ExcNodeList"] in ("", "(null)")


def test_an_expired_entry_is_forgotten(front: Front) -> None:
    remember(front, "n02", expires=2.0)
    assert front.record(front.submit("--hold"))["ExcNodeList"] in ("", "(null)")
