"""Careful file work: races with another process, file systems without hard links, what is refused."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import nothing_left_open
from tests.runtime.operations.trees import leftovers
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation import copying
from whesl.runtime.operations.relocation.copying import copy_file, replace_by_link, same_content
from whesl.runtime.operations.relocation.mirror_plan import Entry, Kind
from whesl.runtime.operations.relocation.safe_tree import Tree, entry_at, make_link, make_root

TOKEN = "0123456789abcdef"


class Pair:
    """Two open directories."""

    def __init__(self, tmp: Path) -> None:
        self.old, self.new = tmp / "old", tmp / "new"
        self.old.mkdir()
        self.new.mkdir()
        self.source = os.open(self.old, os.O_RDONLY)
        self.target = os.open(self.new, os.O_RDONLY)

    def entry(self, name: str = "f", content: bytes = b"original") -> Entry:
        (self.old / name).write_bytes(content)
        entry = entry_at(self.source, os.fsencode(name))
        assert entry is not None
        return entry

    def copy(self, entry: Entry, **how: Any) -> None:
        copy_file(entry, self.source, self.target, TOKEN, **how)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    os.close(made.source)
    os.close(made.target)


Before = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Have something done before each call of one function of ``os``."""

    def have(name: str, act: Callable[[], object]) -> None:
        real = getattr(os, name)

        def call(*args: Any, **how: Any) -> Any:
            act()
            return real(*args, **how)

        monkeypatch.setattr(os, name, call)

    return have


