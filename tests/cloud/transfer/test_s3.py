"""S3 as a storage, against moto's server with checksums that are compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whesl.cloud.transfer.port import DamagedError, digest_of
from whesl.model.errors import CouldNotObserveError, RefusedError

pytest.importorskip("boto3", reason="boto3 is not installed (extra cloud)")

from tests.equipment.contract_storage import StoreContract
from whesl.cloud.providers.ec2 import client_of
from whesl.cloud.transfer.s3 import S3Store

if TYPE_CHECKING:
    from tests.equipment.strictcloud import StrictCloud

MIB = 1 << 20
PART = 5 * MIB


@pytest.fixture
def store(cloud: StrictCloud, tmp_path: Path) -> S3Store:
    client = client_of("s3", "us-east-1", cloud.endpoint)
    client.create_bucket(Bucket="bucket")
    return S3Store(client, "bucket", tmp_path.name, uploads=tmp_path / "uploads", part=PART)


class TestContract(StoreContract):
    """The contract."""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(3 * PART + 17))
    return path


def uploads(store: S3Store) -> list[str]:
    return [
        one["UploadId"] for one in store._client.list_multipart_uploads(Bucket="bucket").get("Uploads", ())
    ]


def break_off(store: S3Store, cloud: StrictCloud, large: Path) -> None:
    """Have the network break after two parts."""
    whole = store._client.upload_part
    sent: list[object] = []

    def breaks(**arguments: object) -> object:
        if len(sent) == 2:
            raise OSError("the network is away")
        sent.append(arguments)
        return whole(**arguments)

    store._client.upload_part = breaks
    with pytest.raises(CouldNotObserveError):
        store.put(large, "large")
    store._client.upload_part = whole


def test_an_upload_goes_on_after_a_break(store: S3Store, cloud: StrictCloud, large: Path) -> None:
    """In a new process too: the parts that are there are not sent again, and no upload is left."""
    break_off(store, cloud, large)
    assert len(uploads(store)) == 1
    again = S3Store(store._client, "bucket", store._prefix, uploads=large.parent / "uploads", part=PART)
    before = cloud.calls["PUT"]
    assert again.put(large, "large") == digest_of(large)
    assert cloud.calls["PUT"] - before == 2  # of four parts
    assert uploads(store) == []


def test_a_part_that_is_damaged_there_is_sent_again(store: S3Store, cloud: StrictCloud, large: Path) -> None:
    cloud.rot = 1
    break_off(store, cloud, large)
    assert store.put(large, "large") == digest_of(large)


def test_another_content_aborts_the_old_upload(store: S3Store, cloud: StrictCloud, large: Path) -> None:
    break_off(store, cloud, large)
    large.write_bytes(os.urandom(2 * PART))
    assert store.put(large, "large") == digest_of(large)
    assert uploads(store) == []


def test_tidy_aborts_uploads_that_no_journal_knows(store: S3Store, cloud: StrictCloud, large: Path) -> None:
    break_off(store, cloud, large)
    for path in (large.parent / "uploads").iterdir():
        path.unlink()
    store.tidy()
    assert uploads(store) == []


def test_damage_on_the_way_is_refused(store: S3Store, cloud: StrictCloud, tmp_path: Path) -> None:
    """S3 compares the checksum that was sent with it."""
    (tmp_path / "small").write_bytes(b"content")
    cloud.spoil = 1
    with pytest.raises(DamagedError, match="BadDigest"):
        store.put(tmp_path / "small", "small")
    assert store.put(tmp_path / "small", "small") == digest_of(tmp_path / "small")


def test_damage_where_it_is_stored_is_found(store: S3Store, cloud: StrictCloud, tmp_path: Path) -> None:
    """What lies there is read back; the damaged copy is removed."""
    (tmp_path / "small").write_bytes(b"content")
    cloud.rot = 1
    with pytest.raises(DamagedError):
        store.put(tmp_path / "small", "small")
    assert store.digest("small") is None


def test_the_last_reply_is_lost(store: S3Store, cloud: StrictCloud, tmp_path: Path) -> None:
    """What is there already is not sent again."""
    (tmp_path / "small").write_bytes(b"content")
    cloud.lose["PUT"] = 3
    with pytest.raises(CouldNotObserveError):
        store.put(tmp_path / "small", "small")
    before = cloud.calls["PUT"]
    assert store.put(tmp_path / "small", "small") == digest_of(tmp_path / "small")
    assert cloud.calls["PUT"] == before


def test_a_key_that_is_refused(store: S3Store, cloud: StrictCloud, tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"content")
    cloud.refuse["PUT"] = "AccessDenied"
    with pytest.raises(RefusedError):
        store.put(tmp_path / "small", "small")
