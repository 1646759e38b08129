"""Checkpoint intervals: printed formulas, limits, and the least cost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.checkpoints.core import interval
from whesl.model.errors import UsageError


def test_young_and_daly() -> None:
    assert interval.young(120.0, 86400.0) == pytest.approx(math.sqrt(2 * 120 * 86400))
    # Daly's higher-order term makes it shorter by nearly one checkpoint here.
    assert interval.daly(120.0, 86400.0) == pytest.approx(4474.3, abs=1.0)
    assert interval.daly(500.0, 200.0) == 200.0


def test_migration_makes_the_interval_longer_as_printed() -> None:
    # The printed stretch of 54 to 340 % is that of sigma = 0.578 and 0.948.
    base = interval.young(60.0, 1e5)
    assert interval.with_migration(60.0, 1e5, 0.578) / base == pytest.approx(1.54, abs=0.005)
    assert interval.with_migration(60.0, 1e5, 0.948) / base == pytest.approx(4.39, abs=0.01)


@given(
    cost=st.floats(1.0, 300.0),
    between=st.floats(1e4, 1e6),
    recall=st.floats(0.0, 0.9),
    precision=st.floats(0.1, 1.0),
    migrated=st.floats(0.0, 0.5),
    committed=st.floats(0.0, 0.5),
)
def test_no_other_interval_costs_less(
    cost: float, between: float, recall: float, precision: float, migrated: float, committed: float
) -> None:
    accuracy = interval.Accuracy(recall, precision, migrated, committed)
    best = interval.with_errors(cost, between, accuracy)
    unmet = (1 - recall * (migrated + committed)) / between
    proactive = recall * committed / precision / between

    def price(length: float) -> float:
        """Periodic checkpoints and lost work in a second: their renewal reward."""
        if proactive * length < 1e-9:
            return cost / length + unmet * length / 2
        rounds = proactive / math.expm1(proactive * length)
        return cost * rounds + unmet * (1 / proactive - length / math.expm1(proactive * length))

    assert all(
        price(best) <= price(best * factor) * (1 + 1e-9) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)
    )


def test_without_errors_it_is_the_document_s() -> None:
    every = interval.Accuracy(recall=1.0, precision=1.0, migrated=0.6, committed=0.0)
    assert interval.with_errors(60.0, 1e5, every) == pytest.approx(interval.with_migration(60.0, 1e5, 0.6))
    none = interval.Accuracy(recall=0.0, precision=1.0, migrated=0.6, committed=0.4)
    assert interval.with_errors(60.0, 1e5, none) == pytest.approx(interval.young(60.0, 1e5))


def test_what_is_impossible_is_said() -> None:
    with pytest.raises(UsageError, match="cost is -1"):
        interval.young(-1, math.nan)
    with pytest.raises(UsageError, match="no failure is left"):
        interval.with_migration(1, 1, 1.0)
    with pytest.raises(UsageError, match=r"recall is 1\.5"):
        interval.Accuracy(1.5, 1, 0, 0)
    with pytest.raises(UsageError, match="end in migrations"):
        interval.Accuracy(1, 1, 0.8, 0.4)
    with pytest.raises(UsageError, match="some precision"):
        interval.Accuracy(0.5, 0, 0.5, 0.1)
    with pytest.raises(UsageError, match="every failure"):
        interval.with_errors(1, 10, interval.Accuracy(1, 1, 1, 0))