@pytest.fixture(params=[True, False], ids=["hard-links", "no-hard-links"])
def hard_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With and without os.link; without it the other way of never overwriting is taken."""
    if not request.param:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", refuse)
    return bool(request.param)


@pytest.mark.usefixtures("hard_links")
def test_a_file_that_appears_meanwhile_is_not_overwritten(pair: Pair, before: Before) -> None:
    entry = pair.entry()
    before("link", lambda: (pair.new / "f").write_bytes(b"theirs"))
    with pytest.raises(FileExistsError):
        pair.copy(entry)
    assert (pair.new / "f").read_bytes() == b"theirs"
    assert (pair.old / "f").read_bytes() == b"original"
    assert leftovers(pair.new) == []


@pytest.mark.usefixtures("hard_links")
def test_a_copy(pair: Pair) -> None:
    pair.copy(pair.entry(), verify=True)
    assert (pair.new / "f").read_bytes() == b"original"
    assert leftovers(pair.new) == []


def test_only_the_expected_link_is_replaced(pair: Pair) -> None:
    entry = pair.entry()
    (pair.new / "f").symlink_to("expected")
    pair.copy(entry, over=b"expected")
    assert (pair.new / "f").read_bytes() == b"original"
    (pair.new / "g").symlink_to("another")
    with pytest.raises(FileExistsError):
        pair.copy(pair.entry("g"), over=b"expected")
    assert (pair.new / "g").readlink() == Path("another")


def test_a_file_that_is_written_to_without_end_is_told(
    pair: Pair, before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "COPY_AGAIN", (0.0, 0.0))
    written = itertools.count(20)
    entry = pair.entry()
    before("fchmod", lambda: (pair.old / "f").write_bytes(b"x" * next(written)))
    with pytest.raises(RecoveryError, match="written to while"):
        pair.copy(entry)
    assert list(pair.new.iterdir()) == []
    assert next(written) == 23


def test_a_file_whose_last_lines_come_late_is_copied_again(pair: Pair, before: Before) -> None:
    """Flux's shell wrote a task's last output while its file was copied, and the recovery was given up."""
    late = [b"longer than before"]
    entry = pair.entry()
    before("fchmod", lambda: late and (pair.old / "f").write_bytes(late.pop()))
    pair.copy(entry)
    assert (pair.new / "f").read_bytes() == b"longer than before"
    assert leftovers(pair.new) == []


def test_a_file_that_is_swapped_for_a_link_is_not_followed(pair: Pair, tmp_path: Path) -> None:
    entry = pair.entry()
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (pair.old / "f").unlink()
    (pair.old / "f").symlink_to(secret)
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        pair.copy(entry)
    assert list(pair.new.iterdir()) == []


def test_a_link_that_appears_meanwhile_is_not_overwritten(pair: Pair) -> None:
    make_link(b"t", pair.target, b"l")
    make_link(b"t", pair.target, b"l")
    with pytest.raises(FileExistsError):
        make_link(b"other", pair.target, b"l")
    assert (pair.new / "l").readlink() == Path("t")


def test_an_original_that_changed_is_kept(pair: Pair) -> None:
    entry = pair.entry()
    (pair.old / "f").write_bytes(b"longer than before")
    assert replace_by_link(entry, pair.source, b"/new/f", TOKEN) == "kept"
    assert (pair.old / "f").read_bytes() == b"longer than before"


def test_an_original_is_removed_where_a_link_has_no_room(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = pair.entry()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EDQUOT, "full")

    monkeypatch.setattr(os, "symlink", full)
    assert replace_by_link(entry, pair.source, b"/new/f", TOKEN) == "removed"
    assert list(pair.old.iterdir()) == []


def test_content_is_compared_not_assumed(pair: Pair) -> None:
    entry = pair.entry()
    (pair.new / "f").write_bytes(b"0riginal")
    assert not same_content(entry, pair.source, pair.target)
    (pair.new / "f").write_bytes(b"original")
    assert same_content(entry, pair.source, pair.target)


def test_links_and_files_on_the_way_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    with Tree(str(tmp_path)) as tree:
        for name in (b"link", b"file"):
            with pytest.raises(RecoveryError, match="not a directory"), tree.directory((name,)):
                pass
        assert tree.look((b"link",)) == entry_of(tmp_path / "link")
        assert tree.look((b"none", b"deeper")) is None
        found = tree.look((b"real",))
        assert found is not None and found.kind is Kind.DIRECTORY


def entry_of(path: Path) -> Entry | None:
    parent = os.open(path.parent, os.O_RDONLY)
    try:
        return entry_at(parent, os.fsencode(path.name))
    finally:
        os.close(parent)


def test_descriptors_are_not_leaked(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "l").symlink_to("b")
    with nothing_left_open(), Tree(str(tmp_path)) as tree:
        for _ in range(50):
            with tree.directory((b"a", b"b")):
                pass
            with pytest.raises(RecoveryError), tree.directory((b"a", b"l")):
                pass
            with pytest.raises(FileNotFoundError), tree.directory((b"a", b"x")):
                pass


def test_capabilities_and_labels_of_a_file_are_not_copied(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's file in the workspace must not become a privileged one of ours."""
    wanted = {"security.capability": b"all", "security.selinux": b"label", "user.note": b"mine"}
    copied = []
    monkeypatch.setattr(os, "listxattr", lambda _file: list(wanted))
    monkeypatch.setattr(os, "getxattr", lambda _file, name: wanted[name])
    monkeypatch.setattr(os, "setxattr", lambda _file, name, value: copied.append((name, value)))
    pair.copy(pair.entry())
    assert copied == [("user.note", b"mine")]


def test_a_root_that_is_exchanged_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, root = tmp_path / "first", tmp_path / "second", tmp_path / "root"
    first.mkdir()
    second.mkdir()
    root.symlink_to(first)
    opening = Tree.__init__

    def exchange(tree: Tree, path: str) -> None:
        opening(tree, path)
        root.unlink()
        root.symlink_to(second)

    monkeypatch.setattr(Tree, "__init__", exchange)
    with pytest.raises(RecoveryError, match="was replaced"):
        make_root(str(root))


def test_roots_that_are_made_are_not_open_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with make_root(str(tmp_path / "a" / "b")) as tree:
            assert tree.look(()) is not None
    finally:
        os.umask(before)
    for place in (tmp_path / "a", tmp_path / "a" / "b"):
        assert place.stat().st_mode & 0o777 == 0o755
