"""A persistent map is a dict whose earlier states are all still there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.journals import of_daemon, rebuild
from whesl.runtime.coordinator.core.changes.apply_record import RecordError
from whesl.runtime.coordinator.core.journal_replay import Replay
from whesl.runtime.coordinator.core.persistent_map import Builder, Map
from whesl.runtime.coordinator.core.state import State

# What is done, and what with: of which types depends on it.
Change = tuple[str, Any, Any]
KEYS = st.integers(0, 60)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("with"), KEYS, st.integers()),
        st.tuples(st.just("all"), st.dictionaries(KEYS, st.integers(), max_size=40), st.none()),
        st.tuples(st.just("without"), KEYS, st.none()),
        st.tuples(st.just("look"), st.none(), st.none()),
    ),
    max_size=120,
)


@given(st.dictionaries(KEYS, st.integers()), CHANGES)
def test_it_is_a_dict_in_content_and_order_and_the_old_ones_stay(
    begin: dict[int, int], changes: list[Change]
) -> None:
    present, model = Map(begin), dict(begin)
    states = [(present, list(model.items()))]
    for what, key, value in changes:
        if what == "with":
            present, model[key] = present.with_(key, value), value
        elif what == "all":
            present = present.with_all(key)
            model.update(key)
        elif what == "without":
            present = present.without(key)
            model.pop(key, None)
        else:
            # Merges what is different, which nobody may see.
            assert list(present) == list(model)
        assert len(present) == len(model)
        states.append((present, list(model.items())))
    for known, content in states:
        expected = dict(content)
        for key in range(61):
            assert (key in known) is (key in expected)
            assert known.get(key) == expected.get(key) and known.get(key, "none") == expected.get(key, "none")
        assert list(known.items()) == content
        assert (list(known), list(known.keys()), list(known.values())) == (
            list(expected),
            list(expected),
            list(expected.values()),
        )
        assert known == expected and known == Map(expected) and known != {**expected, 61: 0}


def test_a_key_that_it_has_not_is_an_error() -> None:
    known = Map({"a": 1}).without("a").without("b")
    with pytest.raises(KeyError):
        known["a"]
    with pytest.raises(KeyError):
        known["b"]
    assert repr(Map({"a": 1})) == "Map({'a': 1})" and Map() != []


def test_a_change_copies_a_small_part() -> None:
    """What a change costs is what it copies: the layer of what is different stays as short as it has to."""
    known = Map((number, 0) for number in range(20_000))
    longest, merges = 0, 0
    for number in range(2000):
        before = known._layers[0]
        known = known.with_(number % 1500, number)
        longest = max(longest, len(known._layers[1]))
        merges += known._layers[0] is not before
    assert longest <= 200 and merges <= 10


@given(CHANGES)
def test_what_is_built_in_place_is_the_same(changes: list[Change]) -> None:
    builder: Builder[int, int] = Builder([])
    present: Map[int, int] = Map()
    for what, key, value in changes:
        if what == "with":
            builder, present = builder.with_(key, value), present.with_(key, value)
        elif what == "all":
            builder, present = builder.with_all(key), present.with_all(key)
        elif what == "without":
            builder, present = builder.without(key), present.without(key)
        assert (len(builder), list(builder)) == (len(present), list(present)) and builder == present
    built = builder.built()
    assert type(built) is Map and list(built.items()) == list(present.items()) and len(built) == len(present)
    assert built.with_(99, 1) != built and 99 not in built


def test_a_record_that_breaks_off_in_the_middle_leaves_nothing_behind() -> None:
    """What it had changed already is taken back: the state is that of the other records."""
    again = {**REGISTERED, "claim": "2", "peer": "q"}
    raised = {"exception": "E", "task": "w/a", "attempt": 1, "ordinal": 1, "time": 1.0, "evidence": []}
    asked = {"recovery": "w/a#1", "task": "w/a", "raised": raised, "exception": "E", "origin": "request"}
    asked |= {"peer": "p", "reason": "", "steps": [], "refused": ""}
    replay = Replay()
    replay.take(of_daemon("registered", REGISTERED), 1.0)
    replay.take(of_daemon("requested", asked), 2.0)
    never: Any = "never"
    with pytest.raises(RecordError):
        # A new claim forgets the recovery; only then it is seen that this is no time.
        replay.take(of_daemon("registered", again), never)
    whole = rebuild([("registered", REGISTERED, 1.0), ("requested", asked, 2.0)])
    assert replay.state() == whole and [known.id for known in whole.recoveries_of("w/a")] == ["w/a#1"]


def test_two_replays_share_nothing() -> None:
    one, other = Replay(), Replay()
    bad = {"node": "n", "reason": "", "task": "", "time": 1.0, "expires": 2.0}
    one.take(of_daemon("bad-node", bad_node=bad), 1.0)
    one.take(of_daemon("registered", REGISTERED), 1.0)
    assert not other.state().tasks and not State().tasks
    assert set(one.state().live) == {"w/a"}


REGISTERED = {
    "task": "w/a",
    "alias": "",
    "workflow": "w",
    "step": "a",
    "instance": "",
    "workspace": "",
    "rjms": "",
    "job_id": "",
    "claim": "1",
    "nodes": [],
    "peer": "p",
    "attempt": 0,
    "state": "registered",
    "fresh": False,
}
