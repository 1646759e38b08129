"""The user's own rank file names a node that dies: its place is the spare's, on real Slurm with Open MPI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import SlurmJob, node_lost

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
MPIRUN = """\
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=slurm
export OMPI_MCA_hwloc_base_binding_policy=none
mpirun -n 2 --rankfile ranks --oversubscribe bash ranks.sh"""


def test_a_rank_file_follows_the_nodes(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    need_slurm("mpi")
    bed = slurm_bed(nodes=4)
    (tmp_path / "ranks").write_text("rank 0=n01 slot=0\nrank 1=n02 slot=0\n")
    made = SlurmJob(bed, tmp_path, node_lost(), ranks=MPIRUN)
    made.ready()
    bed.kill_node("n02")
    made.wait(lambda: made.starts(1), "the ranks of the restart", timeout=60)
    assert "start 1 on n01" in made.text() and "start 1 on n03" in made.text()
    made.finish()
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 0" in made.text()
