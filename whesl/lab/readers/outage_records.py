"""Outages of named nodes as a history."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.readers.failures import Loaded, Malformed
from whesl.prediction.failures.failure_history import merged

if TYPE_CHECKING:
    from collections.abc import Iterable


# Texts and numbers in turn.
_PARTS = re.compile(r"([0-9]+)").split


class Outage(NamedTuple):
    """One node's time out of service: times in seconds since 1970, ``inf`` where it has not ended."""

    node: str
    start: float
    end: float
    cause: str


@dataclass(slots=True)
class Found:
    """What a reader of outages has found so far.

    Attributes:
        outages: in any order.
        known: names of all nodes.
        moments: times that the log tells of, in seconds since 1970.
        lines: how many lines hold a record, readable or not.
        malformed: those that could not be read.
        elsewhere: how many records are no outage, by what they are.
    """

    outages: list[Outage] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    moments: list[float] = field(default_factory=list)
    lines: int = 0
    malformed: list[Malformed] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)

    def loaded(self, form: str) -> Loaded:
        """Return the record as a history of nodes, with the nodes' names in order."""
        names = in_order(self.known.union(outage.node for outage in self.outages))
        index = {name: number for number, name in enumerate(names)}
        failures = [(index[outage.node], outage.start, outage.end) for outage in self.outages]
        causes = [outage.cause or "unknown" for outage in self.outages]
        history = merged(len(names), min(self.moments), max(self.moments), failures, causes)
        return Loaded(
            replace(history, names=tuple(names)),
            form,
            self.lines,
            np.sort([outage.start for outage in self.outages]),
            tuple(self.malformed),
            self.elsewhere,
        )


def in_order(names: Iterable[str]) -> list[str]:
    """Return names in order, with their numbers as numbers: n9 before n10."""
    return sorted(names, key=_key)


def _key(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in _PARTS(f"{name}\0")]
