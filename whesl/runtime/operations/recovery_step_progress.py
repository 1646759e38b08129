"""A step's progress, which survives a crash: a small file for each step in the task's directory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model.digest import hexdigest
from whesl.runtime.operations.recovery_plan import RecoveryError


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """``chosen``: the root in use; ``moving``: originals are being replaced, so the choice is final."""

    chosen: str = ""
    moving: bool = False
    rejected: dict[str, str] = {}


def token(step: str) -> str:
    """Return 16 hexadecimal digits that stand for a step in file names."""
    return hexdigest(step.encode(errors="surrogateescape"), 8)


class ProgressFile:
    """The record of one step; replaced atomically.

    Args:
        directory: the task's directory; made when it is missing.
        step: the step's id.
    """

    def __init__(self, directory: Path, step: str) -> None:
        self._path = directory / f"step-{token(step)}.json"

    def read(self) -> Progress:
        """Return the last record, an empty record before the first.

        Raises RecoveryError for an unreadable file.
        """
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Progress)
        except FileNotFoundError:
            return Progress()
        except (OSError, *UNDECODABLE) as error:
            raise RecoveryError(f"{self._path} cannot be read: {error}") from None

    def write(self, progress: Progress) -> None:
        """Replace the record on the disk. Raises OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file_retry.replace(self._path, msgspec.json.encode(progress), durable=True)
