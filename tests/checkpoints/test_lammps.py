"""LAMMPS, which knows nothing of WHESL: asked by a file for its restart file, it goes on on another node."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.processes import words
from tests.runtime.isolator.slurmjob import SlurmJob
from whesl.testing.processes import running

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "lammps"
LAMMPS = shutil.which("lmp")


@pytest.mark.slurm
@pytest.mark.timeout(300)
@pytest.mark.skipif(LAMMPS is None, reason="lmp is not on PATH (Debian: lammps)")
def test_it_goes_on_from_its_restart_file(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    rules = (EXAMPLE / "rules.esl").read_text().replace("[melt]", "[app]")
    shutil.copy(EXAMPLE / "in.melt", tmp_path)
    job = SlurmJob(
        slurm_bed(nodes=2),
        tmp_path,
        rules,
        nodes=2,
        used=1,
        coordinator=True,
        ranks="export OMPI_MCA_btl=self OMPI_MCA_pml=ob1\nsrun --mpi=pmix -n1 lmp -in in.melt -log none",
    )
    job.wait(
        lambda: re.search(r"^ +[1-9]000 ", job.text(), re.MULTILINE) or "status" in job.text(), "steps", 90
    )
    assert "status" not in job.text(), job.text()
    (node,) = job.last("attempt")["nodes"]
    # It would have ended before it is asked, where this machine is busy.
    programs = [each for each in running() if [Path(word).name for word in words(each)[:1]] == ["lmp"]]
    (program,) = [each for each in programs if each.cwd() == str(tmp_path)]
    program.suspend()
    assert job.whesl("ckpt", "predict", node, "--lead", "300").returncode == 0
    job.wait(lambda: (tmp_path / "checkpoint.now").exists(), "the request", 60)
    program.resume()
    job.wait(lambda: "status 0" in job.text(), "the end", 150)
    job.close()
    text = job.text()
    (restored,) = re.findall(r"^\s+restart file = .*|^Reading restart file.*", text, re.MULTILINE)[:1]
    assert restored and text.count("ends at step 30000") == 1, text
    assert job.last("checkpoint-ended")["checkpoint"] == "melt.restart"
    assert job.last("attempt")["nodes"] != [node] and job.kinds().count("launched") == 2
    assert not (tmp_path / "checkpoint.now").exists()
