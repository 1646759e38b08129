"""The survival model of a site with a short history: a prior from other machines and the site's failures.

The prior is from the failure records of 17 systems of Los Alamos National Laboratory, 1996 to 2005
(LA-UR-05-7318: those with 50 failures and 5 nodes or more). For each, a Weibull distribution of a node's time
to failure was fitted; the median of the shapes is ``SHAPE``. With this shape each system's cumulative hazard
is ``(age / scale) ** SHAPE``; ``scale ** -SHAPE`` differs between systems as a gamma distribution of shape
``FAILURES`` and rate ``EXPOSURE`` does (moments of its logarithm). ``FRAILTY`` is the median weight of a
node's own rate. The tests fit all of it anew where the records are at hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_time_distributions import Law
from whesl.prediction.failures.survival import Fitted, Survival

SHAPE = 0.57
FAILURES = 1.5  # weight of the prior in failures
EXPOSURE = 24.2  # the prior's exposure, in node-days to the power of SHAPE
FRAILTY = 3.4
AGE = 180 * 86400.0  # assumed uptime in seconds of all nodes at the begin of the history
SOURCE = (
    "a Weibull distribution of shape 0.57 with the weight of 1.5 failures, and a weight of 3.4 failures of "
    "each node's own rate: the fits of 17 systems of Los Alamos (LA-UR-05-7318, 1996 to 2005)"
)


def fit(history: History, threshold: float = 0.5) -> Survival:
    """Return the survival model of the prior, updated by a history.

    Args:
        history: the history, which may have no failures.
        threshold: probability from which ``will_fail`` is true.
    """
    longer = aged(history)
    lives = longer.lifetimes()
    begin = np.where(lives.begin < history.begin, history.begin - lives.begin, 0.0) / 86400.0
    end = (lives.end - lives.begin) / 86400.0
    exposure = float((end**SHAPE - begin**SHAPE).sum())
    rate = (FAILURES + int(lives.failed.sum())) / (EXPOSURE + exposure)
    scale = 86400.0 * rate ** (-1.0 / SHAPE)
    fitted = Fitted((Law("weibull", (SHAPE, scale)),), np.zeros(history.nodes, dtype=np.int64), FRAILTY, {})
    return Survival("prior", fitted, longer, threshold)


def aged(history: History) -> History:
    """Return a copy of a history whose nodes have been up for ``AGE`` at its begin."""
    entry, leave = history.service()
    return replace(history, entry=entry - AGE, exit=leave)
