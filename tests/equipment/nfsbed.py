"""One directory as several hosts see it through a file system that behaves like NFS, for tests.

``nfslike.c`` beside this file is the file system (FUSE), compiled when a bed starts: caches of attributes and
names, close-to-open, stale files, no inotify for what other hosts write, locks between hosts. It is real
enough for the faults below, and no proof for NFS, Lustre or GPFS. Needs root.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import select
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.equipment.install_slurm import SlurmBedError, missing

_SOURCE = Path(__file__).with_name("nfslike.c")
_LIMIT = 20.0  # seconds for the file system's process to answer


@dataclass(frozen=True)
class Faults:
    """What goes wrong on one host's mount.

    Args:
        latency: seconds before each call.
        error_rate: share of the calls that fail, 0 to 1.
        error: their errno (EIO, ESTALE).
        error_count: how many calls fail before no more do; None for no such end.
        operations: calls that may fail, of getattr, access, readlink, readdir, mknod, mkdir, symlink, unlink,
            rmdir, rename, link, chmod, chown, utimens, truncate, statfs, create, open, read, write, fsync,
            fallocate, lock (fcntl), flock, flush; all when empty.
        path: calls fail only for paths with this in them.
        stalled: every call waits, as on a hard mount whose server is away.
        flock_error: errno of every flock(); None when it works.
        fcntl_error: errno of every lock of fcntl(); None when they work.
        bandwidth: bytes a second that all mounts of the bed together may write, one token bucket for all that
            have one; 0 for any number.
        crashed: locks stay when their owners end, as a server keeps those of a client that died. They go when
            this is false again.
    """

    latency: float = 0.0
    error_rate: float = 0.0
    error: int = errno.EIO
    error_count: int | None = None
    operations: tuple[str, ...] = ()
    path: str = ""
    stalled: bool = False
    flock_error: int | None = None
    fcntl_error: int | None = None
    bandwidth: float = 0.0
    crashed: bool = False

    def line(self) -> str:
        """Return the line that the file system reads."""
        numbers = (
            round(self.latency * 1e6),
            round(self.error_rate * 1000),
            self.error,
            -1 if self.error_count is None else self.error_count,
            int(self.stalled),
            self.flock_error or 0,
            self.fcntl_error or 0,
            int(self.crashed),
            round(self.bandwidth),
        )
        operations = f",{','.join(self.operations)}," if self.operations else "-"
        return f"{' '.join(map(str, numbers))} {operations} {self.path or '-'}\n"


class NfsBed:
    """One backing directory, mounted once for each host; a context manager.

    Args:
        hosts: their names. Each mount is ``bed.at(host)``; ``place`` puts it where programs look for it.
        local: hosts whose mount grants locks by itself (NFS: nolock, local_lock; Lustre: localflock).
        attributes: seconds for which attributes of open files are cached (NFS: 3 to 60).
        names: seconds for which names are. Above 0, open() may show the size of a file that was replaced.
        absences: seconds for which it is cached that there is no such name.
    """

    def __init__(
        self,
        *hosts: str,
        local: tuple[str, ...] = (),
        attributes: float = 30.0,
        names: float = 0.0,
        absences: float = 30.0,
    ) -> None:
        self.hosts = hosts
        self.directory = Path(tempfile.mkdtemp(prefix="whesl-nfs-"))
        self.backing = self.directory / "server"
        self._local = local
        self._caches = (str(attributes), str(names), str(absences))
        self._servers: dict[str, subprocess.Popen[str]] = {}
        self._faults: dict[str, Faults] = {}
        self._placed: list[Path] = []

    def __enter__(self) -> NfsBed:
        try:
            self.directory.chmod(0o755)
            self.backing.mkdir(mode=0o777)
            self.backing.chmod(0o777)
            program = self.directory / "nfslike"
            program.write_bytes(_compiled())
            program.chmod(0o700)
            for host in self.hosts:
                self._mount(host, program)
        except BaseException:  # also an interrupt: no mount may stay behind
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def at(self, host: str) -> Path:
        """Return where a host's mount is."""
        return self.directory / host

    def place(self, host: str, path: Path, process: int | None = None) -> None:
        """Show a host's mount at a path, in the mount namespace of a process or in this one.

        A node of a ``SlurmBed`` has a namespace from its start on, and sees the mounts made before: enter
        this bed first, start the cluster, then ``place("n01", home, slurm.init("n01"))`` and, for the login
        node, ``place("login", home)``. A node that boots again needs it again. Raises SlurmBedError.

        Args:
            host: whose mount.
            path: an existing directory.
            process: the number of one in the namespace.
        """
        enter = ["nsenter", f"--target={process}", "--mount"] if process is not None else []
        _run([*enter, "mount", "--bind", str(self.at(host)), str(path)])
        if process is None:
            self._placed.append(path)

    def faults(self, host: str) -> Faults:
        """Return what goes wrong on a host's mount now."""
        return self._faults.get(host, Faults())

    def set(self, host: str, faults: Faults) -> None:
        """Have this go wrong on a host's mount, and nothing else, from now on. Raises SlurmBedError."""
        server = self._servers[host]
        assert server.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end is told by the answer that does not come
            server.stdin.write(faults.line())
            server.stdin.flush()
        self._answer(host)
        self._faults[host] = faults

    def change(self, host: str, **changes: object) -> None:
        """Change some of what goes wrong on a host's mount (fields of ``Faults``). Raises SlurmBedError."""
        self.set(host, dataclasses.replace(self.faults(host), **changes))  # type: ignore[arg-type]  # by name

    def stop(self) -> None:
        """Unmount everything, also what is stalled, and remove the directory."""
        for path in reversed(self._placed):
            subprocess.run(["umount", "-l", str(path)], capture_output=True, check=False)
        self._placed.clear()
        for host, server in self._servers.items():
            assert server.stdin is not None and server.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                server.stdin.close()  # it unmounts itself
            try:
                server.wait(timeout=_LIMIT)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()
            # What is left of a process that was killed.
            subprocess.run(["umount", "-l", str(self.at(host))], capture_output=True, check=False)
        self._servers.clear()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _mount(self, host: str, program: Path) -> None:
        self.at(host).mkdir()
        locks = "local" if host in self._local else "shared"
        with (self.directory / f"{host}.log").open("wb") as log:
            self._servers[host] = subprocess.Popen(
                [str(program), str(self.backing), str(self.at(host)), locks, *self._caches],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C ends the tests, which end it
            )
        self._answer(host)

    def _answer(self, host: str) -> None:
        stdout = self._servers[host].stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], _LIMIT)
        answer = stdout.readline() if ready else ""
        if answer != "set\n":
            log = (self.directory / f"{host}.log").read_text(errors="replace")
            raise SlurmBedError(f"the file system of {host} answered {answer!r}: {log[-1000:]}")


@lru_cache(maxsize=1)
def _compiled() -> bytes:
    """Return the file system's program."""
    if os.geteuid() != 0:
        raise SlurmBedError("a file system for several hosts has to be mounted by root")
    if lacking := missing(("nfs",)):
        raise SlurmBedError(f"not installed: {', '.join(lacking)}")
    flags = _run(["pkg-config", "--cflags", "--libs", "fuse3"]).split()
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "nfslike"
        _run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-O2", "-o", str(program), str(_SOURCE), *flags])
        return program.read_bytes()


def _run(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SlurmBedError(f"{command[0]}: {result.stderr[-2000:]}")
    return result.stdout
