"""Old logs as they lie around: plain, compressed by what the standard library reads, or in a pipe."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from whesl.model.errors import UsageError

# How compressed files begin: RFC 1952, bzip2's and xz's own descriptions.
_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
# RFC 8878, and lz4's frame format: nothing here reads them.
_OTHERS = {b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_LONGEST = 6


@contextlib.contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase | IO[bytes]]:
    """Open a log for reading its text from the beginning.

    Args:
        path: a file, a pipe or a device.

    Raises UsageError for a file that cannot be read, is damaged, or is compressed in a way that is not known.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = io.BufferedReader(raw)
            yield _text(file, file.peek(_LONGEST)[:_LONGEST], path)
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise UsageError(f"cannot read {path} to its end: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


def _text(file: IO[bytes], begin: bytes, path: Path) -> io.BufferedIOBase | IO[bytes]:
    if begin.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if begin.startswith(_BZIP2):
        return bz2.BZ2File(file)
    if begin.startswith(_XZ):
        return lzma.LZMAFile(file)
    for mark, program in _OTHERS.items():
        if begin.startswith(mark):
            raise UsageError(
                f"{path} is compressed by {program}", hint=f"{program} -dc {path} | whesl explain ... --log -"
            )
    return file
