"""Storage in a directory of another host, reached by ssh; rsync copies the files.

One connection serves all calls (ssh's ControlMaster). A partial copy is kept in a directory beside the
target, and rsync resumes it; the file gets its name when it is whole.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.cloud.transfer.port import DamagedError, Digest, Store, checked, digest_of, missing, same
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError

_PARTIAL = ".whesl-partial"
_LONGEST = 64  # the most bytes of a directory for the connection's socket
_SSH_FAILED = 255  # ssh(1), "EXIT STATUS"
# rsync(1), "EXIT VALUES": the other host or its connection was lost, or rsync received a signal.
_RSYNC_BROKEN = frozenset({5, 10, 12, 20, 30, 35, 255})


class SshStore(Store):
    """Storage in a directory on another host.

    Args:
        host: ssh's destination, ``user@host``.
        root: absolute path of the directory on that host; made when it does not exist.
        port: port of sshd.
        options: more options of ssh, one argument each (``-i``, a key's file, ...).
        timeout: seconds until a silent connection is closed.
    """

    def __init__(
        self,
        host: str,
        root: str,
        *,
        port: int = 22,
        options: Sequence[str] = (),
        timeout: int = 15,
    ) -> None:
        if host.startswith("-") or not root.startswith("/"):
            raise UsageError(
                f"not a place that ssh reaches: {host}:{root}", hint="ssh://user@host/absolute/path"
            )
        # A socket's path has to stay below 108 bytes (unix(7)), with 17 that ssh adds for a moment. A path in
        # the run's directory may exceed that, as may one in a job's own TMPDIR.
        usual = tempfile.gettempdir()
        short = usual if len(os.fsencode(usual)) <= _LONGEST else "/tmp"  # noqa: S108 - it is made private
        control = tempfile.mkdtemp(prefix="whesl-ssh-", dir=short)
        weakref.finalize(self, shutil.rmtree, control, ignore_errors=True)
        self._host, self._root = host, root.rstrip("/")
        self.name = f"{host}:{root}"
        self._timeout = timeout
        self._ssh = [
            *("ssh", "-p", str(port), "-o", "BatchMode=yes", "-o", f"ConnectTimeout={timeout}"),
            *("-o", "ServerAliveInterval=5", "-o", f"ServerAliveCountMax={max(1, timeout // 5)}"),
            *(
                "-o",
                "ControlMaster=auto",
                "-o",
                f"ControlPath={control}/c",
                "-o",
                "ControlPersist=60",
            ),
            *options,
        ]

    def put(self, source: Path, name: str) -> Digest:
        sent = digest_of(source)
        path = self.path(name)
        self.run(f"mkdir -p -- {shlex.quote(os.path.dirname(path))}")  # noqa: PTH120 - a path of the other host
        self._rsync(str(source), f"{self._host}:{path}")
        try:
            return same(sent, self.digest(name), f"the copy of {source} at {self.name}")
        except DamagedError:
            self.remove([name])
            raise

    def get(self, name: str, target: Path, expected: Digest | None = None) -> Digest:
        sent = expected or self.digest(name)
        if sent is None:
            raise missing(name, self.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._rsync(f"{self._host}:{self.path(name)}", str(target))
        try:
            return same(sent, digest_of(target), f"the copy of {self.name}/{name}")
        except DamagedError:
            target.unlink(missing_ok=True)
            raise

    def digest(self, name: str) -> Digest | None:
        """Return a file's size and checksum, computed on the other host."""
        path = shlex.quote(self.path(name))
        said = self.run(f"if test -f {path}; then wc -c < {path} && sha256sum < {path}; fi").decode()
        words = said.split()
        return Digest(size=int(words[0]), sha256=words[1]) if len(words) >= 2 else None

    def write(self, name: str, content: bytes) -> None:
        path = self.path(name)
        directory, fresh = os.path.dirname(path), f"{path}.whesl-new"  # noqa: PTH120 - as above
        self.run(
            f"mkdir -p -- {shlex.quote(directory)} && cat > {shlex.quote(fresh)} && "
            f"mv -f -- {shlex.quote(fresh)} {shlex.quote(path)}",
            content,
        )

    def read_all(self, prefix: str) -> Mapping[str, bytes]:
        """Return the contents of the small files in a directory, by one command."""
        path = shlex.quote(self.path(prefix))
        # An unfinished file has a temporary name, so it is not read.
        packed = self.run(
            f"if test -d {path}; then cd {path} && find . -maxdepth 1 -type f ! -name '.*' "
            "! -name '*.whesl-new' -print0 | tar -cf - --null -T - --ignore-failed-read; fi"
        )
        found: dict[str, bytes] = {}
        if not packed:
            return found
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    found[f"{prefix}/{os.path.basename(member.name)}"] = file.read()  # noqa: PTH119 - a name
        return found

    def remove(self, names: Sequence[str]) -> None:
        if names:
            self.run("rm -f -- " + shlex.join(self.path(name) for name in names))

    def tidy(self) -> None:
        root = shlex.quote(self._root)
        self.run(f"test ! -d {root} || find {root} -depth -type d -name {_PARTIAL} -exec rm -rf {{}} +")

    def close(self) -> None:
        """End the shared connection."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # the connection ends itself a minute later
            subprocess.run(
                [*self._ssh, "-O", "exit", self._host], capture_output=True, check=False, timeout=30
            )

    def words(self, command: str) -> list[str]:
        """Return ssh's arguments for running a shell command on the other host."""
        return [*self._ssh, self._host, "--", command]

    def path(self, name: str) -> str:
        """Return a file's absolute path on the other host. Raises UsageError for one outside the storage."""
        return f"{self._root}/{checked(name)}"

    def run(self, command: str, content: bytes = b"") -> bytes:
        """Run a shell command on the other host, and return its standard output.

        Args:
            command: the command's text, with every name quoted.
            content: the command's standard input.

        Raises CouldNotObserveError where the host was not reached, RefusedError for a status other than 0.
        """
        done = self._call(self.words(command), content)
        if done.returncode == _SSH_FAILED:
            raise CouldNotObserveError(f"{self._host} is not reached: {_last(done.stderr)}")
        if done.returncode:
            raise RefusedError(f"{self.name}: {_last(done.stderr) or f'status {done.returncode}'}")
        return done.stdout

    def _rsync(self, source: str, target: str) -> None:
        # Files are compared by content, since two versions written within one clock tick have the same time.
        arguments = [
            "--checksum",
            "--times",
            "--perms",
            "--protect-args",
            f"--partial-dir={_PARTIAL}",
            "--timeout=60",
        ]
        done = self._call(["rsync", *arguments, "-e", shlex.join(self._ssh), "--", source, target], b"")
        if done.returncode in _RSYNC_BROKEN:
            raise CouldNotObserveError(f"the copy of {source} broke off: {_last(done.stderr)}")
        if done.returncode:
            raise RefusedError(f"{source} cannot be copied to {target}: {_last(done.stderr)}")

    def _call(self, command: list[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(command, input=content, capture_output=True, check=False)
        except OSError as error:
            raise RefusedError(f"{command[0]} cannot be run: {error.strerror}", hint="install it") from None


def _last(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
