"""The file of chains: what is written is read again, and all that is wrong is named with its line."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.model.errors import UsageError
from whesl.prediction.log_chains import chains_file
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.template import WILD

WORDS = st.text(alphabet=string.ascii_letters + "'\"\\#=[]é:", min_size=4, max_size=12).map(str.strip)
STEPS = (
    st.lists(st.one_of(WORDS, st.just(WILD)), min_size=1, max_size=5)
    .map(" ".join)
    .filter(lambda text: len(max(text.split(WILD), key=len).strip()) >= 3)
)
CHAINS = st.lists(
    st.builds(
        Chain,
        name=WORDS.filter(bool),
        steps=st.lists(STEPS.map(str.strip), min_size=1, max_size=4).map(tuple),
        lead=st.integers(1, 90_000).map(float),
        window=st.integers(1, 90_000).map(float),
        confidence=st.integers(1, 1000).map(lambda value: value / 1000),
        matches=st.integers(1, 99),
        hits=st.integers(0, 99),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda chain: chain.name,
)

GOOD = """version = 1

[[chain]]
name = 'memory'
lead = 600
confidence = 0.8
steps = [
  'EDAC MC<*>: <*> CE <*>',
  'Kernel panic - not syncing: <*>',
]
"""


@pytest.mark.costly
@given(CHAINS)
def test_what_is_written_is_read_again(chains: list[Chain]) -> None:
    assert chains_file.parse(chains_file.text_of(chains, "two\nlines"), "chains.toml") == tuple(chains)


def test_a_file_by_hand() -> None:
    (chain,) = chains_file.parse(GOOD, "chains.toml")
    assert chain.steps[1] == "Kernel panic - not syncing: <*>"
    assert (chain.lead, chain.window, chain.patience) == (600.0, 3600.0, 1800.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("lead = 600", "lead = -1"), "chains.toml:5: lead"),
        (("lead = 600", "lead = 'soon'"), "chains.toml:5: lead is 'soon': expected `float`, got `str`"),
        (("confidence = 0.8", "confidence = 80"), "chains.toml:6: confidence"),
        (("confidence = 0.8", "confidance = 0.8"), "chains.toml:6: .*confidance"),
        (("'EDAC MC<*>: <*> CE <*>'", "'<*> <*>'"), "chains.toml:7: steps: step 1"),
        (("'memory'", "''"), "chains.toml:4: name"),
        (("'EDAC MC<*>: <*> CE <*>',\n  'Kernel panic - not syncing: <*>',", ""), "chains.toml:7: steps: 0"),
        (("version = 1", "version = 2"), "version 2"),
        (("version = 1", ""), "version"),
        (("lead = 600", "lead = "), "chains.toml:5: no TOML"),
        (("[[chain]]", "[chain]"), "chains.toml"),
        (("lead = 600", ""), "chains.toml:3: .*lead"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(change: tuple[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        chains_file.parse(GOOD.replace(*change), "chains.toml")


def test_all_that_is_wrong_is_named_at_once() -> None:
    second = GOOD.partition("\n")[2].replace("'memory'", "'other'").replace("0.8", "8")
    with pytest.raises(UsageError) as raised:
        chains_file.parse(GOOD.replace("600", "0") + second, "chains.toml")
    assert [line.split(" ")[0] for line in raised.value.message.splitlines()] == [
        "chains.toml:5:",
        "chains.toml:15:",
    ]


def test_two_chains_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"chains.toml:13: name: another chain is called 'memory'"):
        chains_file.parse(GOOD + GOOD.partition("\n")[2], "chains.toml")


@given(st.binary(max_size=200))
def test_no_content_is_a_defect(content: bytes) -> None:
    try:
        chains_file.parse(content.decode("utf-8", "replace"), "chains.toml")
    except UsageError:
        return


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        chains_file.load(tmp_path / "none.toml")
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="byte 0 is not UTF-8"):
        chains_file.load(tmp_path / "bad")
