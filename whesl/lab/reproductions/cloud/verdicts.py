"""How sure the verdicts of an evaluation are: each is judged again on cases that are drawn from its own.

A verdict depends on which cases were drawn. The bootstrap (Efron 1979) asks how it would have come out with
others: cases are drawn anew, with repetition, all schedulers of a case together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.reproductions.cloud.observation_checks import Rows
from whesl.lab.reproductions.registry import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whesl.lab.simulators.cloud.evaluate import Row

RESAMPLES = 100
# A statement is open unless so large a share of the resamples agrees on it (chosen beforehand).
SURE = 0.95


def verdicts(
    rows: Sequence[Row], judge: Callable[[Rows], list[Finding]], *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Finding]:
    """Return findings that say whether they hold only where chance does not decide.

    Args:
        rows: of an evaluation, those of each workflow and scheduler in the order of their cases.
        judge: from rows to findings, with thresholds that do not depend on the rows.
        resamples: how many times the cases are drawn anew.
        seed: of the draws.

    Returns:
        What ``judge`` says of the rows. A finding that comes out the same in less than ``SURE`` of the
        resamples neither holds nor does not (None).
    """
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(row.workflow, {}).setdefault(row.scheduler, []).append(row)
    source = np.random.default_rng(seed)
    agreed: dict[str, int] = {}
    found = judge(Rows(rows))
    for _ in range(resamples):
        drawn: list[Row] = []
        for schedulers in groups.values():
            count = min(map(len, schedulers.values()))
            places = source.integers(count, size=count)
            drawn += [mine[place] for mine in schedulers.values() for place in places]
        for first, again in zip(found, judge(Rows(drawn)), strict=True):
            agreed[first.name] = agreed.get(first.name, 0) + (first.holds == again.holds)
    return [_judged(one, agreed.get(one.name, 0) / max(1, resamples)) for one in found]


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
