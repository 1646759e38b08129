"""Files of text, packed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import TYPE_CHECKING

from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PACKED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
}
_NOT_READ = {
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x1f\x9d": "compress",
}


def unpacked(path: Path) -> bytes:
    """Return a file's content, unpacked when it is gzip, bzip2 or xz, whatever its name; no byte order mark.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, is damaged, packed in another way, or in UTF-16.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    for magic, name in _NOT_READ.items():
        if data.startswith(magic):
            raise UsageError(f"{path} is packed as {name}", hint="plain text, gzip, bzip2 and xz are read")
    try:
        for magic, unpack in _PACKED.items():
            if data.startswith(magic):
                data = unpack(data)
                break
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise UsageError(f"cannot read {path}: it is damaged: {error}", hint="is it whole?") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{path} is text in UTF-16", hint="iconv -f UTF-16 -t UTF-8 makes what is read")
    return data.removeprefix(b"\xef\xbb\xbf")


def text(path: Path) -> str:
    """Return a whole file as text, unpacked as by ``unpacked``.

    Args:
        path: the file.

    Raises:
        UsageError: as ``unpacked``, or it is no text in UTF-8.
    """
    try:
        return unpacked(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text: byte {error.start} is not UTF-8") from error
