"""The Debian package, built from a wheel of this checkout, unpacked and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import in_ci

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path("/usr/bin/python3")


def run(*command: str, **more: str) -> str:
    done = subprocess.run(
        command, env={**os.environ, **more}, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.slow
def test_the_debian_package_is_built_and_what_it_brings_runs(tmp_path: Path) -> None:
    """Without its libraries, which a wheelhouse brings: those of this environment stand for them."""
    if not (shutil.which("dpkg-deb") and PYTHON.exists()):
        (pytest.fail if in_ci() else pytest.skip)("no dpkg-deb, or no /usr/bin/python3")
    wheels, output, tree = tmp_path / "wheels", tmp_path / "output", tmp_path / "tree"
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(ROOT))
    run(
        str(ROOT / "deploy/debian/build.sh"), str(wheels), str(output), NO_DEPS="1", PIP_PYTHON=sys.executable
    )
    (package,) = output.glob("whesl_*.deb")
    fields = run("dpkg-deb", "--field", str(package))
    assert "Package: whesl" in fields
    run("dpkg-deb", "--extract", str(package), str(tree))
    for path in (
        "usr/lib/systemd/system/whesl-placement.service",
        "usr/share/doc/whesl/copyright",
        "usr/share/man/man1/whesl.1",
        "opt/whesl/share/whesl/plugins/slurm/job_submit.lua",
    ):
        assert (tree / path).is_file(), path
    assert (tree / "usr/bin/whesl").readlink() == Path("/opt/whesl/bin/whesl")
    for script in (tree / "opt/whesl/bin").iterdir():
        if script.is_file() and not script.is_symlink():
            assert str(tmp_path).encode() not in script.read_bytes(), script
    control = tmp_path / "control"
    run("dpkg-deb", "--control", str(package), str(control))
    run("sh", "-n", str(control / "postinst"))
    (packages,) = (tree / "opt/whesl/lib").glob("python3.*/site-packages")
    libraries = os.pathsep.join([str(packages), sysconfig.get_path("purelib")])
    code = "import whesl, sys; from whesl.placement.site import plugin_paths"
    code += "; print(whesl.__file__, whesl.__version__)"
    said = run(
        sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {libraries.split(os.pathsep)!r}; {code}"
    )
    place, version = said.split()
    assert Path(place).is_relative_to(packages)
    assert f"Version: {version}" in fields
