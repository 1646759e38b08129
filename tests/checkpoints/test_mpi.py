"""The example with MPI on real Slurm: a node dies at the end of its lead time, and the result is the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import commands
from tests.checkpoints import asking
from tests.waiting import until, written
from whesl.checkpoints import manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.equipment.slurmbed import SlurmBed

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "c"
MPICC = shutil.which("mpicc")
NODES, RANKS, CELLS = 4, 8, 100
FOREVER = 1_000_000
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL")
SCRIPT = f"""\
cd {{place}}
export WHESL_HOME={{place}}/home WHESL_CKPT_PATIENCE=30
{{python}} -m whesl ckpt run --name job --dir {{place}}/checkpoints -- \\
  srun --overlap --mpi=pmix --ntasks={RANKS} {{options}} {{program}} {CELLS} {{steps}} {{pause}}
echo "status $?"
"""


def undisturbed(steps: int) -> float:
    """Return the sum that the program prints, computed here.

    A second run of the program cannot be compared with: without agents its ranks send right after MPI_Init,
    when Open MPI 4.1's ob1 may not know the communicator yet, and now and then one of them ends by SIGSEGV.
    """
    cells = [rank + cell / CELLS for rank in range(RANKS) for cell in range(1, CELLS + 1)]
    for _ in range(steps):
        around = [cells[0], *cells, cells[-1]]
        cells = [
            here + 0.25 * (left - 2 * here + right)
            for left, here, right in zip(around, cells, around[2:], strict=False)
        ]
    return sum(value * (1 + at % CELLS) for at, value in enumerate(cells))


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(MPICC is None, reason="no mpicc is on PATH")
def test_the_result_of_an_mpi_program_is_the_same_after_its_node_died(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    bed = slurm_bed(nodes=NODES)
    program = tmp_path / "heat"
    sources = [CLIENT / "examples" / "heat.c", CLIENT / "src" / "whesl_ckpt.c"]
    compile_it = [str(MPICC), "-std=c99", "-O2", f"-I{CLIENT / 'include'}", *map(str, sources), "-o"]
    subprocess.run([*compile_it, str(program)], check=True)
    place = tmp_path / "run"
    (place / "home").mkdir(parents=True)
    (place / "home").chmod(0o700)

    values = {"place": place, "python": sys.executable, "program": program}
    script = SCRIPT.format(**values, options="--ntasks-per-node=2", steps=FOREVER, pause=60)
    first = bed.submit(script, f"-N{NODES}", f"-n{RANKS}", "--no-requeue", "-o", str(place / "first"))

    def say(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**bed.environment, "WHESL_HOME": str(place / "home")}
        return commands.whesl("ckpt", arguments[0], "--name", "job", *arguments[1:], env=environment)

    def nodes() -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = asking.status(place / "home", "job").get("nodes", {})
        return found

    until(lambda: [node["ranks"] for node in nodes().values()] == [2] * NODES, "all ranks", 90)
    victim, *_, other = sorted(nodes())[1:]
    # The first prediction is false: nothing but a checkpoint comes of it.
    assert say("predict", other, "--lead", "3").returncode == 0
    until(lambda: [each.epoch for each in manifest.whole(place / "checkpoints")] == [1], "a checkpoint", 90)
    until(lambda: nodes()[other]["fails_in"] is None, "the end of the false prediction", 60)
    assert say("predict", victim, "--lead", "20").returncode == 0
    until(lambda: len(manifest.whole(place / "checkpoints")) == 2, "a checkpoint for the second", 90)
    found = manifest.whole(place / "checkpoints")[0]
    folder = place / "checkpoints" / "2"
    order = sorted(found.parts, key=lambda part: (folder / part.name).stat().st_mtime_ns)
    assert {part.rank for part in order[:2]} == {2, 3}  # the victim is the second node
    bed.kill_node(victim)
    # As by a site's health check: until slurmctld sees it, the other ranks wait by computing.
    bed.run("scontrol", "update", f"nodename={victim}", "state=down", "reason=killed")
    bed.wait_job(first, *ENDED, timeout=120)

    steps = found.step + 500
    script = SCRIPT.format(**values, options="--overcommit", steps=steps, pause=0)
    options = (f"-N{NODES - 1}", f"-n{RANKS}", "--overcommit", f"--exclude={victim}")
    again = bed.submit(script, *options, "-o", str(place / "again"))
    bed.wait_job(again, *ENDED, timeout=150)
    text = written(place / "again")
    assert f"restored checkpoint 2, step {found.step}\n" in text, text
    result, _, rest = text.split("sum ")[1].partition(" ")
    assert float(result) == pytest.approx(undisturbed(steps), rel=1e-8), text
    assert rest.startswith(f"after {steps} steps"), text
