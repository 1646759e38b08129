"""Features of a learned predictor: the past of a node, of its neighbours and of the machine, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.failures.compiled_predictor import by_node, rank
from whesl.prediction.failures.failure_history import History

Floats = NDArray[np.float64]

_HOUR, _DAY = 3600.0, 86400.0
_OWN = (1, 7, 30, 90, 365)  # windows in days over which a node's own failures are counted
_BESIDE = (1, 30)
_GROUP = (1 / 24, 1, 7, 30)
# Names of the feature columns, for evidence. Times are natural logarithms of seconds + 60; unknown values are
# NaN.
COLUMNS = (
    "the time since it was last back",
    "the time since its last failure",
    "the time since its last failure but one",
    "the time since its last failure but two",
    *(f"its failures in the last {days} d" for days in _OWN),
    "its failures per year of service",
    "its mean repair time",
    "its last repair time",
    "being down at present",
    "the cause of its last failure",
    "the hour of the day",
    "the day of the week",
    "its type",
    "its time in service",
    *(f"failures of the nodes beside it in the last {days} d" for days in _BESIDE),
    "the time since the last failure in its group",
    *(f"failures in its group in the last {days * 24:g} h" for days in _GROUP),
    "the time since the machine's last failure",
    *(f"failures of the machine in the last {days * 24:g} h" for days in _GROUP),
)


class Features:
    """Computes the features of nodes at given times, for many nodes and times at once.

    Args:
        history: the failures; failures after the time of a question are not used.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.entry, _ = history.service()
        nodes = history.nodes
        order, self.offsets = by_node(nodes, history.node, history.start)
        self.start = history.start[order]
        self.cause = history.cause[order]
        back = np.isfinite(history.end)
        node, start, end = history.node[back], history.start[back], history.end[back]
        order, self.back_offsets = by_node(nodes, node, end)
        self.back = end[order]
        self.repair = (end - start)[order]
        self.repaired = np.concatenate([[0.0], np.cumsum(self.repair)])
        self.kind = history.kind if len(history.kind) else np.zeros(nodes, dtype=np.int32)
        group = history.group if len(history.group) else np.zeros(nodes, dtype=np.int32)
        self.group = (group - group.min(initial=0)).astype(np.int64)
        order, self.group_offsets = by_node(
            int(self.group.max(initial=0)) + 1, self.group[history.node], history.start
        )
        self.group_start = history.start[order]

    def last_change(self, node: NDArray[Any], time: Floats) -> Floats:
        """Return when each node last failed, recovered, or came into service, in seconds.

        Args:
            node: indices of nodes, shape (questions,).
            time: time of each question in seconds, shape (questions,); changes at or before it are known.
        """
        return np.maximum(self._latest_back(node, time)[0], self._latest_failure(node, time))

    def _latest_failure(self, node: NDArray[Any], time: Floats) -> Floats:
        index = rank(self.offsets, self.start, node, time, inclusive=True) - 1
        entry = self.entry[node]
        return (
            np.where(index >= self.offsets[node], self.start[np.maximum(index, 0)], entry)
            if len(self.start)
            else entry
        )

    def _latest_back(self, node: NDArray[Any], time: Floats) -> tuple[Floats, NDArray[np.int64]]:
        count = rank(self.back_offsets, self.back, node, time, inclusive=True)
        entry = self.entry[node]
        if not len(self.back):
            return entry, count
        return np.where(count > self.back_offsets[node], self.back[np.maximum(count - 1, 0)], entry), count

    def table(self, node: NDArray[Any], time: Floats) -> NDArray[np.float32]:
        """Return one row of features for each question, with the columns ``COLUMNS``.

        Args:
            node: indices of nodes, shape (questions,).
            time: time of each question in seconds, shape (questions,); failures at or before it are known.
        """
        node = node.astype(np.int64)
        first = self.offsets[node]
        index = rank(self.offsets, self.start, node, time, inclusive=True)
        failures = index - first
        latest_back, backs = self._latest_back(node, time)
        back_first = self.back_offsets[node]
        repairs = backs - back_first
        columns = [_log(time - latest_back)]
        for ago in (1, 2, 3):
            there = failures >= ago
            when = self.start[np.where(there, index - ago, 0)] if len(self.start) else time
            columns.append(np.where(there, _log(time - when), np.nan))
        for days in _OWN:
            before = rank(self.offsets, self.start, node, time - days * _DAY, inclusive=True)
            columns.append((index - before).astype(np.float64))
        served = np.maximum(time - self.entry[node], _DAY)
        columns.append(failures / (served / (365 * _DAY)))
        mean = (self.repaired[backs] - self.repaired[back_first]) / np.maximum(repairs, 1)
        columns.append(np.where(repairs > 0, _log(mean), np.nan))
        last = self.repair[np.maximum(backs - 1, 0)] if len(self.repair) else np.zeros(len(node))
        columns.append(np.where(repairs > 0, _log(last), np.nan))
        columns.append((failures > repairs).astype(np.float64))
        cause = self.cause[np.maximum(index - 1, 0)] if len(self.cause) else np.zeros(len(node))
        columns.append(np.where(failures > 0, cause, np.nan))
        columns += [
            np.floor(time / _HOUR) % 24,
            (np.floor(time / _DAY) + 3) % 7,
            self.kind[node],
            _log(served),
        ]
        beside = np.zeros((len(_BESIDE), len(node)))
        for other in (node - 1, node + 1):
            inside = (other >= 0) & (other < self.history.nodes)
            there = np.where(inside, other, 0)
            now = rank(self.offsets, self.start, there, time, inclusive=True)
            for row, days in zip(beside, _BESIDE, strict=True):
                then = rank(self.offsets, self.start, there, time - days * _DAY, inclusive=True)
                row += np.where(inside, now - then, 0)
        columns += [*beside]
        columns += _around(self.group_offsets, self.group_start, self.group[node], time)
        machine = np.array([0, len(self.history.start)], dtype=np.int64)
        columns += _around(machine, self.history.start, np.zeros(len(node), dtype=np.int64), time)
        return np.stack(columns, axis=1).astype(np.float32)


def _around(offsets: NDArray[np.int64], start: Floats, row: NDArray[np.int64], time: Floats) -> list[Floats]:
    index = rank(offsets, start, row, time, inclusive=True)
    there = index > offsets[row]
    when = start[np.where(there, index - 1, 0)] if len(start) else time
    columns = [np.where(there, _log(time - when), np.nan)]
    for days in _GROUP:
        before = rank(offsets, start, row, time - days * _DAY, inclusive=True)
        columns.append((index - before).astype(np.float64))
    return columns


def _log(seconds: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(seconds, 0.0) + 60.0))
