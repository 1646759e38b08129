"""The arithmetic behind the benchmarks of whole workflows."""

from __future__ import annotations

import pytest

from benchmarks.accounting import (
    longest_path,
    lost_work,
    pauses,
    saved,
    span,
    unavoidable,
    with_waits,
)

DIAMOND = {"left": ["top"], "right": ["top"], "bottom": ["left", "right"]}


def test_work_since_the_last_checkpoint_is_lost() -> None:
    stamps = [(10.0, "start"), (12.0, "checkpoint"), (14.0, "checkpoint"), (15.5, "failed")]
    assert lost_work(stamps) == 1.5
    # What passes until the next start is the recovery's, and what is done after it is not lost.
    assert lost_work([*stamps, (20.0, "start"), (22.0, "checkpoint"), (30.0, "end")]) == 1.5


def test_without_a_checkpoint_all_since_the_start_is_lost() -> None:
    assert lost_work([(10.0, "start"), (13.0, "failed"), (14.0, "start"), (20.0, "end")]) == 3.0
    # Another attempt that fails before its first checkpoint: it went on from the earlier one.
    again = [(0.0, "start"), (4.0, "checkpoint"), (5.0, "failed"), (7.0, "start"), (9.0, "failed")]
    assert lost_work(again) == 1.0 + 2.0


def test_ranks_that_start_together_count_once() -> None:
    assert lost_work([(0.0, "start"), (0.1, "start"), (5.0, "failed")]) == 5.0


def test_nothing_is_lost_without_a_failure() -> None:
    assert lost_work([(0.0, "start"), (4.0, "checkpoint"), (8.0, "end")]) == 0.0
    assert lost_work([]) == 0.0


def test_a_pause_is_from_failure_to_start() -> None:
    stamps = [
        (0.0, "start"),
        (3.0, "failed"),
        (3.5, "start"),
        (3.6, "start"),
        (9.0, "failed"),
        (11.0, "start"),
    ]
    assert pauses(stamps) == [0.5, 2.0]
    assert pauses([(0.0, "start"), (3.0, "failed")]) == []


def test_a_span_covers_all_attempts() -> None:
    assert span([(1.0, "start"), (2.0, "failed"), (4.0, "start"), (9.0, "end")]) == 8.0


def test_the_longest_chain_decides() -> None:
    seconds = {"top": 1.0, "left": 2.0, "right": 5.0, "bottom": 1.0}
    assert longest_path(seconds, DIAMOND) == 7.0
    assert longest_path({}, {}) == 0.0


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="a, b"):
        longest_path({"a": 1.0, "b": 1.0}, {"a": ["b"], "b": ["a"]})


def test_only_losses_on_the_critical_path_lengthen_it() -> None:
    seconds = {"top": 1.0, "left": 2.0, "right": 5.0, "bottom": 1.0}
    # The makespan has 0.5 s of scheduling that no task accounts for; it stays.
    assert unavoidable(7.5, seconds, {"left": 2.0}, DIAMOND) == 7.5
    assert unavoidable(7.5, seconds, {"right": 2.0}, DIAMOND) == 9.5
    # 2 + 4 on the left is one more than the right, which was the critical path before.
    assert unavoidable(7.5, seconds, {"left": 4.0}, DIAMOND) == 8.5


def test_each_pass_through_the_queue_waits() -> None:
    assert with_waits(45.0, 3, 60.0) == 225.0
    assert with_waits(45.0, 3, 0.0) == 45.0


def test_saved_is_a_share_of_theirs() -> None:
    assert saved(75.0, 100.0) == 25.0
    assert saved(110.0, 100.0) == pytest.approx(-10.0)
