"""A persistent map is a dict whose earlier states are all still there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.coordinator.persistent import Map

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
    begin: dict[int, int], changes: list
) -> None:  # type: ignore[type-arg]  # of three shapes
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
