"""Jobs on real Slurm, seen from inside."""

from __future__ import annotations

from pathlib import Path

from tests.equipment.slurmbed import SlurmBed


def job_environment(bed: SlurmBed, directory: Path, *options: str) -> dict[str, str]:
    """Start a job that sleeps, and return the environment that Slurm gave its script."""
    target = directory / "environment"
    script = f"env -0 > {target}.new && mv {target}.new {target}; while :; do sleep 0.2; done"
    job_id = bed.submit(script, "--no-kill", "--no-requeue", *options)
    bed.wait_for(target.exists, f"job {job_id} runs")
    environment = dict(entry.split("=", 1) for entry in target.read_text().split("\0") if entry)
    target.unlink()
    assert environment["SLURM_JOB_ID"] == job_id
    return environment
