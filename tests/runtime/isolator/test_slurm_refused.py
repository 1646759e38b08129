"""A restart that slurmctld refuses, or whose launcher cannot be read, is tried again, on real Slurm."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alike import alike
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import HEAD, SlurmJob, node_lost

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
Make = Callable[..., SlurmBed]


@pytest.mark.parametrize("how", alike(["stopped", "ended"]))
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
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 0" in made.text()
    assert made.kinds().count("raised") == 1, "a refusal is no failure of the program's"


GLITCH = """\
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [app] LIMIT 1 ELSE FAIL
EXCEPTION DETECTION GLITCH LOG "a glitch" stdout
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
"""
SCRIPT = """\
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  (until [ -e glitch ]; do sleep 0.05; done; echo a glitch) &
fi
srun bash ranks.sh"""


@pytest.mark.parametrize("error", alike([errno.EIO, errno.ESTALE]), ids=["EIO", "ESTALE"])
def test_a_start_whose_launcher_cannot_be_read_is_tried_again(
    nfs_bed: Callable[..., NfsBed], slurm_bed: Make, tmp_path: Path, error: int
) -> None:
    """The shim of srun lies in WHESL_HOME: the shell ended with 126, and so did the task."""
    nfs = nfs_bed("all", attributes=0.0, absences=0.0)
    task = tmp_path / "task"
    task.mkdir()
    nfs.place("all", task)  # before the nodes start, which see it then
    task.chmod(0o700)
    made = SlurmJob(slurm_bed(nodes=2), tmp_path, HEAD + GLITCH, nodes=2, ranks=SCRIPT)
    made.ready()
    nfs.change("all", error=error, error_rate=1.0, operations=("open", "read"), path="/bin/srun")
    (tmp_path / "glitch").touch()
    made.wait(lambda: made.kinds().count("refused") >= 2, "refusals")
    assert "/bin/srun: " in made.last("refused")["reason"]
    nfs.change("all", error_rate=0.0)
    made.wait(lambda: "confirmed" in made.kinds(), "the program")
    number = made.last("confirmed")["attempt"] - 1
    made.wait(lambda: made.starts(number), "both ranks")
    made.finish()
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 0" in made.text()
    assert made.kinds().count("raised") == 1
