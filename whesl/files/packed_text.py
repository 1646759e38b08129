"""Files of text, plain or packed, or from a pipe; their first bytes tell how they are packed."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# The first bytes of compressed files: RFC 1952, and the formats of bzip2 and xz.
_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
# The first bytes by RFC 8878 and lz4's frame format; optional libraries read these.
_ZSTD, _LZ4 = b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"
_NOT_READ = {b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"\x1f\x9d": "compress"}
_LONGEST = 6
_READ = 1 << 18  # packed bytes that are decompressed at once


@contextlib.contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading its text from the beginning, unpacked whatever its name.

    Args:
        path: a file, a pipe or a device.

    Raises UsageError for a file that cannot be read, is damaged, or has an unknown compression.
    """
    try:
        with path.open("rb", buffering=0) as raw:
            file = io.BufferedReader(raw)
            yield _unpacked(file, file.peek(_LONGEST)[:_LONGEST], path) or file
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.strerror:  # gzip and bzip2 raise OSError without any, too
            raise UsageError(f"cannot read {path}: {error.strerror}") from error
        raise UsageError(f"cannot read {path} to its end: it is damaged: {error}") from error


def _unpacked(file: IO[bytes], begin: bytes, path: Path) -> io.BufferedIOBase | None:
    """Return the text of a compressed file; None for a file that is not compressed."""
    if begin.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if begin.startswith(_BZIP2):
        return bz2.BZ2File(file)
    if begin.startswith(_XZ):
        return lzma.LZMAFile(file)
    if begin.startswith(_ZSTD):
        return _zstd(file, path)
    if begin.startswith(_LZ4):
        return _lz4(file, path)
    return None


def _zstd(file: IO[bytes], path: Path) -> io.BufferedReader:
    try:
        import zstandard
    except ImportError:
        raise _missing("zstd", path) from None
    return io.BufferedReader(
        _Frames(file, lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError)
    )


def _lz4(file: IO[bytes], path: Path) -> io.BufferedReader:
    try:
        import lz4.frame
    except ImportError:
        raise _missing("lz4", path) from None
    return io.BufferedReader(_Frames(file, lz4.frame.LZ4FrameDecompressor, RuntimeError))


def _missing(program: str, path: Path) -> UsageError:
    return UsageError(
        f"{path} is compressed by {program}",
        hint=f"pip install 'whesl[logs]', or {program} -dc {path} into a pipe and - in the file's place",
    )


def unpacked(path: Path) -> bytes:
    """Return a whole file, unpacked whatever its name; no byte order mark.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, is damaged, packed in another way, or in UTF-16.
    """
    with opened(path) as file:
        data = file.read()
    for magic, name in _NOT_READ.items():
        if data.startswith(magic):
            raise UsageError(f"{path} is packed as {name}", hint="gzip, bzip2, xz, zstd and lz4 are read")
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


class _Decompressor(Protocol):
    """A decompressor of one frame, with the interface of the standard library's decompressors."""

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""

    @property
    def unused_data(self) -> bytes | None:
        """The bytes behind the frame's end."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return the text of the next bytes."""


class _Frames(io.RawIOBase):
    """The text of consecutive compressed frames. An incomplete frame raises EOFError."""

    def __init__(self, file: IO[bytes], frame: Callable[[], _Decompressor], error: type[Exception]) -> None:
        self._file = file
        self._new_frame = frame
        self._error = error
        self._frame: _Decompressor | None = None
        self._packed = b""
        self._text = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._text:
            packed, self._packed = self._packed or self._file.read(_READ), b""
            if not packed:
                if self._frame is not None:
                    raise EOFError("it ends within a compressed frame")
                return 0
            self._text = self._decompressed(packed)
        part, self._text = self._text[: len(view)], self._text[len(view) :]
        view[: len(part)] = part
        return len(part)

    def _decompressed(self, packed: bytes) -> bytes:
        self._frame = self._frame or self._new_frame()
        try:
            text = self._frame.decompress(packed)
        except self._error as error:
            raise zlib.error(str(error)) from error
        if self._frame.eof:
            self._packed = self._frame.unused_data or b""
            self._frame = None
        return text
