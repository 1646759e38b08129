"""Which adapter a process gets, and what choosing it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whesl.managers import resource
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.single_host import HostAllocation
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.model.errors import UsageError

SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}


class TheirAllocation(HostAllocation):
    """A third party's."""

    name = "theirs"

    @staticmethod
    def present(environ: dict[str, str]) -> bool:
        return "THEIR_JOB" in environ


class TheirScheduler:
    """A third party's."""

    def __init__(self, queue: str) -> None:
        self.queue = queue


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Install a package that offers both, as pip leaves it behind."""
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    lines = [f"theirs-{face.lower()} = {__name__}:Their{face}\n" for face in ("Allocation", "Scheduler")]
    (information / "entry_points.txt").write_text(f"[{resource.GROUP}]\n{''.join(lines)}")
    monkeypatch.syspath_prepend(tmp_path)


def test_inside_nothing_this_machine_is_the_node() -> None:
    assert isinstance(resource.current_allocation({}), HostAllocation)
    # A cluster is near, but this is not in a job.
    assert isinstance(resource.current_allocation({"WHESL_LOCAL": "/x"}), HostAllocation)


def test_inside_a_job_of_slurm() -> None:
    assert isinstance(resource.current_allocation(SLURM), SlurmAllocation)


def test_a_damaged_job_id() -> None:
    with pytest.raises(UsageError, match="SLURM_JOB_ID"):
        resource.current_allocation({**SLURM, "SLURM_JOB_ID": "seven"})


def test_schedulers_by_name() -> None:
    assert isinstance(resource.scheduler("slurm", timeout=1), SlurmScheduler)
    with pytest.raises(UsageError, match="slrum") as caught:
        resource.scheduler("slrum")
    assert "did you mean 'slurm'" in caught.value.hint


@pytest.mark.usefixtures("third_party")
def test_third_parties() -> None:
    assert resource.current_allocation({**SLURM, "THEIR_JOB": "1"}).name == "theirs"
    assert resource.current_allocation(SLURM).name == "slurm"
    made = resource.scheduler("theirs", queue="long")
    assert isinstance(made, TheirScheduler)
    assert made.queue == "long"
    with pytest.raises(UsageError) as caught:
        resource.scheduler("zzz")
    assert "theirs" in caught.value.hint


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a fresh interpreter loads for a command."""
    command = [sys.executable, "-I", "-S", "-X", "importtime", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "/nowhere"})
    lines = [
        line.rsplit("|", 1)[1].strip()
        for line in result.stderr.splitlines()
        if line.startswith("import time:")
    ]
    assert "encodings" in lines
    return set(lines)


def test_a_launcher_starts_lean() -> None:
    """Each of these would add milliseconds to every srun of a task."""
    launcher = str(Path(launcher_shims.__file__).with_name("shim_program.py"))
    modules = loaded_by(launcher, "srun", "-N2", "hostname")
    assert "whesl.managers.resource.launcher_shims.launcher_node_swap" in modules
    assert not modules & {"re", "typing", "json", "pathlib", "collections", "subprocess", "msgspec", "site"}


@pytest.mark.parametrize(
    ("commands", "variables", "chosen"),
    [
        (("sbatch",), {}, "slurm"),
        (("sbatch", "flux"), {}, "slurm"),
        (("sbatch", "flux"), {"FLUX_URI": "local:///run/flux/local"}, "flux"),
        (("sbatch",), {"FLUX_URI": "local:///run/flux/local"}, "slurm"),
        (("flux",), {}, "flux"),
        (("flux",), {"WHESL_LOCAL": "/c", "FLUX_URI": "local:///x"}, "local"),
        (("sbatch", "qsub"), {"PBS_JOBID": "7", "PBS_NODEFILE": "/n"}, "pbs"),
        (("sbatch", "qsub"), {"SLURM_JOB_ID": "7"}, "slurm"),
        (("sbatch",), {"PBS_JOBID": "7", "PBS_NODEFILE": "/n"}, "slurm"),
    ],
)
def test_the_default_where_none_is_named(
    commands: tuple[str, ...],
    variables: dict[str, str],
    chosen: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in commands:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("WHESL_LOCAL", "FLUX_URI", "PBS_JOBID", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert resource.default_manager(os.environ) == chosen


def test_no_manager_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WHESL_LOCAL", raising=False)
    with pytest.raises(UsageError, match="neither sbatch nor qsub nor flux"):
        resource.default_manager(os.environ)
