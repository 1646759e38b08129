"""A task on real Slurm: a node is predicted to fail, the program writes, and goes on without that node."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoints import asking
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import HEAD, SlurmJob
from whesl.checkpoints import manifest

RULES = f"""\
{HEAD}DECLARE EXCEPTION DYING JOB_LEVEL JOB [app] LIMIT 3 ELSE FAIL
EXCEPTION DETECTION DYING PREDICTED WITHIN 600
EXCEPTION RECOVERY STEP DYING JOB NODE.REPLACE BEFORE FAILURE
DECLARE EXCEPTION LOST JOB_LEVEL JOB [app] LIMIT 3 ELSE FAIL
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
RANKS = Path(__file__).with_name("ranks.py")
ACTIVE, EACH = 3, 2
FOREVER = 1_000_000


def equal(text: str, rank: int) -> bool:
    """Whether a rank has the result of an undisturbed run, at the step at which it was told to end."""
    (end,) = re.findall(rf"^rank {rank} ends early (\d+) (\d+)$", text, re.MULTILINE)
    step, result = map(int, end)
    return result == step * (step + 1) // 2 * (rank + 1)


@pytest.mark.slurm
@pytest.mark.timeout(300)
def test_the_node_is_replaced_before_it_fails(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    ranks = ACTIVE * EACH
    job = SlurmJob(
        slurm_bed(nodes=ACTIVE + 1),
        tmp_path,
        RULES,
        nodes=ACTIVE + 1,
        used=ACTIVE,
        coordinator=True,
        options=("--checkpoints", str(tmp_path / "checkpoints")),
        ranks=f"srun --overlap --overcommit --ntasks-per-node={EACH} -n{ranks} "
        f"{sys.executable} {RANKS} 0 {ranks} {FOREVER} slow",
    )
    name = f"{job.job}+wf_app"

    def nodes() -> list[str]:
        found = asking.status(job.home, name).get("nodes", {})
        return sorted(node for node, facts in found.items() if facts["ranks"] == EACH)

    job.wait(lambda: len(nodes()) == ACTIVE or "status" in job.text(), "all ranks", 90)
    victim = nodes()[1]
    assert f"{victim}: normal, {EACH} ranks" in job.whesl("ckpt", "status").stdout
    told = job.whesl("ckpt", "predict", victim, "--lead", "60", "--evidence", "EDAC")
    assert "wf/app is told" in told.stdout, told.stderr
    job.wait(lambda: "checkpoint-ended" in job.kinds(), "a checkpoint", 60)
    job.wait(lambda: job.kinds().count("launched") == 2, "the second attempt", 60)
    (whole,) = [found.epoch for found in manifest.whole(tmp_path / "checkpoints")]
    job.wait(lambda: job.text().count(f"of checkpoint {whole}") == ranks, "the checkpoint's states", 60)
    job.bed.kill_node(victim)
    (tmp_path / "end").touch()
    job.wait(lambda: "status 0" in job.text(), "the end", 120)
    text = job.text()
    assert f"{victim} writes its checkpoint first, and moves to a spare by it" in text
    assert all(equal(text, rank) for rank in range(ranks)), text
    assert [data["raised"]["exception"] for kind, data in job.records() if kind == "raised"] == ["DYING"]
    assert job.last("attempt")["nodes"].count(victim) == 0
    report = job.whesl("report", "wf").stdout
    job.close()
    assert f"{victim} replaced by" in report and "EDAC" in report, report
