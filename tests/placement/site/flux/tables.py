"""Placement tables for tests of Flux's scheduler module."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from whesl.files import file_retry
from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.risk_table import NodeRisk, Table


def publish(path: Path, chances: Mapping[str, float], *, valid_for: float = 3600.0) -> Path:
    """Write a table in which each node fails within the next hour with a probability, and return its path."""
    rows = tuple(
        NodeRisk(node=node, probability=(chance,), reason=f"{node}: fans" if chance > 0.5 else "")
        for node, chance in chances.items()
    )
    now = time.time()
    made = Table(
        written=now,
        valid_until=now + valid_for,
        horizons=(3600.0,),
        nodes=rows,
        source="a test's word",
        thresholds=(0.5,),
    )
    file_retry.replace(path, risk_table.encode(made))
    return path
