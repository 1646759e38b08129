"""Small machines for tests."""

from __future__ import annotations

import numpy as np

from whesl.prediction.failures.failure_history import History, merged

HOUR, DAY = 3600.0, 86400.0


def weibull_machine(
    nodes: int = 20, days: float = 400.0, shape: float = 0.7, scale: float = 20 * DAY, seed: int = 1
) -> History:
    """Return a machine whose nodes fail after Weibull times and are back after two hours."""
    generator = np.random.default_rng(seed)
    failures = []
    for node in range(nodes):
        at = scale * generator.weibull(shape)
        while at < days * DAY:
            failures.append((node, at, at + 2 * HOUR))
            at += 2 * HOUR + scale * generator.weibull(shape)
    return merged(nodes, 0.0, days * DAY, failures)
