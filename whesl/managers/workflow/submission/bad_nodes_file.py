"""Bad nodes for submission commands: the coordinator's memory as a file, which is read without asking it.

A node that eats jobs is always free, and so gets the next one too (toil#5400). The file is a list of
``BadNode`` as JSON, replaced as a whole; a missing or strange one means that no node is avoided.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.model.workflow import BadNode

# An exclusion is hard for a scheduler: a long list would leave large jobs nowhere to run.
LONGEST = 32


def bad_nodes_file(home: Path) -> Path:
    """Return the file's place below WHESL_HOME."""
    return places.bad_nodes(home)


def publish(home: Path, nodes: Iterable[BadNode]) -> None:
    """Replace the file. One that cannot be written leaves the old list, and nothing else fails for it."""
    target = bad_nodes_file(home)
    beside = target.with_suffix(".new")
    with contextlib.suppress(OSError):
        file_retry.write(beside, msgspec.json.encode(list(nodes)))
        beside.replace(target)


def read(home: Path, now: float) -> tuple[str, ...]:
    """Return the names of the nodes to avoid, the latest first, at most ``LONGEST``.

    Args:
        home: WHESL_HOME.
        now: seconds since the epoch; what has expired is left out, and what is only suspected.
    """
    try:
        file = os.open(bad_nodes_file(home), os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(file, "rb") as source:
            known = msgspec.json.decode(source.read(), type=list[BadNode])
    except (OSError, *UNDECODABLE):
        return ()
    lasting = [bad for bad in known if bad.expires > now and bad.excluded]
    lasting.sort(key=lambda bad: bad.time, reverse=True)
    return tuple(bad.node for bad in lasting[:LONGEST])
