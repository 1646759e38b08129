"""LIMIT, WITHIN, BACKOFF and what comes after, on given times."""

from __future__ import annotations

from tests.runtime.operations.builders import spec
from whesl.runtime.operations.recovery_limits import Budget, backoff


def test_the_limit() -> None:
    exception = spec(limit=2).exceptions[0]
    budget = Budget()
    for ordinal in (1, 2):
        assert budget.decide(exception, ordinal, 0.0) == 0.0
        budget = budget.used(exception, ordinal, 0.0)
    assert budget.decide(exception, 3, 1e9) is None


def test_a_window_forgets() -> None:
    exception = spec(limit=1, limit_within=60.0).exceptions[0]
    budget = Budget().used(exception, 1, 100.0)
    assert budget.decide(exception, 2, 159.0) is None
    assert budget.decide(exception, 2, 160.0) == 0.0
    assert len(budget.used(exception, 2, 160.0).uses["E"]) == 1


def test_backoff_doubles_up_to_an_hour() -> None:
    exception = spec(limit=2000, backoff=10.0).exceptions[0]
    budget = Budget()
    waits = []
    for ordinal in range(12):
        waits.append(budget.decide(exception, ordinal, 0.0))
        budget = budget.used(exception, ordinal, 0.0)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    assert backoff(1.0, 100_000) == 3600.0


def test_the_same_ordinal_counts_once_and_is_judged_as_before() -> None:
    exception = spec(limit=1).exceptions[0]
    budget = Budget().used(exception, 7, 0.0)
    assert budget.used(exception, 7, 5.0) == budget
    assert budget.decide(exception, 7, 5.0) == 0.0


def test_a_limit_of_zero_never_recovers() -> None:
    assert Budget().decide(spec(limit=0).exceptions[0], 1, 0.0) is None
