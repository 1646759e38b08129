"""One file of all ranks is a checkpoint like any other: by MPI-IO on a real Slurm, and by HDF5."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import commands
from tests.checkpoints import asking
from tests.checkpoints.test_mpi import CLIENT, ENDED, FOREVER, MPICC
from tests.waiting import until, written
from whesl.checkpoints import manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.equipment.slurmbed import SlurmBed

RANKS = 4
H5PCC, MPIRUN = shutil.which("h5pcc"), shutil.which("mpirun")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(MPICC is None, reason="no mpicc is on PATH")
def test_a_file_that_all_ranks_write_together(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """All had written it before it was refused; where one node writes first, it waits for the others."""
    bed = slurm_bed(nodes=2)
    program, place = tmp_path / "shared", tmp_path / "run"
    sources = [CLIENT / "examples" / "shared.c", CLIENT / "src" / "whesl_ckpt.c"]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{CLIENT / 'include'}"]
    subprocess.run([str(MPICC), *flags, *map(str, sources), "-o", str(program)], check=True)
    (place / "home").mkdir(parents=True)
    (place / "home").chmod(0o700)

    def script(steps: int, pause: int) -> str:
        whesl = f"{sys.executable} -m whesl ckpt run --name job --dir {place}/kept --"
        run = f"srun --overlap --mpi=pmix -n{RANKS} --ntasks-per-node=2 {program} {steps} {pause}"
        return f"cd {place}\nWHESL_HOME={place}/home PYTHONPATH={ROOT} {whesl} {run}\necho status $?\n"

    first = bed.submit(script(FOREVER, 20), "-N2", f"-n{RANKS}", "-o", str(place / "first"))

    def nodes() -> dict[str, Any]:
        found: dict[str, Any] = asking.status(place / "home", "job").get("nodes", {})
        return found

    until(lambda: [node["ranks"] for node in nodes().values()] == [2, 2], "all ranks", 90)
    environment = {**os.environ, "WHESL_HOME": str(place / "home"), "PYTHONPATH": str(ROOT)}
    commands.whesl("ckpt", "predict", "n02", "--name", "job", "--lead", "60", env=environment, check=True)
    until(lambda: [each.epoch for each in manifest.whole(place / "kept")] == [1], "a checkpoint", 60)
    (found,) = manifest.whole(place / "kept")
    assert {part.name for part in found.parts} == {"all-ranks.part"} and found.bytes == RANKS * 16
    assert [part.offset for part in found.parts] == [0, 16, 32, 48]
    bed.run("scancel", first)
    bed.wait_job(first, *ENDED, timeout=120)

    steps = found.step + 50
    again = bed.submit(script(steps, 1), "-N2", f"-n{RANKS}", "-o", str(place / "again"))
    bed.wait_job(again, *ENDED, timeout=120)
    text = written(place / "again")
    for rank in range(RANKS):
        assert f"rank {rank} restored step {found.step}\n" in text, text
        assert f"rank {rank} ends at {steps} {steps * (steps + 1) // 2 * (rank + 1)}\n" in text, text
    assert "status 0" in text and "forcing job termination" not in text, text


@pytest.mark.costly
@pytest.mark.timeout(200)
@pytest.mark.skipif(
    H5PCC is None or MPIRUN is None, reason="no h5pcc (HDF5 with MPI) or no mpirun is on PATH"
)
def test_a_file_of_hdf5_that_all_ranks_write_together(tmp_path: Path) -> None:
    """HDF5 creates, locks, fills and closes the file in its own way; the run is killed and begun again."""
    program, home = tmp_path / "shared_hdf5", tmp_path / "home"
    sources = [CLIENT / "examples" / "shared_hdf5.c", CLIENT / "src" / "whesl_ckpt.c"]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{CLIENT / 'include'}"]
    subprocess.run([str(H5PCC), *flags, *map(str, sources), "-o", str(program)], check=True, cwd=tmp_path)
    home.mkdir(mode=0o700)
    environment = {**os.environ, "WHESL_HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment |= {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment.pop("SLURM_JOB_ID", None)
    whesl = [sys.executable, "-m", "whesl", "ckpt"]

    def start(steps: int, pause: int) -> subprocess.Popen[str]:
        run = [str(MPIRUN), "--oversubscribe", "-n", str(RANKS), str(program), str(steps), str(pause)]
        return subprocess.Popen(
            [*whesl, "run", "--name", "job", "--dir", str(tmp_path / "kept"), "--", *run],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ranks() -> list[int]:
        return [node["ranks"] for node in asking.status(home, "job").get("nodes", {}).values()]

    running = start(FOREVER, 20)
    until(lambda: ranks() == [RANKS], "all ranks", 60)
    ask = [*whesl, "request", "--name", "job"]
    subprocess.run(ask, env=environment, check=True, capture_output=True)
    until(lambda: [each.epoch for each in manifest.whole(tmp_path / "kept")] == [1], "a checkpoint", 60)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    (found,) = manifest.whole(tmp_path / "kept")
    assert {part.name for part in found.parts} == {"all-ranks.part"} and len(found.parts) == RANKS

    steps = found.step + 50
    again = start(steps, 1)
    text, _ = again.communicate(timeout=120)
    for rank in range(RANKS):
        assert f"rank {rank} restored step {found.step}\n" in text, text
        assert f"rank {rank} ends at {steps} {steps * (steps + 1) // 2 * (rank + 1)}\n" in text, text
    assert again.returncode == 0, text
