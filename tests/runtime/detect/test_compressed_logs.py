"""Compressed logs: read as the text that they hold, refused with a hint, or told to be damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from whesl.files.packed_text import opened
from whesl.model.errors import UsageError

TEXT = b"".join(b"step %d of many\n" % n for n in range(50_000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_the_text(kind: str, tmp_path: Path) -> None:
    """Also of files put one behind the other, as logrotate and parallel compressors write them."""
    log = tmp_path / f"a.{kind}"
    log.write_bytes(PACKERS[kind](TEXT) + PACKERS[kind](b"the last line\n"))
    with opened(log) as file:
        assert file.read() == TEXT + b"the last line\n"


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged(kind: str, tmp_path: Path) -> None:
    packed = PACKERS[kind](TEXT)
    log = tmp_path / f"a.{kind}"
    log.write_bytes(packed[: len(packed) // 2] + bytes(200))
    with pytest.raises(UsageError, match="cannot read"), opened(log) as file:
        while file.read(1 << 16):
            pass


@pytest.mark.parametrize(("kind", "library"), [("zst", "zstandard"), ("lz4", "lz4.frame")])
def test_without_the_extra(kind: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    log = tmp_path / f"a.{kind}"
    log.write_bytes(PACKERS[kind](TEXT))
    with pytest.raises(UsageError) as raised, opened(log):
        pass
    assert "whesl[logs]" in str(raised.value.hint)
