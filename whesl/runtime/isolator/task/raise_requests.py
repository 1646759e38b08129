"""Requests that users and programs leave in the directory of a task without a coordinator.

Each exception raised from outside, and each prediction, is a file named by its id. The file is removed when
the isolator's journal has the request: an isolator that is restarted in between reads the file again, and
knows the id.
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
# Largest number of waiting requests, below the number of ids that the isolator remembers.
MOST_WAITING = 32
# Seconds between two looks at the control file of a paused task, and at the directory of raised exceptions.
LOOK_PAUSED = 1.0
LOOK = 0.5
# Longest wait in seconds by which a prediction's lead time is reduced; a longer one shows a wrong clock.
LONGEST_LEFT = 3600.0


def leave(directory: Path, message: RaiseException | PredictFailure) -> None:
    """Leave an exception or a prediction, once per id.

    Args:
        directory: the directory of the task's requests.
        message: the request.

    Raises RefusedError when too many requests wait, HomeError, OSError.
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
    """Whether a request still waits for the isolator. Raises OSError.

    Args:
        directory: the directory of the task's requests.
        identity: the request's id.
    """
    return file_retry.exists(_path(directory, identity))


def _path(directory: Path, identity: str) -> Path:
    return directory / f"{hexdigest(identity.encode(), 16)}.json"


class Left:
    """Looks periodically for requests in a task's directory.

    Args:
        directory: the task's directory.
    """

    def __init__(self, directory: TaskDir) -> None:
        self._directory = directory
        self._due = 0.0

    def next_deadline(self, now: float, *, paused: bool) -> float:
        """Return when to look again, on the clock of ``now``.

        Args:
            now: a monotonic clock's time in seconds.
            paused: whether the task is paused.
        """
        return min(self._due, now + LOOK_PAUSED) if paused else self._due

    def taken(self, now: float, *, paused: bool) -> Iterator[Control | RaiseException | PredictFailure]:
        """Yield the waiting requests; each file is removed after its request was handled.

        Args:
            now: a monotonic clock's time in seconds.
            paused: whether the task is paused, so that its control file is read, too.
        """
        if paused:
            yield from self._one(self._directory.control, Control)
        if now < self._due:
            return
        self._due = now + LOOK
        found: list[Path] = []
        with contextlib.suppress(OSError):  # no directory, or the directory is read again soon
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
    """Return a request, a prediction with the rest of its lead time unless its sender's clock is wrong."""
    if isinstance(message, PredictFailure):
        now = message.prediction.at(time.time())
        if 0 <= message.prediction.lead - now.lead <= LONGEST_LEFT:
            return msgspec.structs.replace(message, prediction=now)
    return message
