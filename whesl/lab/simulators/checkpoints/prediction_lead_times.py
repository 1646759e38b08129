"""Lead times: the time from a prediction to the predicted failure.

The document shows the distribution of lead times only as a picture. The document's tables imply the
distribution: a failure is met if it is predicted (recall) and the lead time exceeds the action's duration, so
each ratio of met failures is one point of the distribution.
"""

from __future__ import annotations

from collections.abc import Iterable

from whesl.lab.simulators.checkpoints.machine_and_application_files import Leads
from whesl.model.errors import UsageError


def share_above(leads: Leads, seconds: float) -> float:
    """Return the share of lead times that are longer than a time.

    Args:
        leads: the distribution of lead times.
        seconds: the time, in seconds.
    """
    if seconds <= leads.seconds[0]:
        return leads.share[0]
    for index in range(1, len(leads.seconds)):
        if seconds <= leads.seconds[index]:
            low, high = leads.seconds[index - 1], leads.seconds[index]
            part = (seconds - low) / (high - low)
            return leads.share[index - 1] * (1 - part) + leads.share[index] * part
    return 0.0


def calibrate(recall: float, met: Iterable[tuple[float, float]]) -> Leads:
    """Return the distribution of lead times that printed ratios of met failures imply.

    Points at nearly the same time (within 1 %) are averaged. A later point above an earlier point is averaged
    with it (pool adjacent violators). The curve is level before the first point and falls on beyond the last
    point.

    Args:
        recall: share of failures that are predicted at all.
        met: (duration of the action in seconds, share of all failures that the action met).

    Raises:
        UsageError: there are fewer than two points.
    """
    pools: list[
        list[float]
    ] = []  # lead time in seconds, share of failures with at least that, points averaged
    for seconds, ratio in sorted(met):
        share = min(ratio / recall, 1.0)
        if pools and seconds <= pools[-1][0] * 1.01:
            last = pools[-1]
            last[0] = (last[0] * last[2] + seconds) / (last[2] + 1)
            last[1] = (last[1] * last[2] + share) / (last[2] + 1)
            last[2] += 1
        else:
            pools.append([seconds, share, 1.0])
    if len(pools) < 2:
        raise UsageError(
            "lead times cannot be calibrated", hint="two printed ratios at different times are needed"
        )
    shares = _falling([(share, weight) for _, share, weight in pools])
    points = [(0.0, shares[0])]
    for (seconds, _, _), share in zip(pools, shares, strict=True):
        if share > 0.0:
            points.append((seconds, min(share, points[-1][1])))
    last_time, lowest = points[-1]
    before, higher = next(point for point in reversed(points) if point[1] > lowest)
    points.append((last_time + lowest * (last_time - before) / (higher - lowest), 0.0))
    return Leads(tuple(round(time, 2) for time, _ in points), tuple(round(share, 4) for _, share in points))


def _falling(points: list[tuple[float, float]]) -> list[float]:
    """Return the non-increasing values nearest to (value, weight) pairs by weighted least squares."""
    blocks: list[list[float]] = []  # mean, weight, count
    for value, weight in points:
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-1][0] > blocks[-2][0]:
            mean, heavy, count = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * heavy) / (last[1] + heavy)
            last[1] += heavy
            last[2] += count
    return [mean for mean, _, count in blocks for _ in range(int(count))]
