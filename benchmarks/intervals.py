"""Between which measured values the median lies, whatever their distribution is."""

from __future__ import annotations

import math
from collections.abc import Sequence


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return two of the values between which the median lies with at least this confidence.

    By order statistics: the share of the binomial distribution (n, 1/2) between two ranks (Conover,
    Practical Nonparametric Statistics, section 3.2). Few values give no such ranks: then the extremes.
    """
    ordered, count = sorted(values), len(values)
    cut, outside = 0, 0.0
    for rank in range(count // 2):
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 1 - confidence:
            break
        cut = rank
    return ordered[cut], ordered[count - 1 - cut]
