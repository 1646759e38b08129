"""A shim that cannot be read is no launcher that has done its work."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alike import alike
from tests.equipment.nfsbed import NfsBed
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.launcher_shims import shim_program


@pytest.mark.parametrize("error", alike([errno.EIO, errno.ESTALE]), ids=["EIO", "ESTALE"])
def test_a_shim_that_cannot_be_read_has_not_succeeded(
    nfs_bed: Callable[..., NfsBed], tmp_path: Path, error: int
) -> None:
    """A shell takes an error for the end of its script: a task was completed that never ran."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    place = bed.at("login") / "bin"
    real = tmp_path / "real"
    real.mkdir()
    (real / "srun").write_text("#!/bin/sh\nexit 7\n")
    (real / "srun").chmod(0o700)
    launcher_shims.install(place)
    path = f"{place}:{real}:/usr/bin:/bin"
    environment = {"PATH": path, "WHESL_NODELIST": "n1", "SLURM_JOB_ID": "1", "SLURM_NNODES": "1"}
    environment |= {"WHESL_SWAPPED": "{}", "BASH_ENV": str(tmp_path / "site")}
    (tmp_path / "site").write_text("exit 0\n")

    def run() -> int:
        try:
            return subprocess.run([place / "srun", "true"], env=environment, check=False).returncode
        except OSError as failed:
            return failed.errno or 0

    assert run() == 7
    bed.change("login", error=error, error_rate=0.15, operations=("getattr", "open", "read"))
    found = {run() for _ in range(100)}
    assert 0 not in found and found > {7}


SLURM = {"WHESL_NODELIST": "n1", "SLURM_JOB_ID": "1", "SLURM_NNODES": "2", "WHESL_SWAPPED": "{}"}
FLUX = {"WHESL_NODELIST": "n1", "WHESL_HIDDEN_NODES": "n2", "WHESL_FLUX_RANKS": "n1=0,n2=1"} | dict.fromkeys(
    ("WHESL_FLUX_URI", "FLUX_URI"), "local:///run/x/local-0"
)


@pytest.mark.costly
@pytest.mark.parametrize("error", alike([errno.EIO, errno.ESTALE]), ids=["EIO", "ESTALE"])
@pytest.mark.parametrize("shell", alike(["sh", "bash"]))
@pytest.mark.parametrize(
    ("command", "sees", "given"),
    [
        ("srun", "--nodelist=n1", SLURM),
        pytest.param("flux run", "--requires=rank:0", FLUX, marks=pytest.mark.variant),
    ],
    ids=["srun", "flux"],
)
def test_a_search_that_fails_on_the_shims_directory_finds_no_real_launcher(
    nfs_bed: Callable[..., NfsBed],
    tmp_path: Path,
    error: int,
    shell: str,
    command: str,
    sees: str,
    given: dict[str, str],
) -> None:
    """The shell went on to the launcher behind it, which ran on all nodes, a lost one among them."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    place = bed.at("login") / "bin"
    real = tmp_path / "real"
    real.mkdir()
    name = command.partition(" ")[0]
    (real / name).write_text('#!/bin/sh\necho "$@"\n')
    (real / name).chmod(0o700)
    launcher_shims.install(place, path=str(real))
    environment = given | launcher_shims.in_front(str(place), {**given, "PATH": f"{real}:/usr/bin:/bin"})

    def run() -> str:
        words = [shell, "-c", f"{command} true; exit 0"]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False).stdout

    wanted = run()
    assert sees in wanted
    bed.change("login", error=error, error_rate=1.0)
    assert run() == wanted
    bed.change("login", error=error, error_rate=0.15, operations=("getattr", "open", "read", "lookup"))
    assert {run() for _ in range(60)} <= {wanted, ""}


@pytest.mark.parametrize("caller", ["", "trap '' PIPE", "trap '' XFSZ TERM"])
def test_a_launcher_inherits_its_caller_s_signals_and_no_locale(tmp_path: Path, caller: str) -> None:
    """Ranks of mpirun ignored SIGPIPE and SIGXFSZ, as Python does, and had LC_CTYPE=C.UTF-8."""
    (tmp_path / "mpirun").write_text("#!/bin/sh\ngrep SigIgn /proc/self/status; env | grep LC_; exit 7\n")
    (tmp_path / "mpirun").chmod(0o700)
    shim = f"{sys.executable} -I -S {shim_program.__file__} mpirun"
    plain, wrapped = (
        subprocess.run(
            ["bash", "-c", f"{caller}\n{command}; exit $?"],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", "WHESL_NODELIST": "n1"},
            capture_output=True,
            text=True,
            check=False,
        )
        for command in ("mpirun", shim)
    )
    assert (wrapped.returncode, wrapped.stdout) == (7, plain.stdout)
