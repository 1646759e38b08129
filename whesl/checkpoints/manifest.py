"""A checkpoint on disk: a directory with the ranks' parts, and a manifest that is written last.

A directory without a manifest, or whose manifest does not end with its own checksum, is no checkpoint. The
manifest is text, so that the C client reads it without a library. A directory that has the mark of its
beginning and no manifest never became whole.
"""

from __future__ import annotations

import os
import shutil
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from whesl.files import file_retry
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAME = "manifest"
BEGUN = "begun"  # an empty file that is made first: its time is that of the checkpoint's beginning
_BLOCK = 1 << 20


class Part(NamedTuple):
    """One rank's file, or its share of a file that all ranks have written.

    Attributes:
        rank: the rank that wrote it.
        bytes: its size.
        checksum: CRC-32, as of zlib.
        name: of the file, in the checkpoint's directory.
        offset: where the share begins, in bytes; 0 for a file of this rank's own.
    """

    rank: int
    bytes: int
    checksum: int
    name: str
    offset: int = 0


class Manifest(NamedTuple):
    """A whole checkpoint.

    Attributes:
        epoch: its number.
        step: the poll at which it was taken.
        parts: in the order of ranks.
        reason: why it was taken.
        took: seconds from its beginning until all parts were durable; 0 where that is not known.
    """

    @property
    def bytes(self) -> int:
        """How much all parts hold."""
        return sum(part.bytes for part in self.parts)

    epoch: int
    step: int
    parts: tuple[Part, ...]
    reason: str
    took: float = 0.0


def write(directory: Path, manifest: Manifest) -> None:
    """Write a manifest, with what the checkpoint took: fsync, rename, fsync of the directory.

    Args:
        directory: of all checkpoints.
        manifest: of a checkpoint all of whose parts are durable.

    Raises:
        OSError: it cannot be written.
        ValueError: a rank or a name is there twice, a rank is missing, or a name has a slash or a blank.
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
    """Return a checkpoint's manifest; None where it is not whole, or a part has not the size that it tells.

    Raises:
        OSError: it could not be read, which does not say that it is not there.
    """
    manifest = told(folder)
    return None if manifest is None or damage(folder, manifest, sizes_alone=True) else manifest


def damage(folder: Path, manifest: Manifest, *, sizes_alone: bool = False) -> list[str]:
    """Return what is wrong with a checkpoint's files, a sentence for each; nothing where they are whole.

    Args:
        folder: of the checkpoint.
        manifest: its own.
        sizes_alone: whether their content is left unread.

    Raises:
        OSError: a file could not be read, which does not say that it is damaged.
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
    """Return what is known of a checkpoint, for people and programs.

    Args:
        folder: of the checkpoint.
        verify: whether its parts are read and compared with their checksums.

    Raises:
        OSError: it could not be seen.
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
    """Return the median time in seconds and size in bytes of a directory's whole checkpoints, and how many.

    Raises:
        UsageError: the directory cannot be read, or no checkpoint there was measured.
    """
    from statistics import median  # heavy, and clients import this module

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
    """Return how many bytes a file has from an offset on, at most so many, and their CRC-32 as of zlib."""
    size = crc = 0
    with path.open("rb") as file:
        file.seek(offset)
        while block := file.read(_BLOCK if most is None else min(_BLOCK, most - size)):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return size, crc


def told(folder: Path) -> Manifest | None:
    """Return what a checkpoint's manifest tells, whatever became of the parts; None where it has none.

    Raises:
        OSError: it could not be read, which does not say that it is not there.
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
    """Return the shares of each file, in their order in it."""
    found: dict[str, list[Part]] = {}
    for part in sorted(manifest.parts, key=lambda part: (part.offset, part.rank)):
        found.setdefault(part.name, []).append(part)
    return found


def _offsets(shares: list[Part]) -> list[int]:
    """Return where each of a file's shares has to begin."""
    return [sum(share.bytes for share in shares[:index]) for index in range(len(shares))]


def begin(directory: Path, number: int) -> None:
    """Make the directory of a checkpoint that begins, or is taken up, and mark it.

    Raises:
        OSError: it cannot be made.
    """
    directory.mkdir(mode=0o700, exist_ok=True)  # the user may have removed it; its parent exists
    folder = directory / str(number)
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        (folder / BEGUN).touch(mode=0o600, exist_ok=False)


def _since_begun(beside: Path) -> float:
    """Return seconds since the mark, by the clock of the file system; 0 where there is no mark.

    ``beside``: the file that is to become the manifest; it is made now.
    """
    try:
        begun = (beside.parent / BEGUN).stat().st_mtime
    except FileNotFoundError:
        return 0.0
    beside.unlink(missing_ok=True)
    beside.touch(mode=0o600)
    return max(beside.stat().st_mtime - begun, 0.0)


def clear(directory: Path, number: int) -> None:
    """Free what a checkpoint has taken that was given up; its directory stays for ranks that still write.

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
    """Remove what never became whole, of numbers below one.

    Raises:
        OSError: the directory could not be read.
    """
    for number in numbers(directory):
        if number < before and _never_whole(directory / str(number)):
            shutil.rmtree(directory / str(number), ignore_errors=True)


def _never_whole(folder: Path) -> bool:
    """Whether a directory is of a checkpoint that was begun, and is not whole."""
    return (folder / BEGUN).exists() and not (folder / NAME).exists()


def numbers(directory: Path) -> list[int]:
    """Return the numbers of all checkpoints of which there is anything, whole or not, the newest first."""
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
    """Remove all but the newest whole checkpoints of as many ranks as the newest has.

    One of another number of ranks is another program's, and stays.

    Args:
        directory: of all checkpoints.
        keep: how many whole ones stay.
        spared: numbers that stay in any case.

    Returns:
        The numbers that were removed.
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
