"""Storage below a prefix in an S3 bucket.

A large file is uploaded in parts, and a local journal records the upload. After an interruption the stored
parts are listed and compared with the file, and only the other parts are sent. The stored object is read back
and its SHA-256 is compared, since the ETag of a multipart upload is no checksum of the content.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from whesl.cloud.transfer.multipart_upload_journal import Upload, Uploads
from whesl.cloud.transfer.port import BLOCK, DamagedError, Digest, Store, checked, digest_of, missing, same
from whesl.model.errors import CouldNotObserveError, RefusedError, WheslError

PART = 8 << 20  # bytes; S3 accepts at most 10,000 parts of at least 5 MiB
_MOST_PARTS = 10_000
_DAMAGED = frozenset(
    {"BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"}
)
_GONE = frozenset({"NoSuchKey", "404", "NotFound", "NoSuchUpload"})
_REFUSED = frozenset(
    {
        "AccessDenied",
        "AllAccessDisabled",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidBucketName",
        "NoSuchBucket",
        "SignatureDoesNotMatch",
    }
)


class S3Store(Store):
    """Storage below a prefix in a bucket.

    Args:
        client: boto3's S3 client with ``request_checksum_calculation="when_required"``.
        bucket: the bucket's name.
        prefix: prefix of all keys, without a slash at its ends.
        uploads: the journal of uploads.
        part: size of a part in bytes.
    """

    def __init__(self, client: Any, bucket: str, prefix: str, *, uploads: Path, part: int = PART) -> None:
        self._client, self._bucket, self._prefix, self._part = client, bucket, prefix.strip("/"), part
        self._uploads = Uploads(uploads)
        self.name = f"s3://{bucket}/{self._prefix}"

    def put(self, source: Path, name: str) -> Digest:
        # The object is read back.
        sent = digest_of(source)
        key = self._key(name)
        with self._explained(f"{source} cannot be copied to {self.name}"):
            head = self._head(key)
            if head is not None and head.get("Metadata", {}).get("sha256") == sent.sha256:
                there = self._read_back(key)
                if there == sent:
                    return there  # an earlier call has uploaded the file, and its reply was lost
            if sent.size <= self._part:
                self._put(key, source.read_bytes(), sent)
            else:
                self._put_in_parts(key, source, sent)
        try:
            return same(sent, self._read_back(key), f"the copy of {source} at {self.name}")
        except DamagedError:
            self.remove([name])
            raise

    def get(self, name: str, target: Path, expected: Digest | None = None) -> Digest:
        # A broken download is resumed if the object is unchanged.
        key = self._key(name)
        with self._explained(f"{name} cannot be copied from {self.name}"):
            head = self._head(key)
            if head is None:
                raise missing(name, self.name)
            tag = str(head["ETag"])
            told = str(head.get("Metadata", {}).get("sha256", ""))
            target.parent.mkdir(parents=True, exist_ok=True)
            mark = hashlib.sha256(tag.encode()).hexdigest()[:16]
            fresh = target.with_name(f".whesl-part-{mark}-{target.name}")
            size = int(head["ContentLength"])
            there = fresh.stat().st_size if fresh.exists() else 0
            if there > size:
                fresh.unlink()
                there = 0
            if there < size or not fresh.exists():
                wanted = {"Range": f"bytes={there}-"} if there else {}
                body = self._client.get_object(Bucket=self._bucket, Key=key, IfMatch=tag, **wanted)["Body"]
                with fresh.open("ab") as file:
                    for block in body.iter_chunks(BLOCK):
                        file.write(block)
        found = digest_of(fresh)
        try:
            same(expected or Digest(size=size, sha256=told or found.sha256), found, f"{self.name}/{name}")
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
        return found

    def digest(self, name: str) -> Digest | None:
        """Return an object's size and checksum, by downloading it."""
        with self._explained(f"{self.name}/{name} cannot be read"):
            return self._read_back(self._key(name))

    def write(self, name: str, content: bytes) -> None:
        digest = Digest(size=len(content), sha256=hashlib.sha256(content).hexdigest())
        with self._explained(f"{self.name}/{name} cannot be written"):
            self._put(self._key(name), content, digest)

    def read_all(self, prefix: str) -> Mapping[str, bytes]:
        found = {}
        below = f"{self._key(prefix)}/"
        with self._explained(f"{self.name}/{prefix} cannot be listed"):
            for key in self._keys(below, "/"):
                try:
                    body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
                except ClientError as error:
                    if _code(error) in _GONE:
                        continue
                    raise
                found[f"{prefix}/{key.removeprefix(below)}"] = body
        return found

    def remove(self, names: Sequence[str]) -> None:
        with self._explained(f"objects of {self.name} cannot be removed"):
            for name in names:
                self._client.delete_object(Bucket=self._bucket, Key=self._key(name))

    def close(self) -> None:
        """Do nothing, since each call has its own connection."""

    def tidy(self) -> None:
        """Abort all uploads below the prefix, even unrecorded ones, since their parts cost money."""
        with self._explained(f"uploads to {self.name} cannot be aborted"):
            pages = self._client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(
                Bucket=self._bucket, Prefix=f"{self._prefix}/" if self._prefix else ""
            ):
                for upload in page.get("Uploads", ()):
                    self._abort(upload["Key"], upload["UploadId"])
            for known in self._uploads.all():
                if known.bucket == self._bucket and known.key.startswith(self._prefix):
                    self._uploads.over(known)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{checked(name)}" if self._prefix else checked(name)

    def _keys(self, prefix: str, delimiter: str) -> Iterator[str]:
        pages = self._client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self._bucket, Prefix=prefix, Delimiter=delimiter):
            yield from (found["Key"] for found in page.get("Contents", ()))

    def _put(self, key: str, content: bytes, digest: Digest) -> None:
        self._client.put_object(
            Bucket=self._bucket,
            Key=key,
            Body=content,
            ChecksumSHA256=_encoded(content),
            Metadata={"sha256": digest.sha256},
        )

    def _put_in_parts(self, key: str, source: Path, sent: Digest) -> None:
        upload = self._uploads.of(self._bucket, key)
        if upload is not None and upload.content != sent:
            self._abort(key, upload.id)
            self._uploads.over(upload)
            upload = None
        done = self._parts(upload) if upload is not None else None
        if upload is None or done is None:
            part = max(self._part, -(-sent.size // _MOST_PARTS))
            begun = self._client.create_multipart_upload(
                Bucket=self._bucket, Key=key, ChecksumAlgorithm="SHA256", Metadata={"sha256": sent.sha256}
            )
            upload = Upload(bucket=self._bucket, key=key, id=begun["UploadId"], content=sent, part=part)
            self._uploads.begun(upload)
            done = {}
        parts = []
        with source.open("rb") as file:
            for number in range(1, -(-sent.size // upload.part) + 1):
                content = file.read(upload.part)
                checksum = _encoded(content)
                known = done.get(number)
                if known is not None and _same_part(known, content, checksum):
                    tag = known[0]
                else:
                    answer = self._client.upload_part(
                        Bucket=self._bucket,
                        Key=key,
                        UploadId=upload.id,
                        PartNumber=number,
                        Body=content,
                        ChecksumSHA256=checksum,
                    )
                    tag = answer["ETag"]
                parts.append({"PartNumber": number, "ETag": tag, "ChecksumSHA256": checksum})
        self._client.complete_multipart_upload(
            Bucket=self._bucket, Key=key, UploadId=upload.id, MultipartUpload={"Parts": parts}
        )
        self._uploads.over(upload)

    def _parts(self, upload: Upload) -> dict[int, tuple[str, str, int]] | None:
        """Return an upload's stored parts (ETag, SHA-256, size); None when the upload does not exist."""
        found: dict[int, tuple[str, str, int]] = {}
        try:
            pages = self._client.get_paginator("list_parts")
            for page in pages.paginate(Bucket=self._bucket, Key=upload.key, UploadId=upload.id):
                for part in page.get("Parts", ()):
                    found[part["PartNumber"]] = (part["ETag"], part.get("ChecksumSHA256", ""), part["Size"])
        except ClientError as error:
            if _code(error) in _GONE:
                return None
            raise
        return found

    def _abort(self, key: str, known_as: str) -> None:
        try:
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=known_as)
        except ClientError as error:
            if _code(error) not in _GONE:
                raise

    def _head(self, key: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._client.head_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            if _code(error) in _GONE:
                return None
            raise
        return found

    def _read_back(self, key: str) -> Digest | None:
        try:
            body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
        except ClientError as error:
            if _code(error) in _GONE:
                return None
            raise
        found, size = hashlib.sha256(), 0
        for block in body.iter_chunks(BLOCK):
            found.update(block)
            size += len(block)
        return Digest(size=size, sha256=found.hexdigest())

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except WheslError:
            raise
        except ClientError as error:
            code = _code(error)
            if code in _DAMAGED:
                raise DamagedError(f"{what}: damaged on its way ({code})") from None
            if code in _REFUSED:
                hint = "check the key, its policy and the bucket's name"
                raise RefusedError(f"{what}: {code}", hint=hint) from None
            raise CouldNotObserveError(f"{what}: {code}") from None
        except (BotoCoreError, OSError) as error:
            raise CouldNotObserveError(f"{what}: {error}") from None


def _same_part(known: tuple[str, str, int], content: bytes, checksum: str) -> bool:
    """Return whether a part that S3 lists (ETag, SHA-256, size) has this content.

    A part's ETag is its MD5 where S3 lists no SHA-256 ("Checking object integrity", Amazon S3).
    """
    tag, told, size = known
    plain = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return size == len(content) and (told == checksum if told else tag.strip('"') == plain)


def _encoded(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "")) or os.strerror(5)
