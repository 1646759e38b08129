"""Storage in a local directory: a file system shared by a cluster's nodes or by a cloud's machines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.cloud.transfer.port import Digest, Store, checked, digest_of, missing, same
from whesl.files import file_retry
from whesl.model.errors import CouldNotObserveError

_UNFINISHED = ".whesl-part-"


class DirectoryStore(Store):
    """Storage in a local directory.

    Args:
        root: the directory; made when it does not exist.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.name = str(self.root)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, source: Path, name: str) -> Digest:
        return self._copied(source, self.path(name), None)

    def get(self, name: str, target: Path, expected: Digest | None = None) -> Digest:
        path = self.path(name)
        if not path.is_file():
            raise missing(name, self.name)
        return self._copied(path, target, expected)

    def digest(self, name: str) -> Digest | None:
        try:
            return digest_of(self.path(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CouldNotObserveError(f"{self.path(name)} cannot be read: {error.strerror}") from None

    def write(self, name: str, content: bytes) -> None:
        path = self.path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f"{_UNFINISHED}{os.getpid()}-{path.name}")
            file_retry.write(fresh, content)
            fresh.replace(path)
        except OSError as error:
            raise CouldNotObserveError(f"{path} cannot be written: {error.strerror}") from None

    def read_all(self, prefix: str) -> Mapping[str, bytes]:
        found = {}
        directory = self.path(prefix)
        try:
            for path in sorted(directory.iterdir()) if directory.is_dir() else ():
                if not path.name.startswith(".") and path.is_file():
                    found[f"{prefix}/{path.name}"] = path.read_bytes()
        except OSError as error:
            raise CouldNotObserveError(f"{directory} cannot be read: {error.strerror}") from None
        return found

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            self.path(name).unlink(missing_ok=True)

    def tidy(self) -> None:
        for path in self.root.rglob(f"{_UNFINISHED}*"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Do nothing, since there is no connection."""

    def path(self, name: str) -> Path:
        """Return a file's absolute path."""
        return self.root / checked(name)

    def _copied(self, source: Path, target: Path, expected: Digest | None) -> Digest:
        try:
            sent = expected or digest_of(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = target.with_name(f"{_UNFINISHED}{os.getpid()}-{target.name}")
            shutil.copyfile(source, fresh)
            shutil.copymode(source, fresh)
            try:
                found = same(sent, digest_of(fresh), f"the copy of {source}")
                fresh.replace(target)
            finally:
                fresh.unlink(missing_ok=True)
        except OSError as error:
            raise CouldNotObserveError(
                f"{source} cannot be copied to {target}: {error.strerror or error}"
            ) from None
        return found
