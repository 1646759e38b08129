"""Break-even of prioritized checkpoints and live migration: equations (2.4) to (2.8) of the dissertation.

Alpha is the amount of data that a migration moves, in checkpoints; sigma is the share of failures that
migration avoids. Prioritized checkpoints meet the share beta = (alpha - 1 + sigma) / alpha of the failures
(2.6), if lead times are uniform and a node writes to the file system as fast as to another node. Inequality
(2.8) of the document does not follow from (2.7); this module has both.
"""

from __future__ import annotations

import math

from whesl.model.errors import UsageError


def met_by_checkpoints(alpha: float, sigma: float) -> float:
    """Return beta of equation (2.6), the share of failures that prioritized checkpoints meet.

    Args:
        alpha: data that a migration moves, in checkpoints.
        sigma: share of failures that migration avoids.
    """
    return (alpha - 1.0 + sigma) / alpha


def least_alpha(sigma: float, ratio: float = 1.0) -> float:
    """Return the alpha above which prioritized checkpoints cost less than migration, by equation (2.7).

    Args:
        sigma: share of failures that migration avoids, from 0 to below 1.
        ratio: recomputation overhead of model B divided by its checkpoint overhead.

    Returns:
        The alpha; ``inf`` if migration always costs less, which holds for sigma above 0.618 at a ratio of 1.

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
    """Return the left side of (2.8) as the document prints it."""
    return (sigma + 1.0) / (sigma + math.sqrt(1.0 - sigma))
