"""Canonical patterns: what is accepted, what is refused, and that Python reads both forms alike."""

import re

import pytest

from whesl.language.pattern_and_stream_records import Pattern
from whesl.runtime.detect.regex_canonical_form import MAX_LITERAL, PatternError, canonical


def regex(text: str) -> Pattern:
    return Pattern(text=text, regex=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "without any text"),
        ("a*", "without any text"),
        ("^$", "without any text"),
        (r"\b", "without any text"),
        ("(?:^|x)", "without any text"),
        ("(a", "not a valid regular expression"),
        ("a)", "not a valid regular expression"),
        ("[z-a]", "not a valid regular expression"),
        (r"(?P<n>a)(?P<n>b)", "not a valid regular expression"),
        (r"a\1", "not supported"),
        ("(?=a)b", "not supported"),
        ("(?<!a)b", "not supported"),
        ("(?>a)b", "not supported"),
        ("(?s)a.b", "not supported"),
        ("(?P=n)", "not supported"),
        ("a++", "nothing to repeat"),
        ("*a", "nothing to repeat"),
        ("(*a)", "nothing to repeat"),
        ("a{,3}b", "read differently"),
        ("a{1,1001}", "repeats more than"),
        ("a\\n", "never matches"),
        ("a\nb", "line break"),
        ("[[:digit:]]", "POSIX"),
        ("[a", "without ']'"),
        ("[é]", "alternation"),
        (r"[\s-z]", "range"),
        (r"\q", "not supported"),
        (r"\xg0", "hexadecimal"),
        ("a\\", "backslash"),
        ("(?i)é", "outside ASCII"),
        (r"(?i:\xe9)", "outside ASCII"),
        ("\ud800", "Unicode"),
    ],
)
def test_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)):
        canonical(regex(text))


@pytest.mark.parametrize("text", ["", "a\nb", "a\rb", "x" * (MAX_LITERAL + 1), "\ud800"])
def test_refused_literals(text: str) -> None:
    with pytest.raises(PatternError):
        canonical(Pattern(text=text))


@pytest.mark.parametrize(
    "text",
    [
        r"cycle = (?P<n>\d+)",
        r"\[rank (?P<rank>\d+)\] .*: (?P<what>[^:\n]+)$",
        r"^slurmstepd: error: (?:\*\*\*|Detected \d+ oom.kill)",
        r"a{2,3}b{4}c{5,}d??",
        r"[]a]x[^]b]y[a-f\-.]z[-k]",
        r"x{ } ] { {a",
        r"\s\S\d\D\w\W\t\v\f\a\x41",
        r"[\s\w]z[\S]y[\D\W]",
        "größer als é+",
        "(?i)error",
        "a(?i:Bc)d",
    ],
)
def test_canonical_form_means_the_same(text: str) -> None:
    form = canonical(regex(text)).expression
    original, rewritten = re.compile(text.encode()), re.compile(form)
    samples = [
        b"cycle = 42", b"[rank 7] node: dead", b"slurmstepd: error: ***", b"aabbbbccccccd", b"aaabbbbcccccc",
        b"]xay.z-", b"axcy-zk", b"x{ } ] { {a", b" x5y_-\t\x0b\x0c\x07A", b" zSyW", b"_zxy ", b"ERRor",
        "größer als é".encode(), b"abCd", b"aBcD",
    ]  # fmt: skip
    for sample in samples:
        assert bool(original.search(sample)) == bool(rewritten.search(sample)), sample
    assert any(original.search(sample) for sample in samples)


def test_multibyte_characters_repeat_as_a_whole() -> None:
    expression = canonical(regex("xé{2}y")).expression
    assert re.search(expression, "xééy".encode())


def test_groups_are_numbered() -> None:
    assert canonical(regex("(a)(?P<n>b)(?:c)(?P<m>d)")).groups == {"n": 2, "m": 3}
