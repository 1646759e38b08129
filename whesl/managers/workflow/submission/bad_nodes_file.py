"""The file with the coordinator's bad nodes, which submission commands read without asking the coordinator.

A node on which jobs fail at once is always free, and so gets the next job, too (toil#5400). The file is a
list of ``BadNode`` as JSON, replaced as a whole; without a readable file, no node is avoided.
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
from whesl.model.bad_node_expiry import to_avoid
from whesl.model.workflow import BadNode


def bad_nodes_file(home: Path) -> Path:
    """Return the path of the bad nodes' file below WHESL_HOME."""
    return places.bad_nodes(home)


def publish(home: Path, nodes: Iterable[BadNode]) -> None:
    """Replace the bad nodes' file; where that fails, the old file stays, without an error.

    Args:
        home: WHESL_HOME.
        nodes: the bad nodes.
    """
    with contextlib.suppress(OSError):
        file_retry.replace(bad_nodes_file(home), msgspec.json.encode(list(nodes)))


def read(home: Path, now: float) -> tuple[str, ...]:
    """Return the names of the nodes to avoid (``to_avoid``).

    Args:
        home: WHESL_HOME.
        now: seconds since the epoch.
    """
    try:
        file = os.open(bad_nodes_file(home), os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(file, "rb") as source:
            known = msgspec.json.decode(source.read(), type=list[BadNode])
    except (OSError, *UNDECODABLE):
        return ()
    return to_avoid(known, now)
