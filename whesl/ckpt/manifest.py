"""A checkpoint on disk: a directory with the ranks' parts, and a manifest that is written last.

A directory without a manifest, or whose manifest does not end with its own checksum, is no checkpoint. The
manifest is text, so that the C client reads it without a library.
"""

from __future__ import annotations

import os
import shutil
import zlib
from typing import TYPE_CHECKING, NamedTuple

from whesl.model import file_retry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAME = "manifest"


class Part(NamedTuple):
    """One rank's file.

    Attributes:
        rank: whose.
        bytes: its size.
        checksum: CRC-32, as of zlib.
        name: of the file, in the checkpoint's directory.
    """

    rank: int
    bytes: int
    checksum: int
    name: str


class Manifest(NamedTuple):
    """A whole checkpoint.

    Attributes:
        epoch: its number.
        step: the poll at which it was taken.
        parts: in the order of ranks.
        reason: why it was taken.
        took: seconds from its beginning until all parts were durable; 0 where that is not known.
    """

    epoch: int
    step: int
    parts: tuple[Part, ...]
    reason: str
    took: float = 0.0


def write(directory: Path, manifest: Manifest) -> None:
    """Write a manifest: fsync, rename, fsync of the directory.

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
    if len({part.name for part in manifest.parts}) != len(ranks):
        raise ValueError(f"checkpoint {manifest.epoch} has one file for several ranks")
    lines = [
        "whesl-checkpoint 1",
        f"epoch {manifest.epoch}",
        f"step {manifest.step}",
        f"ranks {len(ranks)}",
        f"took {manifest.took:.3f}",
        f"reason {' '.join(manifest.reason.split())}",
    ]
    for part in sorted(manifest.parts):
        if "/" in part.name or len(part.name.split()) != 1:
            raise ValueError(f"{part.name!r} is no name of a part")
        lines.append(f"part {part.rank} {part.bytes} {part.checksum:08x} {part.name}")
    text = "\n".join(lines) + "\n"
    content = f"{text}end {zlib.crc32(text.encode()):08x}\n".encode()
    folder = directory / str(manifest.epoch)
    beside = folder / f"{NAME}.writing"
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(folder / NAME)
    for synced in (folder, directory):
        file_retry.sync(synced)


def read(folder: Path) -> Manifest | None:
    """Return a checkpoint's manifest; None where it is not whole, or a part has not the size that it tells.

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
            Part(int(line[1]), int(line[2]), int(line[3], 16), line[4]) for line in words if line[0] == "part"
        )
        reason = next((" ".join(line[1:]) for line in words if line[0] == "reason"), "")
        manifest = Manifest(int(values["epoch"]), int(values["step"]), parts, reason, float(values["took"]))
    except (ValueError, IndexError, KeyError):
        return None
    if len(parts) != int(values.get("ranks", "0")) or str(manifest.epoch) != folder.name:
        return None
    for part in parts:
        try:
            if (folder / part.name).stat().st_size != part.bytes:
                return None
        except FileNotFoundError:
            return None
    return manifest


def numbers(directory: Path) -> list[int]:
    """Return the numbers of all checkpoints of which there is anything, whole or not, the newest first."""
    return sorted((int(entry.name) for entry in directory.iterdir() if entry.name.isdecimal()), reverse=True)


def whole(directory: Path) -> list[Manifest]:
    """Return all whole checkpoints, the newest first.

    Raises:
        OSError: the directory could not be read.
    """
    found = (read(directory / str(number)) for number in numbers(directory))
    return [manifest for manifest in found if manifest is not None]


def remove_old(directory: Path, keep: int, spared: Iterable[int] = ()) -> list[int]:
    """Remove all but the newest whole checkpoints, and what never became whole before them.

    Args:
        directory: of all checkpoints.
        keep: how many whole ones stay.
        spared: numbers that stay in any case.

    Returns:
        The numbers that were removed.
    """
    complete = [manifest.epoch for manifest in whole(directory)]
    if len(complete) < keep or keep < 1:
        return []
    oldest = complete[keep - 1]
    gone = [number for number in numbers(directory) if number < oldest and number not in spared]
    for number in gone:
        shutil.rmtree(directory / str(number), ignore_errors=True)
    return gone
