"""The status that the placement service reports."""

from __future__ import annotations

import msgspec


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The status that ``whesl placement status`` shows. Times are seconds since the epoch.

    ``held``: changes of nodes in force; ``refused``: changes that Slurm rejected, with the reason.
    """

    pid: int
    time: float
    active: bool
    period: float
    source: str = ""
    problem: str = ""
    cluster: str = ""
    nodes: int = 0
    at_risk: int = 0
    held: tuple[tuple[str, str, str], ...] = ()
    refused: tuple[tuple[str, str, str], ...] = ()
    would: tuple[tuple[str, str, str], ...] = ()
    figures: dict[str, int] = {}
    leaving: bool = False
