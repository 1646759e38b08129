"""What evidence against a node is worth, and that a node that is avoided is the last choice, not none."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.operations.builders import context
from tests.runtime.operations.test_node import FAILED, bad, run
from whesl.model.allocation_nodes import NodeSet
from whesl.model.bad_node_expiry import SECONDS, repeated, told
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.operations import suspect_node

HOUR = 3600.0


@pytest.mark.parametrize(
    ("level", "grade", "hours"),
    [
        (suspect_node.LOST, Grade.LOST, 24),
        (suspect_node.NAMED, Grade.BLAMED, 6),
        (suspect_node.FAILED, Grade.BLAMED, 6),
        (suspect_node.STUCK, Grade.SUSPECTED, 1),
        (suspect_node.PEER, Grade.SUSPECTED, 1),
        (suspect_node.DIED, Grade.SUSPECTED, 1),
    ],
)
def test_how_long_follows_from_the_evidence(level: int, grade: Grade, hours: float) -> None:
    assert suspect_node.grade_of(level) is grade
    assert SECONDS[grade] == hours * HOUR


def entry(time: float, grade: Grade, **changes: object) -> BadNode:
    made = BadNode(node="n1", reason="r", task="t", time=time, expires=time + SECONDS[grade], grade=grade)
    return msgspec.structs.replace(made, **changes)


def test_the_same_fault_again_is_worse() -> None:
    first = repeated(None, entry(1.0, Grade.SUSPECTED))
    assert not first.excluded
    second = repeated(first, entry(0.5 * HOUR, Grade.SUSPECTED))
    assert (second.grade, second.expires, second.count) == (Grade.BLAMED, 6.5 * HOUR, 2)
    assert second.excluded
    third = repeated(second, entry(6 * HOUR, Grade.SUSPECTED))
    assert (third.grade, third.expires, third.first) == (Grade.LOST, 30 * HOUR, 1.0)


def test_the_same_news_twice_counts_once_and_an_old_one_not_at_all() -> None:
    first = entry(0.0, Grade.SUSPECTED)
    assert repeated(first, first) == msgspec.structs.replace(first, first=0.0)
    later = repeated(first, entry(2 * HOUR, Grade.SUSPECTED))
    assert (later.grade, later.count) == (Grade.SUSPECTED, 2)


def test_a_chosen_time_is_kept() -> None:
    chosen = entry(10.0, Grade.SUSPECTED, expires=30.0, chosen=True)
    assert repeated(entry(0.0, Grade.LOST), chosen).expires == 30.0


@given(st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from(list(Grade))), max_size=8))
def test_news_never_shortens_the_time(news: list[tuple[float, Grade]]) -> None:
    known: BadNode | None = None
    for time, grade in sorted(news, key=lambda item: item[0]):
        now = repeated(known, entry(time, grade))
        assert known is None or now.expires >= min(known.expires, now.time + SECONDS[grade])
        assert now.expires >= time + SECONDS[grade]
        known = now


def test_an_avoided_spare_is_the_last_and_the_note_says_why() -> None:
    alone = context(nodes=NodeSet(active=("n01", "n02"), spares=("n04",)), bad_nodes=(bad("n04"),))
    result = run("NODE.REPLACE", {}, FAILED, given=alone)
    assert result.nodes is not None and result.nodes.active == ("n01", "n04")
    assert result.note == "n02 replaced by n04, as no other spare is left: n04 (r; 2 min more)"
    both = context(nodes=NodeSet(active=("n01", "n02"), spares=("n04", "n05")), bad_nodes=(bad("n04"),))
    result = run("NODE.REPLACE", {}, FAILED, given=both)
    assert result.nodes is not None and result.nodes.active == ("n01", "n05")
    assert result.note == "n02 replaced by n05"


def test_what_is_said_of_a_node() -> None:
    assert told(entry(0.0, Grade.LOST), 0.0) == "n1 (r; 24 h more)"
    assert told(entry(0.0, Grade.SUSPECTED), 60.0) == "n1 (r; 59 min more)"
