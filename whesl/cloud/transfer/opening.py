"""Opens a storage by its address: ``/directory``, ``ssh://user@host:port/directory``, ``s3://bucket/prefix``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from whesl.cloud.transfer.directory import DirectoryStore
from whesl.cloud.transfer.port import Store
from whesl.model.errors import UsageError

_HINT = "a directory, ssh://user@host/directory or s3://bucket/prefix"


def opened(
    address: str,
    *,
    private: Path,
    region: str = "us-east-1",
    endpoint: str = "",
    ssh_options: Sequence[str] = (),
) -> Store:
    """Return the storage at an address.

    Args:
        address: the storage's address.
        private: a directory private to this user, for the journal of uploads to S3.
        region, endpoint: S3's region and endpoint; '' for AWS's own endpoint.
        ssh_options: more options of ssh.

    Raises:
        UsageError: no kind of storage has such an address.
        RefusedError: a library or a key is missing.
    """
    parts = urlsplit(address)
    if not parts.scheme and address.startswith("/"):
        return DirectoryStore(Path(address))
    if parts.scheme == "ssh" and parts.hostname:
        from whesl.cloud.transfer.ssh import SshStore

        host = f"{parts.username}@{parts.hostname}" if parts.username else parts.hostname
        return SshStore(host, parts.path, port=parts.port or 22, options=ssh_options)
    if parts.scheme == "s3" and parts.netloc:
        from whesl.cloud.providers.ec2 import client_of
        from whesl.cloud.transfer.s3 import S3Store

        client = client_of("s3", region, endpoint)
        return S3Store(client, parts.netloc, parts.path, uploads=private / "uploads")
    raise UsageError(f"not the address of a storage: {address!r}", hint=_HINT)
