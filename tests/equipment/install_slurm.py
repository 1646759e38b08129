"""Which real Slurm tests run, and what they run on it: the distribution's, or one under a prefix.

The distribution's is installed with its own package manager; one under a prefix has to be there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path

from whesl.model.errors import WheslError

# Names the prefix of the Slurm that is tested, such as /opt/slurm (``make test-slurm SLURM=/opt/slurm``).
PREFIX = "WHESL_SLURM"

PACKAGES: dict[str, tuple[str, ...]] = {
    "slurm": ("slurmctld", "slurmd", "slurm-client", "munge", "iproute2", "lua5.1", "lua-posix"),
    "mpi": ("openmpi-bin", "libopenmpi-dev", "libpmix-dev", "gcc", "libc6-dev"),
    "lammps": ("lammps", "openmpi-bin", "libpmix-dev"),
    "dbd": ("slurmdbd", "mariadb-server"),
    "browser": ("chromium", "chromium-driver"),
    "nfs": ("fuse3", "libfuse3-dev", "gcc", "libc6-dev", "pkg-config"),
    "modules": ("environment-modules",),
    # What lmod runs on; itself and environment-modules exclude each other.
    "lmod": ("lua5.3", "lua-filesystem", "lua-json", "lua-posix", "lua-term", "tcl", "libtcl8.6"),
    "systemd": ("systemd",),
    "shells": ("zsh", "csh", "ksh", "perl"),
}
# Commands, and files by pattern: srun --mpi=pmix loads what only the development package brings.
_PMIX = "/usr/lib/*/pmix2/lib/libpmix.so"
_PROOF = {
    "slurm": ("slurmctld", "slurmd", "sbatch", "munged", "ip", "lua5.1", "/usr/share/lua/5.1/posix/init.lua"),
    "mpi": ("mpirun", "gcc", "/usr/include/stdio.h", "/usr/lib/*/openmpi/include/mpi.h", _PMIX),
    "lammps": ("lmp", "mpirun", _PMIX),
    "dbd": ("slurmdbd", "mariadbd"),
    "browser": ("chromium", "chromedriver"),
    "nfs": ("gcc", "pkg-config", "fusermount3", "/usr/include/fuse3/fuse.h", "/dev/fuse"),
    "modules": ("/usr/share/modules/init/bash",),
    "lmod": (
        "lua5.3",
        "tclsh",
        "/usr/share/lua/5.3/json.lua",
        *(f"/usr/lib/*/lua/5.3/{name}.so" for name in ("lfs", "term/core", "posix/sys/stat")),
    ),
    "systemd": ("systemd-analyze",),
    "shells": ("zsh", "csh", "ksh", "perl"),
}
# What belongs to Slurm itself: under a prefix, all of it has to be that one's.
_SLURM = {
    "slurm": ("slurmctld", "slurmd", "sbatch", "srun", "salloc", "scontrol", "squeue", "sinfo", "scancel"),
    "dbd": ("slurmdbd", "sacctmgr", "sacct"),
}
# Its plugins, which a Slurm lacks that was built without the headers of MariaDB or PMIx.
_PLUGINS = {"dbd": "accounting_storage_mysql", "mpi": "mpi_pmix", "lammps": "mpi_pmix"}


def prefix() -> Path | None:
    """Return where the Slurm lies that is tested, None for the one on PATH."""
    given = os.environ.get(PREFIX)
    return Path(given) if given else None


def search_path() -> str:
    """Return the PATH of tests: the Slurm that is tested first, daemons too, which no user's PATH has."""
    own = prefix()
    first = [str(own / "bin"), str(own / "sbin")] if own else []
    known = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(dict.fromkeys((*first, *known, "/usr/sbin", "/sbin")))


PATH = search_path()


def command(name: str) -> str:
    """Return the path of a command of the Slurm that is tested. Raises SlurmBedError without one."""
    if found := shutil.which(name, path=PATH):
        return found
    raise SlurmBedError(f"there is no {name} on {PATH}")


_LOCK = "/run/whesl-install.lock"  # where only root may write


class SlurmBedError(WheslError):
    """The test cluster could not be built or did not do what it was told; its logs say why."""


def missing(sets: Sequence[str] = ("slurm",)) -> list[str]:
    """Return what these package sets would bring and this machine lacks: commands, and files by pattern."""
    wanted = [name for part in sets for name in _PROOF[part]]
    found = [name for name in wanted if not (glob(name) if "/" in name else shutil.which(name, path=PATH))]  # noqa: PTH207 - patterns are absolute
    return [*_missing_under_prefix(sets), *found]


def _missing_under_prefix(sets: Sequence[str]) -> list[str]:
    own = prefix()
    places = os.pathsep.join((f"{own}/bin", f"{own}/sbin"))
    wanted = [name for part in sets for name in _SLURM.get(part, ())] if own else []
    plugins = {f"{own}/lib*/slurm/{_PLUGINS[part]}.so" for part in sets if own and part in _PLUGINS}
    return [
        *(f"{own}/bin/{name}" for name in wanted if not shutil.which(name, path=places)),
        *(pattern for pattern in sorted(plugins) if not glob(pattern)),  # noqa: PTH207 - patterns are absolute
    ]


def install(sets: Sequence[str] = ("slurm",)) -> None:
    """Install the package sets (keys of ``PACKAGES``) with apt-get where something is missing.

    Raises SlurmBedError when not root, when there is no apt-get, or when it fails.
    """
    if os.geteuid() == 0:
        # A package that another process is just unpacking is not installed yet, whatever files there are.
        with _alone():
            _install(sets)
    elif lacking := missing(sets):
        raise SlurmBedError(f"{', '.join(lacking)} not installed, and only root can install it")


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait for other processes that install."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(_LOCK, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _install(sets: Sequence[str]) -> None:
    if not missing(sets):
        return
    if lacking := _missing_under_prefix(sets):
        raise SlurmBedError(f"the Slurm that {PREFIX} names is not whole: no {', '.join(lacking)}")
    if shutil.which("apt-get") is None:
        raise SlurmBedError(f"{', '.join(missing(sets))} not installed, and there is no apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = [name for part in sets for name in PACKAGES[part]]
    patience = ("-o", "DPkg::Lock::Timeout=300")  # another session may be installing
    command = ["apt-get", *patience, "install", "-y", "-q", "--no-install-recommends", *packages]
    # The lists may be missing or old on a fresh machine, and updating them is slow where they are not.
    for commands in ([command], [["apt-get", "update", "-q"], command]):
        results = [
            subprocess.run(c, env=environment, capture_output=True, text=True, check=False) for c in commands
        ]
        if all(result.returncode == 0 for result in results):
            return
    raise SlurmBedError(f"apt-get could not install {' '.join(packages)}:\n{results[-1].stderr[-2000:]}")
