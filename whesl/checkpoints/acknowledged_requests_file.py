"""Stores acknowledged predictions and requests on disk, so that they outlive their coordinator.

The store is a small file in the job's private directory, replaced and synced before the coordinator answers.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from msgspec.structs import replace

from whesl.checkpoints.core.states_and_events import Known
from whesl.files import file_retry

_NAME = "acknowledged"


def save(home: Path, known: Known) -> None:
    """Store the acknowledged predictions and requests.

    Args:
        home: the job's private directory.
        known: the predictions and requests, with times of ``time.monotonic``.

    Raises:
        OSError: the file cannot be written.
    """
    content = msgspec.json.encode(_moved(known, time.time() - time.monotonic()))
    file_retry.replace(home / _NAME, content, durable=True)


def load(home: Path) -> Known:
    """Return what an earlier coordinator has acknowledged (see ``save``); empty where there was none.

    Raises:
        OSError: the file could not be read, so it is unknown what was acknowledged.
    """
    try:
        content = (home / _NAME).read_bytes()
        known = msgspec.json.decode(content, type=Known)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Known()
    return _moved(known, time.monotonic() - time.time())


def end_request(home: Path) -> None:
    """Remove the request for a checkpoint after the program has ended; predicted failures stay.

    Raises:
        OSError: the file cannot be read or written.
    """
    known = load(home)
    if known.asked:
        save(home, replace(known, asked=""))


def _moved(known: Known, seconds: float) -> Known:
    """Return predictions with their times moved by ``seconds``, to another clock."""
    foretold = {name: replace(one, fails_at=one.fails_at + seconds) for name, one in known.foretold.items()}
    return replace(known, foretold=foretold)
