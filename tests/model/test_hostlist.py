"""Host lists: Slurm's forms, and what Slurm prints in their place."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.model.hostlist import compress, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("n01", ("n01",)),
        ("n[01-03,7]", ("n01", "n02", "n03", "n7")),
        ("n[9-11]", ("n9", "n10", "n11")),
        ("n[08-10]", ("n08", "n09", "n10")),
        ("login,n[1-2]-ib,gpu[3]", ("login", "n1-ib", "n2-ib", "gpu3")),
        ("r[0-1]n[0-1]", ("r0n0", "r0n1", "r1n0", "r1n1")),
        ("n[3,1,1]", ("n3", "n1", "n1")),
        ("host.example.org", ("host.example.org",)),
        (" n[1-2]\n", ("n1", "n2")),
    ],
)
def test_expanding(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n01"], "n01"),
        (["n01", "n02", "n03", "n07"], "n[01-03,07]"),
        (["n09", "n10"], "n[09-10]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n1", "n01"], "n[1,01]"),
        (["a1", "b2", "login"], "a1,b2,login"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["n1-ib", "n2-ib"], "n[1-2]-ib"),
    ],
)
def test_compressing(names: list[str], text: str) -> None:
    assert compress(names) == text


@pytest.mark.parametrize(
    "text",
    [
        "None assigned",
        "(null)",
        "n/a",
        "n[1-3",
        "n1-3]",
        "n[[1]]",
        "n[3-1]",
        "n[]",
        "n[1,]",
        "n[a-b]",
        "[1-3]",
        "n1,,n2",
        ",n1",
        "-w",
        "n[1-999999999]",
        "n[1-99999]x[1-99999]",
        "n[1-99999],m[1-99999],o[1-99999]",
        "n1;rm",
        "n[\u0661-\u0663]",
    ],
)
def test_garbage(text: str) -> None:
    with pytest.raises(ValueError, match="host list"):
        expand(text)


@pytest.mark.parametrize("name", ["", "a b", "n[1]", "a,b", "ü1"])
def test_impossible_names(name: str) -> None:
    with pytest.raises(ValueError, match="host name"):
        compress([name])


NAMES = st.one_of(
    st.from_regex(r"[a-z]{1,3}[0-9]{1,4}(-ib)?", fullmatch=True),
    st.from_regex(r"[a-z]{1,4}", fullmatch=True),
    st.from_regex(r"[a-z][a-z0-9.]{0,6}[a-z0-9]", fullmatch=True),
    st.from_regex(r"r[0-9]n[0-9]{17,21}", fullmatch=True),
)


@given(st.lists(NAMES, max_size=30))
def test_there_and_back(names: list[str]) -> None:
    assert expand(compress(names)) == tuple(names)


@given(st.integers(0, 200), st.integers(1, 300), st.integers(1, 4))
def test_a_run_is_one_range(first: int, count: int, width: int) -> None:
    names = [f"n{number:0{width}}" for number in range(first, first + count)]
    text = compress(names)
    assert len(text) < 30
    assert expand(text) == tuple(names)


@given(st.text(alphabet=string.ascii_lowercase[:3] + "0123456789[],-. \n", max_size=40))
def test_any_text_is_a_list_or_an_error(text: str) -> None:
    try:
        names = expand(text)
    except ValueError:
        return
    assert all(names)
    assert expand(",".join(names)) == names
