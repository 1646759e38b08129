"""Elements of a job array whose node dies before anything of them has started, on real Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.managers.workflow.test_run import Place, place

__all__ = ["place"]

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.timeout(300)]
SCRIPT = """\
#!/bin/bash
#SBATCH -N 1 --exclusive --array=1-2
#SBATCH --output=out.%a
echo element $SLURM_ARRAY_TASK_ID on $SLURMD_NODENAME
"""
# The node n01 dies while it prepares for the job.
PROLOG = '#!/bin/sh\n[ "$(hostname)" = n01 ] || exit 0\necho $SLURM_JOB_ID > {place}/prepares\nsleep 1000\n'


def test_an_element_that_was_lost_before_it_began_is_run_again(
    place: Place, slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Of an array's elements nothing was looked after: Slurm held this one for two minutes."""
    prolog = tmp_path / "prolog"
    prolog.write_text(PROLOG.format(place=tmp_path))
    prolog.chmod(0o755)
    bed = slurm_bed(nodes=2, settings={"Prolog": str(prolog), "PrologFlags": "Alloc"})
    place.environment |= {
        name: value for name, value in bed.environment.items() if name.startswith("SLURM") or name == "PATH"
    }
    place.write("array.sh", SCRIPT)
    process = place.begin("array.sh", "--rjms", "slurm")
    place.wait((tmp_path / "prepares").exists, "n01 prepares")
    bed.kill_node("n01")
    assert bed.run("scontrol", "update", "NodeName=n01", "State=DOWN", "Reason=x").returncode == 0
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, output + errors
    assert {task["state"] for task in place.report()["tasks"]} == {"completed"}
    for element in (1, 2):
        text = (place.directory / f"out.{element}").read_text()
        assert f"element {element} on n02" in text
