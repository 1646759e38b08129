"""Fixtures of the scenarios: each runs on the embedded cluster, on a real Slurm and on a real Flux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need_flux, need_slurm
from tests.scenarios.bed import Bed, flux_bed, local_bed, slurm_bed

HERE = Path(__file__).parent
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--")


# Scenarios whose recovery is the same on each resource manager, but for what its adapter's own tests hold.
ALIKE = ("test_daemons", "test_patterns", "test_raise", "test_licences", "test_predictions")
ALIKE_TOO = ("test_1_", "test_2_", "test_3_", "test_4_", "test_9_")  # of other modules


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave those on the embedded cluster to ``make test-all`` where a real Slurm can be started."""
    for item in items if os.geteuid() == 0 else ():
        alike = item.path.stem in ALIKE or item.name.startswith(ALIKE_TOO)
        callspec = getattr(item, "callspec", None)
        if item.path.parent == HERE and alike and callspec and callspec.params.get("bed") == "local":
            item.add_marker(pytest.mark.variant)


@pytest.fixture
def require_mpi() -> None:
    """Need a real Slurm, and LAMMPS under OpenMPI."""
    need_slurm("lammps")


def held_in_a_namespace(item: pytest.Item) -> bool:
    """Whether the scenario mounts file systems and has to have a namespace of its own to be allowed to."""
    mounts = item.get_closest_marker("filesystems") is not None
    return mounts and os.geteuid() != 0 and item.get_closest_marker("slurm") is None


def no_namespace() -> str:
    """Return why this user cannot have a namespace with mounts, or an empty string."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a scenario that mounts, when not root, by a session of pytest in a user namespace.

    There the user is root as far as mounts go, for all processes that the scenario starts.
    """
    if not held_in_a_namespace(pyfuncitem):
        return None
    mark = pyfuncitem.get_closest_marker("timeout")
    name = f"{pyfuncitem.path}::{pyfuncitem.nodeid.partition('::')[2]}"
    command = [*NAMESPACE, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    # pytest's own place is named after the user, who is called root inside; a short path, for sockets.
    with tempfile.TemporaryDirectory(prefix="whesl-") as place:
        done = subprocess.run(
            [*command, f"--basetemp={place}/t"],
            cwd=pyfuncitem.config.rootpath,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=(mark.args[0] if mark else 120) - 5,
            check=False,
        )
    if done.returncode != 0 or "1 passed" not in done.stdout:
        pytest.fail(f"in a user namespace:\n{done.stdout}", pytrace=False)
    return True


@pytest.fixture
def filesystems(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The directory of the marked file systems (``filesystems(name=bytes)``), each really that small."""
    mark = request.node.get_closest_marker("filesystems")
    place = tmp_path / "fs"
    place.mkdir()
    if mark and os.geteuid() != 0:
        if not held_in_a_namespace(request.node):
            need_slurm()
        elif why := no_namespace():
            pytest.skip(f"small file systems need root or a user namespace to mount: {why}")
        yield place
        return
    mounted = []
    try:
        for name, size in (mark.kwargs if mark else {}).items():
            directory = place / name
            directory.mkdir()
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(directory)], check=True
            )
            mounted.append(directory)
        yield place
    finally:
        for directory in mounted:
            subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.fixture(
    params=[
        "local",
        pytest.param("slurm", marks=pytest.mark.slurm),
        pytest.param("flux", marks=pytest.mark.flux),
    ]
)
def bed(request: pytest.FixtureRequest, tmp_path: Path, filesystems: Path) -> Iterator[Bed]:
    """A cluster of eight nodes with two CPUs each; the small file systems are mounted before it starts."""
    if held_in_a_namespace(request.node):
        yield Bed("local", tmp_path, {}, lambda node: None)  # the cluster is the other session's
    elif request.param == "slurm":
        need_slurm()
        with slurm_bed(tmp_path) as made:
            yield made
    elif request.param == "slurm+flux":
        need_slurm()
        need_flux()
        with slurm_bed(tmp_path, inner="flux") as made:
            yield made
    elif request.param == "flux":
        with flux_bed(tmp_path, request.getfixturevalue("flux_bindings")) as made:
            yield made
    else:
        with local_bed(tmp_path) as made:
            yield made
