"""A journal of multipart uploads to S3, so that an interrupted upload is continued or aborted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from whesl.cloud.transfer.port import Digest
from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """An unfinished multipart upload: the content's digest, and the size of a part in bytes."""

    bucket: str
    key: str
    id: str
    content: Digest
    part: int


class Uploads:
    """The unfinished uploads, with a small file for each.

    Args:
        directory: directory of these files.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def of(self, bucket: str, key: str) -> Upload | None:
        """Return the unfinished upload to a key; None when there is none or its file is damaged.

        Args:
            bucket: the bucket's name.
            key: the object's key.
        """
        try:
            return msgspec.json.decode(self._path(bucket, key).read_bytes(), type=Upload)
        except (FileNotFoundError, *UNDECODABLE):
            return None

    def all(self) -> Iterator[Upload]:
        """Yield all unfinished uploads."""
        for path in sorted(self._directory.glob("*.json")):
            try:
                yield msgspec.json.decode(path.read_bytes(), type=Upload)
            except (FileNotFoundError, *UNDECODABLE):
                continue

    def begun(self, upload: Upload) -> None:
        """Record an upload, durably when this returns."""
        path = self._path(upload.bucket, upload.key)
        fresh = path.with_suffix(f".{os.getpid()}")
        file_retry.write(fresh, msgspec.json.encode(upload))
        fresh.replace(path)

    def over(self, upload: Upload) -> None:
        """Remove the record of an upload that was completed or aborted."""
        self._path(upload.bucket, upload.key).unlink(missing_ok=True)

    def _path(self, bucket: str, key: str) -> Path:
        return self._directory / f"{hashlib.sha256(f'{bucket}/{key}'.encode()).hexdigest()[:32]}.json"
