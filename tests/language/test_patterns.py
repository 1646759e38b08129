"""Which regular expressions are accepted: those that every engine runs, with the same meaning."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.language.corpus import HEADER
from whesl import language
from whesl.language.compiler import pattern_checks
from whesl.language.compiler.pattern_checks import MAX_COUNTED_IN_FILE, MAX_NESTED, PatternCheck
from whesl.language.compiler.syntax import Word, offset, unquote
from whesl.language.pattern_and_stream_records import Pattern
from whesl.runtime.detect.regex_canonical_form import canonical

SOUND = [
    "abc",
    r"\d+",
    r"(?P<rank>\d+) on (?P<host>[\w.-]+)",
    r"^start.*end$",
    r"(?i)error",
    r"a|b",
    r"(?:ab)+?c",
    r"x{2,5}y",
    r"[^\n]*x",
    r"\bword\b",
    r"\x41\t\.",
    "\u00e4+",
    r"[]a]x",
    r"[a\]]x",
    r"a{2",
    r"\[\]\{\}",
]
REFUSED = {
    "a*": "ESL051",
    "": "ESL050",
    "^": "ESL051",
    "^$": "ESL051",
    r"\b": "ESL051",
    r"a|": "ESL051",
    r"a\nb": "ESL052",
    r"a\r": "ESL052",
    r"a[^\x00-\xff]b": "ESL052",
    r"(?=a)b": "ESL053",
    r"a(?!b)": "ESL053",
    r"(?<=a)b": "ESL053",
    r"(?<!a)b": "ESL053",
    r"(a)\1": "ESL053",
    r"(?P<a>x)(?P=a)": "ESL053",
    r"(?>a)b": "ESL053",
    r"a++b": "ESL053",
    r"a{2}+": "ESL053",
    r"(?(1)a)": "ESL053",
    r"(?<n>a)": "ESL053",
    r"[[:digit:]]": "ESL053",
    r"\pL": "ESL053",
    r"\Aa": "ESL053",
    r"a\Z": "ESL053",
    r"\07": "ESL053",
    r"a{,3}": "ESL053",
    r"(?s)a": "ESL053",
    r"(?x) a": "ESL053",
    r"b(?i)a": "ESL053",
    "(?i)\u00e4": "ESL053",
    "[\u00e4\u00f6]": "ESL053",
    "(": "ESL053",
    "a)": "ESL053",
    "[a": "ESL053",
    "*a": "ESL053",
    "a**": "ESL053",
    "\\": "ESL053",
    r"x{1,30000}": "ESL053",
    r"((a{1,30}){1,30}){1,30}": "ESL053",
    "(" * 3000: "ESL053",
    "(?:" * 30 + "a" + "b?)*c" * 30: "ESL053",
    "a" * 3000: "ESL053",
}


@pytest.mark.parametrize("text", SOUND)
def test_sound(text: str) -> None:
    assert PatternCheck().regex(text) is None
    canonical(Pattern(text=text, regex=True))


@pytest.mark.parametrize(("text", "code"), REFUSED.items(), ids=lambda text: text[:30])
def test_refused(text: str, code: str) -> None:
    problem = PatternCheck().regex(text)
    assert problem is not None
    assert problem.code == code


@pytest.mark.parametrize(
    "text", [*SOUND, *(t for t in REFUSED if t != r"a[^\x00-\xff]b")], ids=lambda t: t[:30]
)
def test_the_same_on_machines_without_hyperscan(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_checks, "hyperscan", None)
    pattern_checks._engines.cache_clear()
    try:
        problem = PatternCheck().regex(text)
    finally:
        pattern_checks._engines.cache_clear()
    assert (problem.code if problem else None) == REFUSED.get(text)


def test_repetitions_may_stand_in_one_another_to_a_bound() -> None:
    """A depth that the engines compile at once; twice as deep takes some of them minutes."""

    def nested(depth: int) -> str:
        return "(?:" * depth + "a" + "b?)*c" * depth

    assert PatternCheck().regex(nested(MAX_NESTED - 1)) is None
    assert PatternCheck().regex("(?:ab*)+" * 50 + "|(a?b{2}c+)" * 50 + "x") is None
    deep = ("(" * 20 + "ab" + "*)+c" * 20, "(?:(?:" * 9 + "a" + "|b){0,2})?" * 9 + "z")
    for text in (nested(MAX_NESTED), *deep):
        problem = PatternCheck().regex(text)
        assert problem is not None
        assert "deep" in problem.message


PARTS = st.sampled_from(
    [
        *("a", "bc", ".", r"\d", r"\w+", "[ab]", "[^x-z]", "(", ")", "|", "*", "+", "?", "{2}", "{1,3}"),
        *("(?:", "(?P<n>", "^", "$", r"\b", r"\.", r"\n", r"\x41", "\u00e4", "[", "]", "{", "}", "\\"),
        *("(?i)", "-", ",", " ", r"[\d-]", r"[\]]"),
    ]
)  # fmt: skip


@given(st.lists(PARTS, min_size=1, max_size=10).map("".join))
@settings(max_examples=examples(400), deadline=None)
def test_what_the_check_accepts_the_stream_matcher_runs(text: str) -> None:
    """The check and the matcher are different rooms; here they are held together."""
    if PatternCheck().regex(text) is None:
        form = canonical(Pattern(text=text, regex=True))
        assert tuple(form.groups) == pattern_checks.captures(text)


@given(st.lists(PARTS, min_size=1, max_size=10).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_shortened_words_change_no_verdict(text: str) -> None:
    """Engines are asked about one expression of each kind; it stands for all of them."""
    if pattern_checks._syntax(text) is None:
        ours, short = pattern_checks._engines(text), pattern_checks._engines(pattern_checks._kind(text))
        assert (ours and ours.code) == (short and short.code)


def test_all_patterns_of_a_file_are_bounded_together() -> None:
    check = PatternCheck()
    found = [check.regex(rf"x\d{{{n}}}") for n in range(400, 400 + MAX_COUNTED_IN_FILE // 300)]
    assert found[0] is None
    assert found[-1] is not None
    assert "together" in found[-1].message
    assert check.regex("without any") is None


@pytest.mark.parametrize("text", [r"step (\d+)", r"\(x\) (\d+)", r"[(] (\d+)", r"(?:a|b) (\d+) (?:c)"])
def test_the_group_of_progress_is_named(text: str) -> None:
    named = pattern_checks.with_named_group(text, "n")
    assert re.compile(named).groupindex == {"n": 1}
    assert PatternCheck().regex(named) is None


# An expression as it stands in a file; what is wrong in it, after so many characters of the text.
POINTED = [
    ("abc(def", "(", 3),
    ("abc)d", ")", 3),
    ("fatal a**b", "*", 8),
    (r"error \"x\" [z-a]", "z", 13),
    (r"error \\ \"x\" (a", "(", 15),
    (r"a\"\"", None, 0),
    (r"a\"(", "(", 3),
    ("Gr\u00f6\u00dfe (a", "(", 6),
    ("\u00e4\u00e4[\u00f6]", "[\u00f6]", 2),
    ("in rank (?=x)", "(?=", 8),
    (r"one \pL", r"\p", 4),
    (r"one two\nthree", r"\n", 7),
    ("x{1,600}y{600}", "{600}", 9),
    ("words here (a|*b)", "*", 14),
    ("\u00e4\u00e4 many words (a{0}b)", "{0}", 16),
]
# What the engines refuse themselves, after words that are cut before they are asked.
REFUSED_BY_ENGINE = [
    ("many words a^b", "^", 12),
    ("many words a$b", "$", 12),
]


@pytest.mark.parametrize(("text", "under", "at"), [*POINTED, *REFUSED_BY_ENGINE])
def test_an_error_points_into_the_pattern(text: str, under: str | None, at: int) -> None:
    head = f"{HEADER}EXCEPTION DETECTION E \\\n   MATCH "
    found = language.parse(f'{head}"{text}" stdout\n', "t.esl").diagnostics
    if under is None:
        assert [d.code for d in found] == []
        return
    if find_spec("hyperscan") is None and (text, under, at) in REFUSED_BY_ENGINE:
        pytest.skip("RE2 runs it")
    (error,) = found
    line = f'   MATCH "{text}" stdout'
    assert (error.line, error.column) == (HEADER.count("\n") + 2, len('   MATCH "') + at + 1)
    assert line[error.column - 1 : error.end_column - 1] == under


@pytest.mark.parametrize(
    ("text", "reason", "at"),
    [
        ("ab(c", "Missing close parenthesis for group started at index 2.", 2),
        ("\u00e4\u00e4(c", "Missing close parenthesis for group started at index 12.", 2),
        ("ab**", "bad repetition operator: **", 2),
        ("ab(c", "missing ): ab(c", None),
        ("ab", "out of memory", None),
    ],
)
def test_where_an_engine_says_that_it_is(text: str, reason: str, at: int | None) -> None:
    assert pattern_checks._place(text, reason) == (None if at is None else (at, at + 1))


@given(st.text('ab \\\\"(', max_size=12))
@settings(deadline=None)
def test_offsets_lead_back_to_what_was_written(text: str) -> None:
    r"""Each character of a text in quotes is found where it is written, quotes and backslashes as pairs."""
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    word = Word(quoted, 100, 100 + len(quoted))
    for index, character in enumerate(unquote(word)):
        written = quoted[offset(word, index) - 100 :]
        assert written.startswith(character if character not in '\\"' else "\\" + character)
