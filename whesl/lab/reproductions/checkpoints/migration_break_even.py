"""When prioritized checkpoints beat live migration: equations (2.4) to (2.8) of the dissertation.

With alpha the data that a migration moves, in checkpoints, and sigma the share of failures that it avoids,
prioritized checkpoints meet beta = (alpha - 1 + sigma) / alpha of them (2.6), if lead times are uniform and
a node writes to the file system as fast as to another node. The document's (2.8) does not follow from its
(2.7): both are here.
"""

from __future__ import annotations

import math

from whesl.model.errors import UsageError


def met_by_checkpoints(alpha: float, sigma: float) -> float:
    """Return beta, (2.6)."""
    return (alpha - 1.0 + sigma) / alpha


def least_alpha(sigma: float, ratio: float = 1.0) -> float:
    """Return the alpha above which prioritized checkpoints win, as it follows from (2.7).

    Args:
        sigma: share of failures that migration avoids, from 0 to below 1.
        ratio: recomputation's share of model B's overhead by that of its checkpoints.

    Returns:
        The alpha; ``inf`` where migration always wins. At a ratio of 1 that is from sigma = 0.618 on.

    Raises:
        UsageError: an argument is out of its range.
    """
    if not 0.0 <= sigma < 1.0 or not 0.0 < ratio < math.inf:
        raise UsageError(f"sigma {sigma}, ratio {ratio}", hint="sigma from 0 to below 1, ratio above 0")
    if sigma == 0.0:
        return 1.0
    root = math.sqrt(1.0 - sigma)
    steep = ratio * (1.0 - sigma) / (1.0 - root)
    return steep / (steep - 1.0) if steep > 1.0 else math.inf


def least_alpha_printed(sigma: float) -> float:
    """Return the left side of (2.8) as it is printed."""
    return (sigma + 1.0) / (sigma + math.sqrt(1.0 - sigma))
