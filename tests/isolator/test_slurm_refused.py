"""slurmctld is away while a node is lost: the restart that it refuses is tried again, on real Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.isolator.slurmjob import SlurmJob, node_lost
from whesl.testing.slurmbed import SlurmBed

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(200)]
Make = Callable[..., SlurmBed]


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_a_start_that_slurm_refuses_is_tried_again(slurm_bed: Make, tmp_path: Path, how: str) -> None:
    """It was "recovered in 0.04 s", and failed 12 s later since srun had not reached the controller."""
    bed = slurm_bed(nodes=4)
    made = SlurmJob(bed, tmp_path, node_lost())
    made.ready()
    bed.pause_controller() if how == "stopped" else bed.end_controller()
    bed.kill_node("n02")
    made.wait(lambda: "refused" in made.kinds(), "a refusal")
    assert "confirmed" not in made.kinds()
    assert "srun: error: Unable to confirm allocation" in made.last("refused")["reason"]
    bed.resume_controller() if how == "stopped" else bed.restart_controller()
    made.wait(lambda: "confirmed" in made.kinds(), "the program")
    number = made.last("confirmed")["attempt"] - 1
    made.wait(lambda: made.starts(number), "both ranks")
    made.finish()
    made.wait(lambda: "status" in made.text(), "the end")
    assert "status 0" in made.text()
    assert made.kinds().count("raised") == 1, "a refusal is no failure of the program's"
