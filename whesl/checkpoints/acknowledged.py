"""What a coordinator has acknowledged, on disk: a prediction outlives the coordinator that took it.

A small file in the job's private directory, replaced whole and synced before the answer is given.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from whesl.checkpoints.core.states_and_events import Known
from whesl.runtime.wire import keys

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "acknowledged"


def save(home: Path, known: Known) -> None:
    """Write down what was acknowledged.

    Args:
        home: the job's private directory.
        known: with times of ``time.monotonic``.

    Raises:
        OSError: it cannot be written.
    """
    keys.write_private(home / _NAME, msgspec.json.encode(_moved(known, time.time() - time.monotonic())))


def load(home: Path) -> Known:
    """Return what an earlier coordinator has acknowledged; nothing where there is none. As ``save``.

    Raises:
        OSError: it could not be read, which does not say that nothing was acknowledged.
    """
    try:
        content = (home / _NAME).read_bytes()
        known = msgspec.json.decode(content, type=Known)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Known()
    return _moved(known, time.monotonic() - time.time())


def end_request(home: Path) -> None:
    """Forget a request for a checkpoint of a program that has ended; predicted failures stay.

    Raises:
        OSError: as of ``save`` and ``load``.
    """
    known = load(home)
    if known.asked:
        save(home, replace(known, asked=""))


def _moved(known: Known, seconds: float) -> Known:
    """Return the same times by a clock that differs by ``seconds``."""
    foretold = {name: replace(one, fails_at=one.fails_at + seconds) for name, one in known.foretold.items()}
    return replace(known, foretold=foretold)
