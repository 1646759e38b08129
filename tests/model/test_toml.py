"""TOML files of a known form: each error with its line, all at once, and no content is a defect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.files import toml
from whesl.model.errors import UsageError


class Node(msgspec.Struct, frozen=True):
    name: str
    cpus: Annotated[int, msgspec.Meta(ge=1)] = 1


class Store(msgspec.Struct, frozen=True):
    path: str
    speed: float = 1.0


class Form(msgspec.Struct, frozen=True):
    nodes: tuple[Node, ...] | int
    store: Store | None = None
    factors: tuple[float, ...] = ()


GOOD = """factors = [1, 2.5]

[store]
path = "/a"

[[nodes]]
name = "a"

[[nodes]]
name = "b"
cpus = 4
"""


def read(text: str) -> Form:
    return toml.Document("f.toml", text, "the page").whole(Form)


def test_tables_become_records() -> None:
    found = read(GOOD)
    assert found.nodes == (Node("a"), Node("b", 4))
    assert found.store == Store("/a")
    assert found.factors == (1.0, 2.5)
    assert read("nodes = 3").nodes == 3


def test_all_errors_come_at_once_in_the_order_of_their_lines() -> None:
    text = GOOD.replace("2.5", "nan").replace("path", "pth").replace('"b"\ncpus = 4', "7\ncpus = 0\nbeds = 2")
    with pytest.raises(UsageError) as error:
        read(text)
    assert error.value.message.splitlines() == [
        "f.toml:1: factors is [1, nan]: expected a finite number",
        "f.toml:3: path is missing",
        "f.toml:4: 'pth' is not known here; 'path' is meant?",
        "f.toml:10: name is 7: expected `str`, got `int`",
        "f.toml:11: cpus is 0: expected `int` >= 1",
        "f.toml:12: 'beds' is not known here; known are name, cpus",
    ]
    assert error.value.hint == "the page"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes = \n", "f.toml:1: no TOML"),
        ("", r"f.toml:1: \[\[nodes\]\] is missing"),
        ("nodes = 1\nstore = 2", "f.toml:2: store is 2: expected `object"),
        ("nodes = [1]", "f.toml:1: nodes: a table is needed"),
        ("nodes = 1\n[store]\npath = 'a'\nspeed = inf", "f.toml:4: speed is inf: expected a finite number"),
    ],
)
def test_each_error_has_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(text)


@given(st.text(alphabet="nodesty= [].'\"\n1{},#", max_size=60) | st.text(max_size=40))
def test_no_content_is_a_defect(text: str) -> None:
    try:
        read(text)
    except UsageError as error:
        assert error.message.startswith("f.toml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        toml.load(tmp_path / "none.toml", "")
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 20))
    with pytest.raises(UsageError, match="larger than 0 MiB"):
        toml.load(tmp_path / "large.toml", "", largest=1000)
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbfnodes = 1\n")
    assert toml.load(tmp_path / "marked.toml", "").whole(Form).nodes == 1
