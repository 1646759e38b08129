"""The machine that workflows run on, as TOML, and predictors by their names on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from whesl.files import toml
from whesl.managers.resource.hostlist import expand

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from whesl.prediction.failures.failure_history import History
    from whesl.prediction.failures.predictor_base import ArrayPredictor

_ACCEPTED = 'bandwidth = 1.25e9; nodes = 16, or [[nodes]] count = 16 (or names = "n[01-16]"); speed = 1.0'
_MOST = 1_000_000
# Bytes a second between two nodes by default: 10 Gbit/s.
BANDWIDTH = 1.25e9


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
    """Nodes and what joins them.

    Attributes:
        speed: of each node; a task takes its run time divided by it, shape (nodes,).
        bandwidth: bytes a second between two nodes.
    """

    speed: NDArray[np.float64]
    bandwidth: float


def uniform(nodes: int, bandwidth: float = BANDWIDTH) -> Machine:
    """Return nodes of speed 1.

    Args:
        nodes: how many.
        bandwidth: bytes a second between two of them.
    """
    return Machine(np.ones(nodes), bandwidth)


class _Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that are alike, by their names or their number."""

    names: str = ""
    count: int = 0
    speed: float = 1.0
    cpus: int = 1


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of resources; what is not about workflows may stand in it."""

    nodes: list[_Group] | int
    bandwidth: float = BANDWIDTH
    name: str = ""
    zone: str = ""
    checkpoint: float = 0.0


def read(path: Path) -> Machine:
    """Read a machine: ``bandwidth`` in bytes a second, nodes by number or as ``[[nodes]]``.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, is no TOML, or says what is not known; with its line.
    """
    document = toml.load(path, _ACCEPTED)
    found = document.whole(_Form)
    speeds: list[float] = []
    groups = [_Group(count=found.nodes)] if isinstance(found.nodes, int) else found.nodes
    for number, group in enumerate(groups):
        if bool(group.names) == bool(group.count):
            document.wrong("nodes have names or a count", "nodes", number)
            continue
        try:
            count = len(expand(group.names)) if group.names else group.count
        except ValueError as error:
            document.wrong(str(error), "nodes", number, "names")
            continue
        if not 0 < count <= _MOST:
            document.wrong(f"count is {count}, where 1 to {_MOST:,} are possible", "nodes", number, "count")
            continue
        if group.speed <= 0:
            document.wrong(
                f"speed is {group.speed:g}, where a number above 0 is needed", "nodes", number, "speed"
            )
        speeds += [group.speed] * count
    if not groups:
        document.wrong("no nodes", "nodes")
    if found.bandwidth <= 0:
        document.wrong(f"bandwidth is {found.bandwidth:g}, where a number above 0 is needed", key="bandwidth")
    document.check()
    return Machine(np.array(speeds), found.bandwidth)


def predictor(text: str, truth: History, at: float, seed: int, threshold: float | None) -> ArrayPredictor:
    """Return a predictor by its name; those that are fitted see the failures before a time, then observe.

    Args:
        text: as ``whesl.lab.predictor_evaluation.catalogue`` names them.
        truth: the failures that will happen.
        at: when the first workflow arrives, in seconds.
        seed: of the draws.
        threshold: the probability from which on it says yes; None for its own.

    Raises:
        UsageError: there is none of that name, or there is no past to fit it to.
    """
    from whesl.lab.predictor_evaluation import catalogue  # loads what is compiled, and a machine does not

    found = catalogue.made(catalogue.asked(text), truth, at, seed)
    return found if threshold is None else found.at_threshold(threshold)
