"""The port to a domain's storage, and the verification of copies.

Names are relative paths with ``/``. Errors: CouldNotObserveError when the storage did not answer (the call
may be repeated; a copy then continues), RefusedError when the storage refused, DamagedError when the copy
differs from its source.
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
    """A copy differs from its source; the copy was removed."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """A file's size in bytes and the SHA-256 of its content, in hexadecimal."""

    size: int
    sha256: str


class Store(Protocol):
    """A domain's storage. Methods may take long, as the size of the data requires."""

    name: str

    def put(self, source: Path, name: str) -> Digest:
        """Copy a local file to the storage; return the copy's digest, read back. A broken copy is resumed.

        Args:
            source: the local file.
            name: the file's name in the storage.
        """

    def get(self, name: str, target: Path, expected: Digest | None = None) -> Digest:
        """Copy a file to a local path, whole or not at all. Raises RefusedError for a missing file.

        Args:
            name: the file's name in the storage.
            target: the local path.
            expected: the expected digest; None where it is unknown.
        """

    def digest(self, name: str) -> Digest | None:
        """Return a file's size and checksum as the storage reads it; None when there is no such file."""

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, whole or not at all.

        Args:
            name: the file's name in the storage.
            content: the file's content.
        """

    def read_all(self, prefix: str) -> Mapping[str, bytes]:
        """Return the small files' contents directly in a directory, by name; none without a directory."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove files; a missing file is no error."""

    def tidy(self) -> None:
        """Remove the remains of abandoned copies."""

    def close(self) -> None:
        """Close the connections."""


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
    """Return the digest of a correct copy. Raises DamagedError where ``sent`` and ``found`` differ.

    Args:
        sent: the source's digest.
        found: the copy's digest; None where there is no copy.
        what: the copy in words, for the error.
    """
    if found is None or found != sent:
        said = "nothing" if found is None else f"{found.size} bytes, SHA-256 {found.sha256}"
        raise DamagedError(f"{what} was damaged: {sent.size} bytes, SHA-256 {sent.sha256} sent, {said} found")
    return found


def missing(name: str, where: str) -> RefusedError:
    """Return the error for a missing file.

    Args:
        name: the file's name in the storage.
        where: the storage in words.
    """
    return RefusedError(f"there is no {name} in {where}")
