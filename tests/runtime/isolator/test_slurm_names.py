"""The first node of a task is replaced on real Slurm: its script finds rank 0 where it looks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import HEAD, SlurmJob

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

RULES = f"""\
{HEAD}DECLARE EXCEPTION SICK JOB_LEVEL JOB [app]
EXCEPTION DETECTION SICK MATCH "^sick" stdout
EXCEPTION RECOVERY STEP SICK JOB NODE.REPLACE {{"node": "n01"}}
"""
# As recipes for torchrun, Ray and others have it: the first name of the list is where the others connect to.
RANKS = """\
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun sh -c 'echo "attempt $WHESL_RESTART_COUNT: rank $SLURM_PROCID on $(hostname), its head is $0"' "$head"
[ "$WHESL_RESTART_COUNT" != 0 ] || { echo sick; sleep 600; }
"""


def test_the_first_name_is_where_rank_0_runs(slurm: SlurmBed, tmp_path: Path) -> None:
    """n03 stood first in SLURM_JOB_NODELIST, and srun put rank 0 on n02: all ranks waited for n03."""
    task = SlurmJob(
        slurm,
        tmp_path,
        RULES,
        ranks=RANKS,
        sbatch=("--nodelist=n01,n02,n03", "--export=ALL,MASTER_ADDR=n01"),
    )
    task.wait(lambda: "status" in task.text(), "the end")
    assert "status 0" in task.text(), task.text()
    said = sorted(line for line in task.text().splitlines() if line.startswith("attempt 1"))
    assert said == [
        f"attempt 1: rank {rank} on {node}, its head is n02" for rank, node in enumerate(("n02", "n03"))
    ]
    # What was exported before names the old one still: that is told, and not changed.
    assert task.last("launched")["outdated"] == ["MASTER_ADDR=n01"]
    assert "the task is still told its name: MASTER_ADDR=n01" in task.directory.log.read_text()
