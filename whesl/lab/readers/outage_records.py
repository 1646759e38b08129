"""Outages of named nodes, and their conversion to a history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from whesl.lab.readers.failures import Loaded, Malformed
from whesl.prediction.failures.failure_history import merged

# Splits a name into texts and numbers, alternating.
_PARTS = re.compile(r"([0-9]+)").split


class Outage(NamedTuple):
    """One outage of a node; begin and end in seconds since 1970, ``inf`` for the end of a lasting outage."""

    node: str
    start: float
    end: float
    cause: str


@dataclass(slots=True)
class Found:
    """The records that a reader of outages has read so far.

    Attributes:
        outages: the outages in any order.
        known: names of all nodes in the log.
        moments: all times in the log, in seconds since 1970.
        lines: number of lines that hold a record, readable or not.
        malformed: the lines that cannot be read.
        elsewhere: number of records that are no outage, by kind of record.
    """

    outages: list[Outage] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    moments: list[float] = field(default_factory=list)
    lines: int = 0
    malformed: list[Malformed] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)

    def loaded(self, form: str) -> Loaded:
        """Return the outages as a history, with the nodes in natural order."""
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
    """Return names in natural order, which compares numbers by value: n9 before n10."""
    return sorted(names, key=_key)


def _key(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in _PARTS(f"{name}\0")]
