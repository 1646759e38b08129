"""The interval in which a benchmark's median lies."""

from __future__ import annotations

import pytest

from benchmarks.intervals import interval


# The ranks of Conover's table for 95 %: the second and the ninth of ten, the sixth and fifteenth of twenty.
@pytest.mark.parametrize(
    ("count", "ranks"), [(2, (1, 2)), (5, (1, 5)), (6, (1, 6)), (10, (2, 9)), (20, (6, 15))]
)
def test_the_ranks_between_which_a_median_lies(count: int, ranks: tuple[int, int]) -> None:
    assert interval([float(rank) for rank in range(count, 0, -1)]) == ranks
