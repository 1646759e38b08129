"""The published table: for each node the probability of a failure within several horizons, and the reason.

The table is one JSON file, which is replaced atomically. Schedulers' plugins, ``whesl run --placement`` and
people read it. A reader trusts nothing: it checks the file's type, size, numbers and names.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import CouldNotObserveError, UsageError
from whesl.model.printable import visible
from whesl.prediction.failures.port import Predictor

# Horizons in seconds: half an hour to a week. A job is placed by the shortest horizon that holds its time
# limit.
HORIZONS = (1800.0, 3600.0, 7200.0, 14400.0, 28800.0, 86400.0, 172800.0, 604800.0)
MOST_NODES = 200_000
MOST_HORIZONS = 16
MOST_BYTES = 64 * 1024 * 1024
_LONGEST_NAME = 255
_LONGEST_REASON = 200
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
# Share of the threshold below which a node's probability is not explained, since explanations cost time.
_WORTH_A_REASON = 0.25


class NodeRisk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The failure risk of a node.

    ``probability``: that the node fails within each horizon, from 0 to 1. ``expected``: mean seconds until
    its failure, None if no failure is expected within the horizons. ``reason``: one sentence, or "".
    """

    node: str
    probability: tuple[float, ...]
    expected: float | None = None
    reason: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The published table. Times are seconds since the epoch; horizons are seconds, ascending.

    ``source``: name of the predictor. ``thresholds``: for each horizon, the probability from which a node is
    at risk, above 1 if no node can be (``whesl.placement.policies.exclude_list_choice.thresholds``).
    ``active``: whether schedulers act on the table, or only report what they would do. ``cluster``: name of
    the cluster, "" for any.
    """

    written: float
    valid_until: float
    horizons: tuple[float, ...]
    nodes: tuple[NodeRisk, ...]
    source: str
    thresholds: tuple[float, ...]
    active: bool = False
    cluster: str = ""
    format: int = 1

    def horizon(self, seconds: float) -> int:
        """Return the index of the shortest horizon of at least ``seconds``, or of the longest horizon."""
        return next(
            (index for index, one in enumerate(self.horizons) if seconds <= one), len(self.horizons) - 1
        )

    def at_risk(self, row: NodeRisk) -> bool:
        """Return whether a node is at risk within one of the horizons."""
        return any(chance >= bound for chance, bound in zip(row.probability, self.thresholds, strict=True))


def make(
    predictor: Predictor,
    names: Sequence[str],
    now: float,
    *,
    valid_for: float,
    horizons: Sequence[float] = HORIZONS,
    active: bool = False,
    cluster: str = "",
    places: Sequence[int] | None = None,
    fitted: float = 86400.0,
) -> Table:
    """Return the table that a predictor gives.

    Args:
        predictor: gives the failure probabilities of nodes.
        names: names of the nodes, in the predictor's order if ``places`` is None.
        now: the current time, in seconds since the epoch, which is the predictor's epoch too.
        valid_for: seconds from ``now`` on until the table expires.
        horizons: the table's horizons in seconds, ascending.
        active: whether schedulers act on the table.
        cluster: name of the cluster, "" for any.
        places: the predictor's index of each name; -1 for a node unknown to the predictor, which is expected
            never to fail.
        fitted: the horizon for which the predictor's threshold was fitted, in seconds.

    Raises:
        UsageError: names, horizons or times are invalid in a table.
    """
    import numpy as np  # numpy is in the extra ``predict``; readers of tables do not need it

    from whesl.placement.policies.exclude_list_choice import thresholds

    index = np.arange(len(names)) if places is None else np.asarray(places, dtype=np.int64)
    chances = np.zeros((len(names), len(horizons)))
    known = np.flatnonzero(index >= 0)
    if len(known):
        chances[known] = predictor.probability(
            index[known][:, None], np.full((1, 1), now), np.asarray(horizons, dtype=np.float64)[None, :]
        )
    bounds = np.full(len(horizons), float(predictor.compiled().threshold))
    if len(known):
        usual = predictor.probability(index[known], np.full(1, now), np.full(1, fitted))
        bounds = thresholds(chances[known].mean(axis=0), float(bounds[0]), float(usual.mean()))
    rows = []
    for at, name in enumerate(names):
        probability = tuple(round(float(value), 6) for value in chances[at])
        reason = ""
        worst = next((h for h, value in enumerate(probability) if value >= bounds[h]), len(horizons) - 1)
        if probability and probability[worst] >= bounds[worst] * _WORTH_A_REASON > 0:
            said = predictor.explain(int(index[at]), now, float(horizons[worst])).evidence
            reason = short(said)
        rows.append(
            NodeRisk(
                node=name, probability=probability, expected=expected(probability, horizons), reason=reason
            )
        )
    table = Table(
        written=now,
        valid_until=now + valid_for,
        horizons=tuple(map(float, horizons)),
        nodes=tuple(rows),
        source=visible(predictor.name),
        thresholds=tuple(map(float, bounds)),
        active=active,
        cluster=cluster,
    )
    if wrong := flaw(table):
        raise UsageError(f"this table cannot be published: {wrong}")
    return table


def expected(probability: Sequence[float], horizons: Sequence[float]) -> float | None:
    """Return the mean time to failure in seconds: the integral of the survival function.

    The survival function is linear between horizons, and keeps the last interval's hazard after the last
    horizon.

    Args:
        probability: probability of a failure within each horizon.
        horizons: the horizons in seconds, ascending.

    Returns:
        The mean time to failure in seconds; None if no failure is expected within the horizons.
    """
    if not probability or probability[-1] <= 0.0:
        return None
    total, before, survived = 0.0, 0.0, 1.0
    hazard = 0.0
    for chance, horizon in zip(probability, horizons, strict=True):
        left = min(1.0 - chance, survived)
        total += (survived + left) / 2.0 * (horizon - before)
        if 0.0 < left < survived:
            hazard = math.log(survived / left) / (horizon - before)
        before, survived = horizon, left
    if survived > 0.0:
        hazard = hazard or -math.log(survived) / before
        total += survived / hazard
    return round(total, 1)


def flaw(table: Table) -> str:
    """Return the first problem of a table, "" for a valid table."""
    times = (table.written, table.valid_until, *table.thresholds, *table.horizons)
    if table.format != 1:
        return f"its format is {table.format}, not 1"
    if not all(map(math.isfinite, times)) or not all(0.0 < one <= 2.0 for one in table.thresholds):
        return "a time or a threshold in it is no such number"
    if not 0 < len(table.horizons) <= MOST_HORIZONS:
        return f"it has {len(table.horizons)} horizons; 1 to {MOST_HORIZONS} are possible"
    if table.horizons[0] <= 0 or list(table.horizons) != sorted(set(table.horizons)):
        return "its horizons do not ascend from above 0 s"
    if len(table.thresholds) != len(table.horizons):
        return "it has no threshold for each horizon"
    if len(table.nodes) > MOST_NODES:
        return f"it has {len(table.nodes)} nodes, more than {MOST_NODES}"
    if len({row.node for row in table.nodes}) != len(table.nodes):
        return "a node is twice in it"
    for row in table.nodes:
        if not is_name(row.node):
            return f"{visible(row.node[:80])!r} is no node's name"
        if len(row.probability) != len(table.horizons) or not all(0 <= p <= 1 for p in row.probability):
            return f"{row.node} has no probability from 0 to 1 for each horizon"
        if row.expected is not None and not (math.isfinite(row.expected) and row.expected >= 0):
            return f"{row.node} has no possible time to failure"
        if len(row.reason) > _LONGEST_REASON or visible(row.reason) != row.reason:
            return f"the reason of {row.node} is too long or not printable"
    return ""


def is_name(text: str) -> bool:
    """Return whether a text can be a node's name: letters, digits, ``_``, ``.``, ``-``, no ``-`` first."""
    return 0 < len(text) <= _LONGEST_NAME and text[0] != "-" and _NAME.issuperset(text)


