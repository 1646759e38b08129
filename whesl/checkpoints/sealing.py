"""Writes the manifest of a checkpoint whose parts are all durable, and computes a shared file's checksums."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue

from whesl.checkpoints import manifest
from whesl.checkpoints.core.states_and_events import Sealed
from whesl.checkpoints.manifest import Manifest, Part


class Sealing:
    """Writes manifests; a thread reads large shared files while the ranks compute."""

    def __init__(self) -> None:
        self._ended: SimpleQueue[Sealed] = SimpleQueue()

    def begin(self, directory: Path, made: Manifest, end: Callable[[Sealed], object]) -> None:
        """Write a manifest; ``end`` gets the result at once, or a later ``ended()`` returns it.

        Args:
            directory: directory of all checkpoints.
            made: the checkpoint's manifest; parts of the same name are shares of one file.
            end: called with the result.
        """
        names = Counter(part.name for part in made.parts)
        if max(names.values(), default=1) == 1:
            end(_sealed(directory, made))
            return
        thread = threading.Thread(
            target=lambda: self._ended.put(_sealed(directory, made)), name="sealing", daemon=True
        )
        thread.start()

    def ended(self) -> list[Sealed]:
        """Return the checkpoints whose sealing has ended since the last call."""
        return [self._ended.get() for _ in range(self._ended.qsize())]


def _sealed(directory: Path, made: Manifest) -> Sealed:
    try:
        parts = shares(directory / str(made.epoch), made.parts)
        manifest.write(directory, made._replace(parts=parts))
    except (OSError, ValueError) as error:
        return Sealed(epoch=made.epoch, why=f"the manifest cannot be written: {error}")
    return Sealed(epoch=made.epoch)


def shares(folder: Path, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts; those of a shared file become equal shares of it, each with its own checksum.

    Before a restore every rank verifies its own share, so the whole file is read once.

    Args:
        folder: directory of the checkpoint.
        parts: the ranks' reports; the parts of a shared file are computed anew.

    Raises:
        OSError: a file cannot be read.
    """
    by_name: dict[str, list[Part]] = {}
    for part in sorted(parts):
        by_name.setdefault(part.name, []).append(part)
    made: list[Part] = []
    for name, of_file in by_name.items():
        if len(of_file) == 1:
            made += of_file
            continue
        size = (folder / name).stat().st_size
        each = -(-size // len(of_file))
        for index, part in enumerate(of_file):
            offset = min(index * each, size)
            most = min(each, size - offset)
            found, crc = manifest.checksum(folder / name, offset, most)
            made.append(part._replace(bytes=found, checksum=crc, offset=offset))
    return tuple(sorted(made))
