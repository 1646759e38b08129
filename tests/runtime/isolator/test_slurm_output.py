"""Slurm truncates a job's output file when it runs the job again: what the first run wrote is kept."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import SlurmJob, node_lost

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
Make = Callable[..., SlurmBed]


def test_the_output_of_a_plainly_submitted_job_is_kept(slurm_bed: Make, tmp_path: Path) -> None:
    """It was gone: only what ``whesl run`` submits is appended to."""
    bed = slurm_bed(nodes=4, slurmd_timeout=5)
    made = SlurmJob(
        bed,
        tmp_path,
        node_lost("ELSE ESCALATE"),
        nodes=2,
        coordinator=True,
        sbatch=("--requeue", f"--error={tmp_path}/err %j"),
        ranks='echo "error $WHESL_RESTART_COUNT" >&2; srun bash ranks.sh',
    )
    made.ready()
    (tmp_path / "out.0").write_text("an older job's")
    bed.kill_node("n02")
    made.wait(lambda: made.starts(1), "the ranks of the next run", timeout=120)
    first = (tmp_path / "out.1").read_text()
    assert first.count("start 0 on") == 2, "the output of the first run is gone"
    assert not made.starts(0)
    assert (tmp_path / "out.0").read_text() == "an older job's"
    errors = tmp_path / f"err {made.job}"
    assert "error 0" in Path(f"{errors}.0").read_text()
    assert "error 0" not in errors.read_text()
    made.finish()
    bed.wait_job(made.job, "COMPLETED", timeout=100)
    assert "status 0" in made.text()
    made.close()


def test_once_a_summary_says_that_slurm_truncates_what_it_runs_again(slurm_bed: Make, tmp_path: Path) -> None:
    """Nobody told before a preempted job's first output was gone. A task of a moment asks Slurm nothing."""
    bed = slurm_bed(nodes=1)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)

    def summary(name: str, option: str, header: str = "") -> str:
        command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", "--task-dir", tmp_path / name]
        run = f"export WHESL_HOME={home}\n{shlex.join(map(str, command))} sleep 2\n"
        job = bed.submit(f"#!/bin/bash\n{header}\n{run}", f"--output={tmp_path}/out", option)
        bed.wait_job(job, "COMPLETED")
        return (tmp_path / name / "summary").read_text()

    assert "--open-mode" not in summary("appended", "--requeue", "#SBATCH --open-mode=append")
    assert "--open-mode" not in summary("never again", "--no-requeue")
    told = f"{tmp_path}/out begins anew, unless it was submitted with --open-mode=append"
    assert told in summary("plain", "--requeue")
    assert "--open-mode" not in summary("told", "--requeue")
