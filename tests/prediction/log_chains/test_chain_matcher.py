"""Which chains are complete, against a search through everything that was seen."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.prediction.log_chains.chain_matcher import SKEW, Machine, Steps
from whesl.prediction.log_chains.chains_file import Chain

LETTERS = "abcd"
CHAINS = st.lists(
    st.builds(
        Chain,
        name=st.just("chain"),
        steps=st.lists(st.sampled_from(LETTERS), min_size=1, max_size=4).map(tuple),
        lead=st.just(60.0),
        window=st.integers(1, 20).map(float),
    ),
    min_size=1,
    max_size=4,
)
LOGS = st.lists(
    st.tuples(st.sampled_from(["n1", "n2"]), st.sampled_from(LETTERS), st.integers(0, 5)), max_size=25
)


def first_end(letters: list[tuple[float, str]], chain: Chain) -> int | None:
    """Return where the chain is complete for the first time, by trying every choice of messages."""
    for end in range(len(letters)):
        if letters[end][1] != chain.steps[-1]:
            continue
        for some in combinations(range(end), len(chain.steps) - 1):
            places = (*some, end)
            if tuple(letters[place][1] for place in places) == chain.steps and (
                letters[end][0] - letters[places[0]][0] <= chain.window
            ):
                return end
    return None


@given(CHAINS, LOGS)
def test_a_chain_is_complete_where_its_messages_stand_in_order_within_its_window(
    chains: list[Chain], log: list[tuple[str, str, int]]
) -> None:
    steps = Steps(chains)
    machine = Machine(steps)
    time = 0.0
    seen: dict[tuple[str, int], list[tuple[float, str]]] = {}
    for node, letter, later in log:
        time += later
        templates = [place for place, text in enumerate(steps.templates) if text == letter]
        done = {one.chain for one in machine.feed(node, time, templates)}
        for number, chain in enumerate(chains):
            since = seen.setdefault((node, number), [])
            since.append((time, letter))
            assert (number in done) == (first_end(since, chain) is not None)
            if number in done:
                since.clear()  # a chain that was complete begins anew


def pair() -> tuple[Machine, Chain]:
    chain = Chain(name="pair", steps=("first", "second"), lead=10.0, window=100.0)
    return Machine(Steps([chain])), chain


def test_evidence_is_the_messages_themselves() -> None:
    machine, _ = pair()
    machine.feed("n1", 10.0, [0], "one line")
    (done,) = machine.feed("n1", 70.0, [1], "another")
    assert [one.line for one in done.seen] == ["one line", "another"]
    assert (done.node, done.time) == ("n1", 70.0)


def test_messages_out_of_order_by_less_than_an_hour_still_count() -> None:
    machine, _ = pair()
    machine.feed("n1", 1000.0, [0])
    assert machine.feed("n1", 990.0, [1])
    assert machine.set_back == 0


def test_a_clock_that_is_set_back_begins_anew_on_its_node_alone() -> None:
    machine, _ = pair()
    machine.feed("n1", 1e6, [0])
    machine.feed("n2", 1e6, [0])
    assert not machine.feed("n1", 1e6 - SKEW - 50.0, [1])
    assert machine.set_back == 1
    assert machine.feed("n2", 1e6 + 50.0, [1])
    machine.feed("n1", 1e6 - SKEW, [0])
    assert machine.feed("n1", 1e6 - SKEW + 10.0, [1])


def test_memory_is_bounded_when_every_line_names_another_node() -> None:
    chain = Chain(name="pair", steps=("first", "second"), lead=10.0)
    machine = Machine(Steps([chain]), nodes=10)
    for number in range(100):
        machine.feed(f"n{number}", 0.0, [0])
    assert not machine.feed("n0", 1.0, [1])
    assert machine.feed("n99", 1.0, [1])


@pytest.mark.parametrize("steps", [("same", "same"), ("same", "same", "same")])
def test_one_message_is_one_step(steps: tuple[str, ...]) -> None:
    machine = Machine(Steps([Chain(name="twice", steps=steps, lead=1.0)]))
    for _ in steps[1:]:
        assert not machine.feed("n1", 0.0, [0])
    assert machine.feed("n1", 0.0, [0])
