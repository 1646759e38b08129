"""The machine that workflows run on, as TOML, and predictors by their names on the command line."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whesl.lab.readers.compressed import text
from whesl.model.errors import UsageError
from whesl.predict.accuracy import exact, none, of_accuracy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from whesl.predict.history import History
    from whesl.predict.port import Predictor

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


def read(path: Path) -> Machine:
    """Read a machine: ``bandwidth`` in bytes a second, and tables ``[[nodes]]`` with ``count`` and ``speed``.

    Args:
        path: the file.

    Raises:
        UsageError: it is no TOML, or holds something else; the message says where.
        WheslError: it cannot be read.
    """
    try:
        document = tomllib.loads(text(path))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    _known(path, document, {"bandwidth", "nodes"}, "")
    groups = document.get("nodes")
    if not isinstance(groups, list) or not groups:
        raise UsageError(
            f"{path}: no [[nodes]]", hint="[[nodes]] with count = 16 and speed = 1.0 is accepted"
        )
    speeds: list[float] = []
    for position, group in enumerate(groups):
        where = f"nodes[{position}]."
        if not isinstance(group, dict):
            raise UsageError(f"{path}: nodes[{position}]: a table is needed")
        _known(path, group, {"count", "speed"}, where)
        count = group.get("count", 1)
        if not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= 1_000_000:
            raise UsageError(f"{path}: {where}count is {count!r}, where a number of nodes is needed")
        speeds += [_positive(path, group.get("speed", 1.0), f"{where}speed")] * count
    return Machine(np.array(speeds), _positive(path, document.get("bandwidth", BANDWIDTH), "bandwidth"))


def _known(path: Path, table: dict[str, Any], names: set[str], where: str) -> None:
    for name in table:
        if name not in names:
            raise UsageError(
                f"{path}: {where}{name} is not known", hint=f"known are {', '.join(sorted(names))}"
            )


def _positive(path: Path, value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UsageError(f"{path}: {what} is {value!r}, where a number above 0 is needed")
    return float(value)


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
