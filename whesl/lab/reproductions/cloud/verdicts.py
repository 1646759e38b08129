"""Bootstrap of an evaluation's verdicts: each verdict is repeated on resampled cases.

A verdict depends on the drawn cases. The bootstrap (Efron 1979) estimates the verdict on other draws: cases
are resampled with replacement, all schedulers of a case together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from whesl.lab.reproductions.cloud.observation_checks import Rows
from whesl.lab.reproductions.registry import Finding
from whesl.lab.simulators.cloud.evaluate import Row

RESAMPLES = 100
# Least share of resamples with the same verdict, chosen in advance; with a smaller share the verdict is open.
SURE = 0.95


def verdicts(rows: Sequence[Row], judge: Callable[[Rows], list[Finding]]) -> list[Finding]:
    """Return findings whose verdict is None (open) where the resamples disagree.

    Args:
        rows: the evaluation's rows; those of each workflow and scheduler are in the order of the cases.
        judge: makes findings from rows, with thresholds that do not depend on the rows.

    Returns:
        The findings of ``judge`` on the rows; ``holds`` is None where less than the share ``SURE`` of the
        resamples gives the same verdict.
    """
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(row.workflow, {}).setdefault(row.scheduler, []).append(row)
    source = np.random.default_rng(0)
    agreed: dict[str, int] = {}
    found = judge(Rows(rows))
    for _ in range(RESAMPLES):
        drawn: list[Row] = []
        for schedulers in groups.values():
            count = min(map(len, schedulers.values()))
            places = source.integers(count, size=count)
            drawn += [mine[place] for mine in schedulers.values() for place in places]
        for first, again in zip(found, judge(Rows(drawn)), strict=True):
            agreed[first.name] = agreed.get(first.name, 0) + (first.holds == again.holds)
    return [_judged(one, agreed.get(one.name, 0) / RESAMPLES) for one in found]


def _judged(found: Finding, share: float) -> Finding:
    said = f"the same in {100 * share:.0f} % of the resamples"
    return Finding(
        found.name,
        found.source,
        found.statement,
        found.printed,
        found.measured,
        found.holds if share >= SURE else None,
        f"{found.difference}; {said}" if found.difference else said,
        found.why,
    )