def encode(table: Table) -> bytes:
    """Return a table as the bytes of its file."""
    return msgspec.json.encode(table)


def decode(data: bytes) -> Table:
    """Return the table in a file's bytes.

    Args:
        data: the bytes, which need not be trusted.

    Raises:
        CouldNotObserveError: the bytes are not a whole, valid table; the message gives the reason.
    """
    try:
        table = msgspec.json.decode(data, type=Table)
    except UNDECODABLE as error:
        raise CouldNotObserveError(f"the placement table cannot be read: {visible(str(error))}") from None
    if wrong := flaw(table):
        raise CouldNotObserveError(f"the placement table cannot be used: {wrong}")
    return table


def read(path: Path) -> Table:
    """Return the table in a file.

    Raises:
        CouldNotObserveError: the file is missing, not a regular file, too large, or not a table.
    """
    return decode(read_bytes(path))


def fresh(table: Table, now: float) -> bool:
    """Return whether a table may be used: it has not expired, and was not written in the future.

    Args:
        table: the table.
        now: the current time, in seconds since the epoch.
    """
    return table.written - _CLOCKS <= now < table.valid_until


_CLOCKS = 300.0  # largest difference of two hosts' clocks, in seconds


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return a published file's bytes; a symbolic link, a pipe or a device is not read.

    Args:
        path: the file.
        most: largest number of bytes of the file.

    Raises:
        CouldNotObserveError: the file cannot be read; the message says why.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise CouldNotObserveError(f"the placement table {path} is no plain file")
            data = file.read(most + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CouldNotObserveError(
            f"the placement table {path} cannot be read: {reason}",
            hint="whesl placement serve writes it; whesl doctor says what is installed",
        ) from None
    if len(data) > most:
        raise CouldNotObserveError(f"the placement table {path} has more than {most} bytes")
    return data


def short(text: str) -> str:
    """Return a reason in the form that a table holds: printable, one line, and short enough."""
    line = " ".join(visible(text).split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"
