"""The manifest of a checkpoint whose parts are all durable; a file of all ranks gets its checksums here."""

from __future__ import annotations

import threading
from collections import Counter
from queue import SimpleQueue
from typing import TYPE_CHECKING

from whesl.checkpoints import manifest
from whesl.checkpoints.core.states_and_events import Sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from whesl.checkpoints.manifest import Manifest, Part


class Sealing:
    """Writes manifests; a large file of all ranks is read in a thread, while the ranks compute."""

    def __init__(self) -> None:
        self._ended: SimpleQueue[Sealed] = SimpleQueue()

    def begin(self, directory: Path, made: Manifest, end: Callable[[Sealed], object]) -> None:
        """Write a manifest: ``end`` is called at once, or what it is to be called with is in ``ended`` later.

        Args:
            directory: of all checkpoints.
            made: the checkpoint's manifest; parts of the same name are shares of one file.
            end: takes how it ended.
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
    """Return the parts, where those of one file are equal shares of it, each with its own checksum.

    So every rank verifies its share before the file is restored, and all of it is read once.

    Args:
        folder: of the checkpoint.
        parts: as the ranks have reported them; those of a file of several ranks are computed anew.

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
