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
from whesl.model.workflow import BadNode

# The most nodes to avoid: schedulers never use an excluded node, so a long list could keep large jobs from
# running.
LONGEST = 32


def bad_nodes_file(home: Path) -> Path:
    """Return the path of the bad nodes' file below WHESL_HOME."""
    return places.bad_nodes(home)


def publish(home: Path, nodes: Iterable[BadNode]) -> None:
    """Replace the bad nodes' file; where that fails, the old file stays, without an error.

    Args:
        home: WHESL_HOME.
        nodes: the bad nodes.
    """
    target = bad_nodes_file(home)
    beside = target.with_suffix(".new")
    with contextlib.suppress(OSError):
        file_retry.write(beside, msgspec.json.encode(list(nodes)))
        beside.replace(target)


def read(home: Path, now: float) -> tuple[str, ...]:
    """Return the names of the nodes to avoid, the latest first, at most ``LONGEST``.

    Args:
        home: WHESL_HOME.
        now: seconds since the epoch; expired and only suspected nodes are left out.
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
