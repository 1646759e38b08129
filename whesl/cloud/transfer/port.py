"""The port to a domain's storage, and what a copy has to prove.

Names are relative paths with ``/``. Errors: CouldNotObserveError when the storage did not answer (the same
call may be repeated: a copy goes on where it was), RefusedError when it said no, DamagedError when what lies
there is not what was copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

import msgspec

from whesl.model.errors import RefusedError, TransientError, UsageError

BLOCK = 1 << 20


class DamagedError(TransientError):
    """What was copied is not what was sent; the copy was removed."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """A file's size in bytes and the SHA-256 of its content, in hexadecimal."""

    size: int
    sha256: str


class Store(Protocol):
    """A domain's storage, as it is reached from here. Each method may take as long as the data need."""

    name: str

    def put(self, source: Path, name: str) -> Digest:
        """Copy a file there and return what lies there then, read back. A broken copy is resumed."""
        ...

    def get(self, name: str, target: Path, expected: Digest | None = None) -> Digest:
        """Copy a file here, whole or not at all. Raises RefusedError when there is none."""
        ...

    def digest(self, name: str) -> Digest | None:
        """Return a file's size and checksum as they are read there; None when there is no such file."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, whole or not at all."""
        ...

    def read_all(self, prefix: str) -> Mapping[str, bytes]:
        """Return the small files directly below a directory, by name; none when there is no directory."""
        ...

    def remove(self, names: Sequence[str]) -> None:
        """Remove files; one that is not there is no error."""
        ...

    def tidy(self) -> None:
        """Remove what copies that were given up have left behind."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


def checked(name: str) -> str:
    """Return a name that stays inside its storage. Raises UsageError for any other."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\0" in name or "\n" in name:
        raise UsageError(f"not a name of a file in a storage: {name!r}", hint="a relative path without ..")
    return str(path)


def digest_of(path: Path) -> Digest:
    """Return a local file's size and checksum. Raises OSError."""
    found = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
            size += len(block)
    return Digest(size=size, sha256=found.hexdigest())


def same(sent: Digest, found: Digest | None, what: str) -> Digest:
    """Return the digest of a copy that is right. Raises DamagedError."""
    if found is None or found != sent:
        said = "nothing" if found is None else f"{found.size} bytes, SHA-256 {found.sha256}"
        raise DamagedError(f"{what} was damaged: {sent.size} bytes, SHA-256 {sent.sha256} sent, {said} found")
    return found


def missing(name: str, where: str) -> RefusedError:
    """Return the error for a file that is not there."""
    return RefusedError(f"there is no {name} in {where}")
