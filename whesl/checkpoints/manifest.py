"""A checkpoint on disk: a directory with the ranks' parts, and a manifest that is written last.

A directory without a manifest, or whose manifest does not end with its own checksum, is no checkpoint. The
manifest is text, so that the C client reads it without a library. A directory with the file ``begun`` and
without a manifest belongs to a checkpoint that never became whole.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from whesl.files import file_retry
from whesl.model.errors import UsageError

NAME = "manifest"
BEGUN = "begun"  # name of an empty file, made first, whose time is the checkpoint's begin
_BLOCK = 1 << 20


class Part(NamedTuple):
    """One rank's file, or its share of a shared file.

    Attributes:
        rank: the rank that wrote it.
        bytes: size of the part.
        checksum: CRC-32 of the part, by zlib.
        name: name of the file in the checkpoint's directory.
        offset: begin of the share in bytes; 0 for a file of this rank's own.
    """

    rank: int
    bytes: int
    checksum: int
    name: str
    offset: int = 0


class Manifest(NamedTuple):
    """The manifest of a whole checkpoint.

    Attributes:
        epoch: number of the checkpoint.
        step: number of the poll at which it was taken.
        parts: the ranks' parts, in the order of ranks.
        reason: reason for the checkpoint.
        took: seconds from the checkpoint's begin until all parts were durable; 0 for unknown.
    """

    @property
    def bytes(self) -> int:
        """The size of all parts."""
        return sum(part.bytes for part in self.parts)

    epoch: int
    step: int
    parts: tuple[Part, ...]
    reason: str
    took: float = 0.0


def write(directory: Path, manifest: Manifest) -> None:
    """Write a manifest durably, with the checkpoint's duration (fsync, rename, fsync of the directory).

    Args:
        directory: directory of all checkpoints.
        manifest: manifest of a checkpoint whose parts are all durable.

    Raises:
        OSError: the manifest cannot be written.
        ValueError: a rank or a name occurs twice, a rank is missing, or a name has a slash or a blank.
    """
    ranks = [part.rank for part in manifest.parts]
    if sorted(ranks) != list(range(len(ranks))) or not ranks:
        raise ValueError(f"checkpoint {manifest.epoch} has parts of ranks {sorted(ranks)}")
    for name, shares in _files(manifest).items():
        if any(share.offset != at for share, at in zip(shares, _offsets(shares), strict=True)):
            raise ValueError(f"checkpoint {manifest.epoch} has one file for several ranks: {name}")
    folder = directory / str(manifest.epoch)
    beside = folder / f"{NAME}.writing"
    took = _since_begun(beside) or manifest.took
    lines = [
        "whesl-checkpoint 1",
        f"epoch {manifest.epoch}",
        f"step {manifest.step}",
        f"ranks {len(ranks)}",
        f"took {took:.3f}",
        f"reason {' '.join(manifest.reason.split())}",
    ]
    for part in sorted(manifest.parts):
        if "/" in part.name or len(part.name.split()) != 1:
            raise ValueError(f"{part.name!r} is no name of a part")
        lines.append(f"part {part.rank} {part.bytes} {part.checksum:08x} {part.name} {part.offset}")
    text = "\n".join(lines) + "\n"
    content = f"{text}end {zlib.crc32(text.encode()):08x}\n".encode()
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(folder / NAME)
    (folder / BEGUN).unlink(missing_ok=True)
    for synced in (folder, directory):
        file_retry.sync(synced)


def read(folder: Path) -> Manifest | None:
    """Return a checkpoint's manifest; None where it is not whole, or a part has another size.

    Raises:
        OSError: the manifest or a part could not be read, although it may exist.
    """
    manifest = told(folder)
    return None if manifest is None or damage(folder, manifest, sizes_alone=True) else manifest


def damage(folder: Path, manifest: Manifest, *, sizes_alone: bool = False) -> list[str]:
    """Return a sentence for each error in a checkpoint's files; an empty list for whole files.

    Args:
        folder: directory of the checkpoint.
        manifest: the checkpoint's manifest.
        sizes_alone: whether only sizes are compared, without reading the files.

    Raises:
        OSError: a file could not be read, so it is unknown whether it is damaged.
    """
    found = []
    for name, shares in _files(manifest).items():
        try:
            size = (folder / name).stat().st_size
            if size != (right := sum(share.bytes for share in shares)):
                found.append(f"{name} has {size} bytes, and had {right}")
            elif not sizes_alone:
                found += [
                    f"{name} is not what rank {share.rank} has written"
                    for share in shares
                    if checksum(folder / name, share.offset, share.bytes)[1] != share.checksum
                ]
        except FileNotFoundError:
            found.append(f"{name} is missing")
    return found


def described(folder: Path, *, verify: bool) -> dict[str, Any]:
    """Return a checkpoint's description for output as text and JSON.

    Args:
        folder: directory of the checkpoint.
        verify: whether the parts are read and compared with their checksums.

    Raises:
        OSError: the checkpoint could not be read.
    """
    one = told(folder)
    damaged = damage(folder, one, sizes_alone=not verify) if one else []
    return {
        "checkpoint": int(folder.name),
        "whole": one is not None and not damaged,
        "verified": one is not None and verify,
        "damage": damaged,
        "step": one.step if one else None,
        "ranks": len(one.parts) if one else None,
        "bytes": one.bytes if one else None,
        "seconds": one.took or None if one else None,
        "reason": one.reason if one else None,
    }


def measured(directory: Path) -> dict[str, float]:
    """Return the median seconds and bytes of a directory's whole checkpoints, and their number.

    Raises:
        UsageError: the directory cannot be read, or no checkpoint there was measured.
    """
    from statistics import median  # imported here, since it is slow to load and clients import this module

    try:
        found = [one for one in whole(directory) if one.took > 0]
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}", hint="name the directory of checkpoints") from None
    if not found:
        raise UsageError(
            f"{directory} has no checkpoint that was measured",
            hint="take one (`whesl ckpt request`), or give --cost",
        )
    return {
        "checkpoints": len(found),
        "seconds": median(one.took for one in found),
        "bytes": median(one.bytes for one in found),
    }


def checksum(path: Path, offset: int = 0, most: int | None = None) -> tuple[int, int]:
    """Return the size in bytes and the CRC-32 (by zlib) of a file's content, or of a part of it.

    Args:
        path: the file.
        offset: byte at which the part begins.
        most: largest number of bytes of the part; None for all up to the file's end.

    Raises:
        OSError: the file cannot be read.
    """
    size = crc = 0
    with path.open("rb") as file:
        file.seek(offset)
        while block := file.read(_BLOCK if most is None else min(_BLOCK, most - size)):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return size, crc


def told(folder: Path) -> Manifest | None:
    """Return a checkpoint's manifest without a look at the parts; None without a valid manifest.

    Raises:
        OSError: the manifest could not be read, although it may exist.
    """
    try:
        content = (folder / NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    text, found, end = content.rpartition(b"end ")
    if not found or end != f"{zlib.crc32(text):08x}\n".encode():
        return None
    try:
        words = [line.split() for line in text.decode().splitlines()]
        values = {line[0]: line[1] for line in words if len(line) == 2}
        parts = tuple(
            Part(int(line[1]), int(line[2]), int(line[3], 16), line[4], int(line[5]))
            for line in words
            if line[0] == "part"
        )
        reason = next((" ".join(line[1:]) for line in words if line[0] == "reason"), "")
        manifest = Manifest(int(values["epoch"]), int(values["step"]), parts, reason, float(values["took"]))
    except (ValueError, IndexError, KeyError):
        return None
    if len(parts) != int(values.get("ranks", "0")) or str(manifest.epoch) != folder.name:
        return None
    return manifest


def _files(manifest: Manifest) -> dict[str, list[Part]]:
    """Return the shares of each file, in the order of their offsets."""
    found: dict[str, list[Part]] = {}
    for part in sorted(manifest.parts, key=lambda part: (part.offset, part.rank)):
        found.setdefault(part.name, []).append(part)
    return found


def _offsets(shares: list[Part]) -> list[int]:
    """Return the offset at which each of a file's shares has to begin."""
    return [sum(share.bytes for share in shares[:index]) for index in range(len(shares))]


