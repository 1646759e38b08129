"""Requests that people and programs leave in the directory of a task that has no coordinator.

Each exception that is raised from outside, and each prediction, is a file named by its id. It is removed when
the isolator's journal has it: an isolator that is killed between the two reads it again and knows the id.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.model.digest import hexdigest
from whesl.model.errors import RefusedError
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.wire.keys import private_directory
from whesl.runtime.wire.messages import Control, PredictFailure, RaiseException

LOG = logging.getLogger(__name__)
# The most that may wait: fewer than the ids that the isolator remembers.
MOST_WAITING = 32
# Seconds between two looks: at a paused task's control, and for raised exceptions.
LOOK_PAUSED = 1.0
LOOK = 0.5
# Seconds for which a prediction may have waited while no isolator ran.
LONGEST_LEFT = 3600.0


def leave(directory: Path, message: RaiseException | PredictFailure) -> None:
    """Leave an exception or a prediction, once for its id.

    Raises RefusedError when too many wait, HomeError, OSError.
    """
    private_directory(directory)
    path = _path(directory, message.id)
    if len(file_retry.names(directory)) >= MOST_WAITING and not path.exists():
        raise RefusedError(
            f"{message.task} has not taken {MOST_WAITING} exceptions and predictions of before",
            hint=f"does its isolator live? its log is {TaskDir(directory.parent).log}",
        )
    file_retry.replace(path, msgspec.json.encode(message))


def waits(directory: Path, identity: str) -> bool:
    """Whether the exception of an id has not been taken. Raises OSError."""
    return file_retry.exists(_path(directory, identity))


def _path(directory: Path, identity: str) -> Path:
    return directory / f"{hexdigest(identity.encode(), 16)}.json"


class Left:
    """Looks for requests that were left, from time to time.

    Args:
        directory: the task's.
    """

    def __init__(self, directory: TaskDir) -> None:
        self._directory = directory
        self._due = 0.0

    def next_deadline(self, now: float, *, paused: bool) -> float:
        """Return when to look again, by the same clock as ``now``."""
        return min(self._due, now + LOOK_PAUSED) if paused else self._due

    def taken(self, now: float, *, paused: bool) -> Iterator[Control | RaiseException | PredictFailure]:
        """Yield the requests that lie there; each file is removed after its request was handled."""
        if paused:
            yield from self._one(self._directory.control, Control)
        if now < self._due:
            return
        self._due = now + LOOK
        found: list[Path] = []
        with contextlib.suppress(OSError):  # no request, or one that is looked for again soon
            found = sorted(self._directory.raised.glob("*.json"))
        for path in found:
            for message in self._one(path, RaiseException | PredictFailure):
                yield _of_now(message)

    def _one(self, path: Path, kind: Any) -> Iterator[Control | RaiseException | PredictFailure]:
        with contextlib.suppress(OSError):
            message = decode_errors.load(path, kind)
            if message is not None:
                yield message
            elif not path.exists():
                return
            else:
                LOG.error("what was left in %s could not be understood", path)
            file_retry.remove(path)


def _of_now(message: Control | RaiseException | PredictFailure) -> Control | RaiseException | PredictFailure:
    """Return a prediction with the rest of its lead time, unless its sender's clock is far off."""
    if isinstance(message, PredictFailure):
        now = message.prediction.at(time.time())
        if 0 <= message.prediction.lead - now.lead <= LONGEST_LEFT:
            return msgspec.structs.replace(message, prediction=now)
    return message
