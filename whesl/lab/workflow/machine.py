"""The machine that workflows run on, as TOML, and predictors by their names on the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from whesl.lab import toml
from whesl.lab.toml import line_of
from whesl.model.errors import UsageError
from whesl.predict.accuracy import exact, none, of_accuracy
from whesl.rjms.hostlist import expand

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from whesl.predict.history import History
    from whesl.predict.port import Predictor

_ACCEPTED = 'bandwidth = 1.25e9; [[nodes]] count = 16 (or names = "n[01-16]"); speed = 1.0'
_MOST = 1_000_000
# Bytes a second between two nodes where nothing is said: 10 Gbit/s.
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

    nodes: list[_Group]
    bandwidth: float = BANDWIDTH
    name: str = ""
    zone: str = ""
    checkpoint: float = 0.0


def read(path: Path) -> Machine:
    """Read a machine: ``bandwidth`` in bytes a second, ``[[nodes]]`` with ``count`` or ``names``, ``speed``.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, is no TOML, or says what is not known; with its line.
    """
    found, text = toml.read(path, _Form, _ACCEPTED)
    speeds: list[float] = []
    for group in found.nodes:
        if bool(group.names) == bool(group.count):
            raise UsageError(f"{path}{line_of(text, 'nodes')}: nodes have names or a count", hint=_ACCEPTED)
        try:
            count = len(expand(group.names)) if group.names else group.count
        except ValueError as error:
            raise UsageError(f"{path}{line_of(text, 'names')}: {error}") from error
        if not 0 < count <= _MOST:
            raise UsageError(
                f"{path}{line_of(text, 'count')}: count is {count}, where 1 to {_MOST:,} are possible"
            )
        speeds += [_positive(path, text, group.speed, "speed")] * count
    if not speeds:
        raise UsageError(f"{path}: no nodes", hint=_ACCEPTED)
    return Machine(np.array(speeds), _positive(path, text, found.bandwidth, "bandwidth"))


def _positive(path: Path, text: str, value: float, what: str) -> float:
    if not 0 < value < math.inf:
        raise UsageError(
            f"{path}{line_of(text, what)}: {what} is {value:g}, where a number above 0 is needed"
        )
    return value


def predictor(spec: str, truth: History, seed: int) -> Predictor:
    """Return the predictor of a name: ``none``, ``exact``, or ``aoa:A[:MIX]``.

    Args:
        spec: the name.
        truth: the failures that will happen.
        seed: of the draws.

    Raises:
        UsageError: there is none of that name, or an accuracy outside 0 to 1.
    """
    name, *words = spec.split(":")
    if name == "none" and not words:
        return none(truth.nodes)
    if name == "exact" and not words:
        return exact(truth)
    if name == "aoa" and 1 <= len(words) <= 2:
        try:
            aoa, mix = float(words[0]), float(words[1]) if len(words) == 2 else 0.5
        except ValueError:
            pass
        else:
            return of_accuracy(truth, aoa, mix, seed)
    raise UsageError(
        f"no predictor {spec!r}",
        hint="accepted are none, exact, aoa:A and aoa:A:MIX (A: accuracy, MIX: false positives' share of the"
        " wrong ones, both from 0 to 1)",
    )