def begin(directory: Path, number: int) -> None:
    """Make and mark the directory of a checkpoint that begins or is continued.

    Args:
        directory: directory of all checkpoints, made where it does not exist.
        number: the checkpoint's number.

    Raises:
        OSError: the directory cannot be made.
    """
    directory.mkdir(mode=0o700, exist_ok=True)  # the user may have removed the directory of all checkpoints
    folder = directory / str(number)
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        (folder / BEGUN).touch(mode=0o600, exist_ok=False)


def _since_begun(beside: Path) -> float:
    """Return the seconds since a checkpoint's begin by the file system's clock; 0 without ``begun``.

    ``beside``: the file that will become the manifest, which is made now.
    """
    try:
        begun = (beside.parent / BEGUN).stat().st_mtime
    except FileNotFoundError:
        return 0.0
    beside.unlink(missing_ok=True)
    beside.touch(mode=0o600)
    return max(beside.stat().st_mtime - begun, 0.0)


def clear(directory: Path, number: int) -> None:
    """Remove the files of a checkpoint that was given up; its directory stays for ranks that still write.

    Args:
        directory: directory of all checkpoints.
        number: the checkpoint's number; the files of a whole checkpoint stay.

    Raises:
        OSError: a file cannot be removed.
    """
    folder = directory / str(number)
    if not _never_whole(folder):
        return
    for file in folder.iterdir():
        if file.name != BEGUN:
            file.unlink(missing_ok=True)


