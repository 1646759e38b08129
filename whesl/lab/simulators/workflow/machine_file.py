"""Reader of the machine that workflows run on, as TOML, and of predictors by their command-line names."""

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
# Default bandwidth between two nodes in bytes a second: 10 Gbit/s.
BANDWIDTH = 1.25e9


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
    """Nodes and the network between them.

    Attributes:
        speed: relative speed of each node, shape (nodes,); a task takes its run time / speed.
        bandwidth: bandwidth between two nodes, in bytes a second.
    """

    speed: NDArray[np.float64]
    bandwidth: float


def uniform(nodes: int, bandwidth: float = BANDWIDTH) -> Machine:
    """Return a machine of nodes with speed 1.

    Args:
        nodes: number of nodes.
        bandwidth: bandwidth between two nodes, in bytes a second.
    """
    return Machine(np.ones(nodes), bandwidth)


class _Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of equal nodes, given by names or number."""

    names: str = ""
    count: int = 0
    speed: float = 1.0
    cpus: int = 1


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a file of resources; keys that do not concern workflows are allowed."""

    nodes: list[_Group] | int
    bandwidth: float = BANDWIDTH
    name: str = ""
    zone: str = ""
    checkpoint: float = 0.0


def read(path: Path) -> Machine:
    """Read a machine from a file: ``bandwidth`` in bytes a second, ``nodes`` as a number or as ``[[nodes]]``.

    Args:
        path: the file.

    Raises:
        UsageError: the file cannot be read, is no TOML, or has unknown keys or values; the message names the
            line.
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
    """Return a predictor by its name; it is fitted, if at all, to the failures before ``at``.

    Args:
        text: a name of ``whesl.lab.predictor_evaluation.catalogue``.
        truth: the failures that will happen.
        at: arrival of the first workflow, in seconds.
        seed: random seed of the predictor.
        threshold: least probability that is an alarm; None for the predictor's own threshold.

    Raises:
        UsageError: there is no predictor of that name, or no past to fit it to.
    """
    from whesl.lab.predictor_evaluation import catalogue  # loads numba

    found = catalogue.made(catalogue.asked(text), truth, at, seed)
    return found if threshold is None else found.at_threshold(threshold)
