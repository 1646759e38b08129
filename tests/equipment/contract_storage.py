"""Contract tests of storages: all of ``whesl.cloud.transfer`` pass them.

A test module makes a subclass of ``StoreContract`` and gives it a fixture ``store``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whesl.cloud.transfer.port import DamagedError, Digest, Store, digest_of
from whesl.model.errors import RefusedError, UsageError


class StoreContract:
    """What has to hold for any storage."""

    @pytest.mark.parametrize("size", [0, 1, 100_000])
    def test_a_file_goes_and_comes_back(self, store: Store, tmp_path: Path, size: int) -> None:
        """Whole, with its checksum, also under a name of many directories and characters."""
        source, target = tmp_path / "source", tmp_path / "target" / "deep"
        source.write_bytes(os.urandom(size))
        name = "a/b c/d'$(x)-é.bin"
        expected = digest_of(source)
        assert store.put(source, name) == expected == store.digest(name)
        assert store.get(name, target, expected) == expected
        assert target.read_bytes() == source.read_bytes()

    def test_a_newer_content_replaces_the_older(self, store: Store, tmp_path: Path) -> None:
        """Of the same size and time too."""
        source = tmp_path / "source"
        for content in (b"first", b"other"):
            source.write_bytes(content)
            os.utime(source, (1.7e9, 1.7e9))
            assert store.put(source, "file") == digest_of(source) == store.digest("file")

    def test_what_is_not_there(self, store: Store, tmp_path: Path) -> None:
        """Is said, and removing it is no error."""
        assert store.digest("nothing") is None
        assert store.read_all("nothing") == {}
        with pytest.raises(RefusedError):
            store.get("nothing", tmp_path / "target")
        assert not (tmp_path / "target").exists()
        store.remove(["nothing"])

    def test_what_is_not_what_was_expected(self, store: Store, tmp_path: Path) -> None:
        """Is no result."""
        store.write("file", b"content")
        with pytest.raises(DamagedError):
            store.get("file", tmp_path / "target", Digest(size=7, sha256="0" * 64))
        assert not (tmp_path / "target").exists()

    def test_small_files(self, store: Store) -> None:
        """Are written over, and read all at once; those of directories below are left out."""
        for name, content in (("box/a", b"1"), ("box/b", b"2"), ("box/a", b"3"), ("box/below/c", b"4")):
            store.write(name, content)
        assert dict(store.read_all("box")) == {"box/a": b"3", "box/b": b"2"}
        store.remove(["box/a"])
        assert dict(store.read_all("box")) == {"box/b": b"2"}

    @pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "", "a\nb"])
    def test_names_stay_inside(self, store: Store, name: str) -> None:
        """A name that leads elsewhere is refused."""
        with pytest.raises(UsageError):
            store.write(name, b"")
