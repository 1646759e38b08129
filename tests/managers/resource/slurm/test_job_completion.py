"""A job that is ended with a status, by the library that scontrol loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.managers.desk import slurm_commands


@pytest.mark.slurm
def test_a_scontrol_that_is_a_script_leads_to_its_library(slurm: SlurmBed, tmp_path: Path) -> None:
    """Such a script was read in vain by ldd, and the job was cancelled."""
    slurm_commands(tmp_path / "bin", slurm, "scontrol")
    job = slurm.submit("#!/bin/sh\nsleep 600\n")
    slurm.wait_job(job, "RUNNING")
    path = f"{tmp_path / 'bin'}:{slurm.environment['PATH']}"
    subprocess.run(
        (sys.executable, "-m", "whesl.managers.resource.slurm.job_completion", job, "3"),
        env={**slurm.environment, "PATH": path},
        check=True,
    )
    slurm.wait_job(job, "FAILED", "CANCELLED")
    assert "ExitCode=3:0" in slurm.run("scontrol", "show", "job", job).stdout
