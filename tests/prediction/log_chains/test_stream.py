"""Bytes of a log in, predictions out: however they are cut, torn, long or damaged."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.prediction.log_chains import synthetic
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.lines import Header
from whesl.prediction.log_chains.log_stream_predictor import ChainStream, Compiled
from whesl.prediction.log_chains.template import checked

CHAIN = Chain(
    name="memory",
    steps=("EDAC MC<*>: <*> CE <*>", "Kernel panic - not syncing: <*>"),
    lead=600.0,
    window=3600.0,
    confidence=0.8,
    matches=10,
    hits=8,
)
COMPILED = Compiled([CHAIN])


def line(minute: int, node: str, message: str) -> bytes:
    return f"2026-01-01T00:{minute:02d}:00Z {node} kernel: {message}\n".encode()


LOG = b"".join(
    [
        line(0, "n1", "EDAC MC0: 3 CE memory read error"),
        line(1, "n2", "Kernel panic - not syncing: alone"),
        line(2, "n1", "something else about EDAC MC0: 1 CE x"),
        b"a line without a head: EDAC MC0: 1 CE x\n",
        line(3, "n1", "Kernel panic - not syncing: Fatal"),
    ]
)


def test_a_chain_becomes_a_prediction_with_its_evidence() -> None:
    stream = ChainStream(COMPILED)
    (found,) = stream.feed(LOG)
    assert (found.node, found.lead, found.confidence, found.source) == ("n1", 600.0, 0.8, "chains:memory")
    assert found.time == 1767225780.0
    assert "8 of 10 times the node then failed" in found.evidence
    assert found.evidence.endswith("n1 kernel: Kernel panic - not syncing: Fatal")
    assert (stream.lines, stream.unread) == (5, 1)
    assert stream.steps == [1, 2]


@given(st.lists(st.integers(0, len(LOG)), max_size=8))
def test_nothing_depends_on_how_the_bytes_were_cut(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(LOG)]
    stream = ChainStream(COMPILED)
    found = [one for begin, end in pairwise(ends) for one in stream.feed(LOG[begin:end])]
    whole = ChainStream(COMPILED)
    assert found == whole.feed(LOG)
    assert (stream.lines, stream.unread, stream.steps) == (whole.lines, whole.unread, whole.steps)


def test_a_torn_last_line_counts_when_it_ends() -> None:
    stream = ChainStream(COMPILED)
    assert not stream.feed(LOG[:-1])
    assert len(stream.finish()) == 1
    assert not stream.finish()


def test_a_line_without_end_takes_bounded_memory_and_the_next_one_counts() -> None:
    stream = ChainStream(COMPILED, Header("iso"))
    stream.feed(line(0, "n1", "EDAC MC0: 3 CE memory read error"))
    for _ in range(40):
        stream.feed(b"x" * 100_000)
    assert len(stream._carry) <= 1 << 20
    assert stream.feed(b"xx\n" + line(3, "n1", "Kernel panic - not syncing: Fatal"))
    assert stream.cut == 1


def test_a_hostile_line_is_shown_without_control_characters() -> None:
    stream = ChainStream(COMPILED)
    (found,) = stream.feed(
        line(0, "n1", "EDAC MC0: 3 CE x") + line(1, "n1", "Kernel panic - not syncing: \x1b[2J\u202e")
    )
    assert found.evidence.isprintable()


@settings(max_examples=examples(30))
@given(st.binary(max_size=400))
def test_no_bytes_are_a_defect(data: bytes) -> None:
    stream = ChainStream(COMPILED, Header("iso"))
    stream.feed(data)
    stream.finish()
    assert stream.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
def test_planted_chains_are_found_by_both_engines(engine: str) -> None:
    log = synthetic.make(synthetic.Settings(nodes=8, days=4, failures=30, false=0.0, strays=0.0))
    compiled = Compiled([*log.chains], engine)
    found = ChainStream(compiled).feed(b"".join(log.lines))
    # A failure early in the log may have its chain's beginning, and another node's chain may be a part of it.
    told = {(one.node, one.time) for one in found}
    for node, time in log.preceded:
        assert any(who == node and 0 < time - when <= 3600 for who, when in told)


def test_templates_are_whole_messages() -> None:
    compiled = Compiled([Chain(name="one", steps=("link down",), lead=60.0)])
    assert not ChainStream(compiled).feed(line(0, "n1", "the link down there"))
    assert ChainStream(compiled).feed(line(0, "n1", "link down"))
    wide = Compiled([Chain(name="one", steps=("<*>link down<*>",), lead=60.0)])
    assert ChainStream(wide).feed(line(0, "n1", "the link down there"))
    assert checked(" link  down ") == "link  down"