def remove_unfinished(directory: Path, before: int) -> None:
    """Remove checkpoints that never became whole.

    Args:
        directory: directory of all checkpoints.
        before: checkpoints with this number or a larger one stay.

    Raises:
        OSError: the directory could not be read.
    """
    for number in numbers(directory):
        if number < before and _never_whole(directory / str(number)):
            shutil.rmtree(directory / str(number), ignore_errors=True)


def _never_whole(folder: Path) -> bool:
    """Return whether a directory belongs to a checkpoint that began and is not whole."""
    return (folder / BEGUN).exists() and not (folder / NAME).exists()


def numbers(directory: Path) -> list[int]:
    """Return the numbers of all existing checkpoints, whole or not, the newest first."""
    return sorted((int(entry.name) for entry in directory.iterdir() if entry.name.isdecimal()), reverse=True)


def _folders(directory: Path) -> list[Path]:
    return [directory / str(number) for number in numbers(directory)]


def whole(directory: Path) -> list[Manifest]:
    """Return all whole checkpoints, the newest first.

    Raises:
        OSError: the directory could not be read.
    """
    found = map(read, _folders(directory))
    return [manifest for manifest in found if manifest is not None]


def newest(directory: Path) -> int:
    """Return the number of the newest whole checkpoint, 0 for none. Raises OSError."""
    return next((number for number in numbers(directory) if (directory / str(number) / NAME).exists()), 0)


def remove_old(directory: Path, keep: int, spared: Iterable[int] = ()) -> list[int]:
    """Remove old whole checkpoints, among those with the newest checkpoint's number of ranks.

    A checkpoint of another number of ranks belongs to another program, and stays.

    Args:
        directory: directory of all checkpoints.
        keep: number of whole checkpoints that stay.
        spared: numbers of checkpoints that stay in any case.

    Returns:
        The numbers of the removed checkpoints.
    """
    found = [manifest for manifest in map(told, _folders(directory)) if manifest is not None]
    kept = whole(directory)
    complete = [one.epoch for one in kept if len(one.parts) == len(kept[0].parts)]
    if len(complete) < keep or keep < 1:
        return []
    of_this = [one.epoch for one in found if len(one.parts) == len(kept[0].parts)]
    gone = [number for number in of_this if number < complete[keep - 1] and number not in spared]
    for number in gone:
        shutil.rmtree(directory / str(number), ignore_errors=True)
    return gone
