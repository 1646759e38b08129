"""Faults for system tests: small real file systems that really fill up, and processes stopped or killed.

A small file system is mounted as root, or in a user namespace otherwise; each says which it is. Nothing here
touches a process that the caller did not name.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from whesl.model.errors import WheslError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_IMAGE_SIZE = 256 << 20  # btrfs refuses to be made in less than about 110 MB; the file is sparse


_PIDFD_GETFD = 438  # on all architectures (pidfd_getfd(2)); glibc has no function for it
_libc = ctypes.CDLL(None, use_errno=True)


class FaultError(WheslError):
    """A fault cannot be made on this machine; the text says why, for the reason of a skipped test."""


class SmallFilesystem(msgspec.Struct, frozen=True, kw_only=True):
    """A mounted file system. ``how``: root, or user-namespace. ``error``: the errno of a full one."""

    path: Path
    kind: Literal["tmpfs", "btrfs"]
    how: Literal["root", "user-namespace"]
    error: int


@contextlib.contextmanager
def tmpfs(directory: Path, size: int, *, inodes: int | None = None) -> Iterator[SmallFilesystem]:
    """Mount a tmpfs of ``size`` bytes (and ``inodes``): writing more gives ENOSPC.

    Without root it lives in a user namespace of a helper process, and is reached below that process's
    ``/proc/<pid>/root``.

    Args:
        directory: where to mount; made when missing.
        size: bytes, rounded up to whole pages.
        inodes: number of files and directories.

    Raises:
        FaultError: neither way is offered here.
    """
    directory.mkdir(parents=True, exist_ok=True)
    options = f"size={size}" + (f",nr_inodes={inodes}" if inodes else "")
    mount = ["mount", "-t", "tmpfs", "-o", options, "whesl-test", str(directory)]
    if os.geteuid() == 0:
        _run(mount)
        try:
            directory.chmod(0o755)
            yield SmallFilesystem(path=directory, kind="tmpfs", how="root", error=errno.ENOSPC)
        finally:
            _run(["umount", "-l", str(directory)])
        return
    with _namespace(mount) as pid:
        path = Path(f"/proc/{pid}/root{directory}")
        path.chmod(0o755)
        yield SmallFilesystem(path=path, kind="tmpfs", how="user-namespace", error=errno.ENOSPC)


@contextlib.contextmanager
def _namespace(mount: list[str]) -> Iterator[int]:
    """Run a mount in a new user and mount namespace, and keep that alive; yield its process."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise FaultError("not root, and unshare is not installed")
    # The helper says "ready" and then waits for its input to end, so that it cannot outlive this process.
    script = 'mount=$1; shift; "$mount" "$@" && echo ready && exec cat'
    command = [unshare, "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *mount]
    helper = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        if helper.stdout is None or helper.stdout.readline() != "ready\n":
            helper.kill()
            said = helper.communicate()[1].strip()
            raise FaultError(f"not root, and no user namespace with mounts: {said}")
        yield helper.pid
    finally:
        helper.kill()
        helper.communicate()


class QuotaFilesystem(SmallFilesystem, frozen=True, kw_only=True):
    """A btrfs whose subvolume ``path`` has a limit: writing more gives EDQUOT, also to root."""

    volume: Path

    def limit(self, size: int) -> None:
        """Change the limit at once (bytes). Raises FaultError."""
        _run(["btrfs", "qgroup", "limit", str(size), str(self.path)])


@contextlib.contextmanager
def btrfs_quota(directory: Path, limit: int) -> Iterator[QuotaFilesystem]:
    """Mount a btrfs from a sparse image with a subvolume limited to ``limit`` bytes.

    Args:
        directory: takes the image and the mount point.
        limit: bytes that the subvolume may hold, metadata included; at least about 1 MB to be of use.

    Raises:
        FaultError: not root, no btrfs tools, or no loop devices.
    """
    if os.geteuid() != 0:
        raise FaultError("a file system with a quota has to be mounted by root")
    for tool in ("mkfs.btrfs", "btrfs", "mount"):
        if shutil.which(tool) is None:
            raise FaultError(f"{tool} is not installed (package btrfs-progs)")
    directory.mkdir(parents=True, exist_ok=True)
    image, volume = directory / "btrfs.img", directory / "volume"
    with image.open("wb") as file:
        file.truncate(_IMAGE_SIZE)
    volume.mkdir(exist_ok=True)
    _run(["mkfs.btrfs", "-q", str(image)])
    _run(["mount", "-o", "loop", str(image), str(volume)])
    try:
        home = volume / "home"
        _run(["btrfs", "subvolume", "create", str(home)])
        _run(["btrfs", "quota", "enable", str(volume)])
        _run(["btrfs", "qgroup", "limit", str(limit), str(home)])
        yield QuotaFilesystem(path=home, kind="btrfs", how="root", error=errno.EDQUOT, volume=volume)
    finally:
        _run(["umount", "-l", str(volume)])
        image.unlink(missing_ok=True)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise FaultError(f"{' '.join(command)}: {done.stderr.strip()}")


def fill(directory: Path, *, leave: int = 0, name: str = "ballast") -> int:
    """Write a file until the file system or the quota is full; return the errno that it ended with.

    Args:
        directory: in it.
        leave: bytes to free again afterwards, from the file's end.
        name: of the file.
    """
    path = directory / name
    size = 0
    error = 0
    with path.open("ab", buffering=0) as file:
        for block in (1 << 20, 1 << 16, 1 << 12, 1):
            data = b"x" * block
            while True:
                try:
                    size += file.write(data)
                    os.fsync(file.fileno())
                except OSError as refused:
                    if refused.errno not in _FULL:
                        raise
                    error = refused.errno
                    break
        if leave:
            os.truncate(path, max(size - leave, 0))
            os.fsync(file.fileno())
    return error


def keep_locks(pid: int) -> list[int]:
    """Return copies of a process's descriptors of files called ``lock``: its flock(2) outlives it then.

    Args:
        pid: the process; one that is gone has none. Needs root, or a child (pidfd_getfd(2)).
    """
    kept = []
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            for link in Path(f"/proc/{pid}/fd").iterdir():
                if link.readlink().name == "lock":
                    kept.append(_libc.syscall(_PIDFD_GETFD, process, int(link.name), 0))
        finally:
            os.close(process)
    return [descriptor for descriptor in kept if descriptor >= 0]


def stop(pid: int) -> None:
    """Stop a process (a hang). Raises ProcessLookupError."""
    os.kill(pid, signal.SIGSTOP)


def proceed(pid: int) -> None:
    """Let a stopped process go on. Raises ProcessLookupError."""
    os.kill(pid, signal.SIGCONT)
