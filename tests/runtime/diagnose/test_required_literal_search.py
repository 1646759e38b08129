"""Needles one by one and by the compiled engine: the same lines, with the same needles."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.runtime.detect.engines import Engine, make_engine
from whesl.runtime.detect.regex_canonical_form import Canonical
from whesl.runtime.diagnose.prepared_knowledge import prepared
from whesl.runtime.diagnose.search import required_literal_search
from whesl.runtime.diagnose.search.required_literal_search import NeedleSearch
from whesl.runtime.diagnose.search.required_literals import Needle, ignores_case

KNOWN = sorted({(needle, ignores_case(text)) for text, some in prepared().needles.items() for needle in some})
SHORT = [
    (Needle(text, begins, ends), case)
    for text, begins, ends in (
        ("aba", True, True),
        ("ab", False, True),
        ("ä.b", False, False),
        ("a_", True, False),
    )
    for case in (False, True)
]


def compiled(needles: list[tuple[Needle, bool]]) -> Engine:
    return make_engine(
        [Canonical(each.expression(case).encode(), None, {}) for each, case in needles], "auto", short=True
    )


@pytest.fixture(scope="module")
def short() -> tuple[Engine, Engine]:
    return NeedleSearch(SHORT), compiled(SHORT)


def same(one: Engine, other: Engine, text: bytes) -> None:
    assert list(one.lines(text, 0, len(text))) == list(other.lines(text, 0, len(text)))
    assert (one.present(text), one.silent(text)) == (other.present(text), other.silent(text))


@given(text=st.text(alphabet="abAB_ä.Ä \n", max_size=60))
def test_any_text(short: tuple[Engine, Engine], text: str) -> None:
    short[0]._left = 1 << 30  # type: ignore[attr-defined] # it is the first part of a log each time
    same(*short, text.encode() + b"\n")
    same(*short, text.encode("latin-1") + b"\n")


@pytest.mark.costly
def test_all_that_is_known() -> None:
    draw = random.Random(7)
    words = [needle.text for needle, _ in KNOWN]
    words += (
        [word.upper() for word in words] + ["x" + word for word in words] + [word + "_" for word in words]
    )
    draw.shuffle(words)
    lines = [" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]
    needles, engine = NeedleSearch(KNOWN), compiled(KNOWN)
    for at in range(0, len(lines), 100):
        needles._left = 1 << 30
        same(needles, engine, ("\n".join(lines[at : at + 100]) + "\n").encode())


def test_what_follows_the_first_part_is_looked_at_by_the_compiled_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Engine] = []

    def make(*_: object, short: bool) -> Engine:
        made.append(compiled(SHORT))
        return made[-1]

    monkeypatch.setattr(required_literal_search, "make_engine", make)
    search = NeedleSearch(SHORT)
    line = b"an ab here\n" + b"nothing\n" * 10_000
    numbers = [found for _ in range(6) for _, _, found in search.lines(line, 0, len(line))]
    assert numbers == [[2, 3]] * 6
    assert len(made) == 1
