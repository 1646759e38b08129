"""Patterns that stand in each line with another one: the index finds what comparing each two of them does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.language.corpus import HEADER
from tests.language.test_checks import findings
from whesl.language.lint.pattern_index import PatternIndex
from whesl.language.lint.statements import LEAST, named
from whesl.language.pattern_and_stream_records import Pattern

PATTERNS = st.builds(Pattern, text=st.text("ab3 .\\d", min_size=1, max_size=8), regex=st.booleans())


def includes(pattern: Pattern, other: Pattern) -> bool:
    """The definition: whether each line with a pattern has another one, too."""
    if named(other) < LEAST:
        return False
    if pattern.regex or other.regex:
        return (pattern.text, pattern.regex) == (other.text, other.regex)
    return other.text in pattern.text


@given(st.lists(st.lists(PATTERNS, max_size=3), max_size=12), PATTERNS)
def test_the_index_finds_what_the_definition_names(groups: list[list[Pattern]], pattern: Pattern) -> None:
    found = set(PatternIndex(groups).included(pattern))
    assert found == {n for n, group in enumerate(groups) if any(includes(pattern, each) for each in group)}


def test_of_many_rules_the_first_that_ends_the_attempt_is_named() -> None:
    """Without an index this compares each two of 1,000 rules with each other."""
    names = [f"FAULT-{number}" for number in range(1000)]
    text = HEADER + "".join(f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [run] ELSE FAIL\n" for name in names)
    text += "".join(f'EXCEPTION DETECTION {name} LOG "no. {name} died" output\n' for name in names)
    (only,) = findings(f'{text}EXCEPTION DETECTION E LOG "the no. FAULT-7 died" output RECURRING 3\n')
    assert only.code == "ESL059"
    assert "FAULT-7 is" in only.message
