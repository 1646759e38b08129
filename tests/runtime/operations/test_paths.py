"""Paths in commands and scripts, and files open for writing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.operations.builders import advance
from tests.runtime.operations.trees import Bed, contents
from whesl.model.pathmap import PathMap
from whesl.runtime.operations.relocation.named_and_open_files import named_paths, open_for_writing


@pytest.mark.parametrize(
    ("command", "script", "environment", "cwd", "found"),
    [
        (("app", "/old/in"), "", {}, "", ("/old/in",)),
        (("app", "--out=/old/a b/c"), "", {}, "", ("/old/a", "/old/a b/c")),
        (("sh", "x"), "cp '/old/in.nii' \"$X\" >/old/log; /old/bin/x:/old/y", {}, "",
         ("/old/bin/x", "/old/in.nii", "/old/log", "/old/y")),
        ((), "", {"P": "/usr/bin:/old/bin", "Q": "/older"}, "", ("/old/bin",)),
        ((), "", {"HOME": "/old", "SLURM_SUBMIT_DIR": "/old/study", "OUT": "/old/o"}, "", ("/old/o",)),
        (("app",), "", {}, "/old/w/step", ("/old/w/step",)),
        (("app", "../seg/out.nii"), "cat ../../x ./../y a../b", {}, "/old/w/step",
         ("/old/w/seg/out.nii", "/old/w/step", "/old/w/y", "/old/x")),
        (("app", "../../../../../etc/passwd"), "", {}, "/old/w", ("/old/w",)),
        (("app", "/x/old/in", "/oldish", "a/old/b"), "", {}, "", ()),
        (("app", "/old/../etc"), "", {}, "", ()),
        (("app", "/old"), "", {}, "", ("/old",)),
        (("app", "old/in", "--out=./old/o", "old", "cat old/x", "a/old/y"), "cat old/z", {}, "/",
         ("/old/in", "/old/o")),
        (("app", "sub/in"), "", {}, "/old/w", ("/old/w",)),
        (("sh", "-c", "cat '/old/a b' \"/old/c d\""), 'sh -c "ls \\"/old/e f\\""', {}, "",
         ("/old/a", "/old/a b", "/old/c", "/old/c d", "/old/e", "/old/e f")),
        (("/old/a\0b",), "", {}, "", ("/old/a",)),
        (("/old/\ud800",), "", {}, "", ("/old",)),
    ],
)  # fmt: skip
def test_named_paths(
    command: tuple[str, ...], script: str, environment: dict[str, str], cwd: str, found: tuple[str, ...]
) -> None:
    assert named_paths(command, script, environment, cwd, ["/old"]) == found


def test_without_prefixes_nothing_is_named() -> None:
    assert named_paths(("/a",), "/b", {"C": "/c"}, "/d", []) == ()


@given(st.text(alphabet="/old.wx y:'=$\n~-", max_size=60))
def test_what_the_path_map_would_change_is_named(text: str) -> None:
    """A path that is mapped without being prepared would not be found by the restarted task."""
    mapped = PathMap().with_rule("/old", "/new").text(text)
    found = named_paths((), text, {}, "", ["/old"])
    if mapped != text and ".." not in text:
        assert found
    for path in found:
        assert path == "/old" or path.startswith("/old/")


NAMES = st.text(alphabet="ol.dw-", min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})


@st.composite
def spelled(draw: st.DrawFn) -> tuple[str, str]:
    """An absolute path, and the same one with doubled slashes, dots, and names that ``..`` removes."""
    names = draw(st.lists(st.one_of(st.just("old"), NAMES), min_size=1, max_size=4))
    other = ""
    for name in names:
        for slash in draw(st.lists(st.sampled_from(("/", "//", "/./")), min_size=1, max_size=2)):
            other += slash
        if draw(st.booleans()):
            other += f"{draw(NAMES)}/..{draw(st.sampled_from(('/', '//')))}"
        other += name
    return "/" + "/".join(names), other


BEFORE = (
    "", " ", "'", ":", "=", ">", "a:", "x,", "sh -c \"cat '", "--out=", "-I", "-L", "-isystem", "'-L",
    "-Wl,-L", "X=-I", "@", "--data=@", "file://", "in=file://", "sqlite:///",
)  # fmt: skip


@given(
    spelled(),
    st.sampled_from(("", "/", "/.")),
    st.sampled_from(BEFORE),
    st.sampled_from(("", " x", "' >y\"", ":b", ",z")),
)
def test_a_path_is_the_same_one_however_it_is_spelled(
    path: tuple[str, str], end: str, before: str, after: str
) -> None:
    plain, other = path
    paths = PathMap().with_rule("/old", "/new")
    moved = paths.path(plain)
    if before.endswith(":") and other.startswith("//"):
        before = " "  # a host of a URL
    expected = moved + end if moved != plain else other + end
    assert paths.path(other + end) == expected
    assert paths.text(before + other + end + after) == before + expected + after
    assert paths.arguments((f"{before}{other}{end}{after}",)) == (f"{before}{expected}{after}",)
    named = named_paths((), before + other + end + after, {}, "", ["/old"])
    assert named[:1] == ((plain,) if moved != plain else ())
    assert all(each.startswith(plain) for each in named), "the text may be a name with spaces"


@pytest.mark.parametrize(
    "text",
    [
        "http://old/x s3://old/y rsync://h/old/z",
        "hdfs:///old/x sqlite:///old/x",
        "${X}/old/x $X/old/x $(pwd)/old/x x-I/old/x a@/old/x -3/old/x",
    ],
)
def test_what_only_looks_like_a_path_is_none(text: str) -> None:
    assert PathMap().with_rule("/old", "/new").text(text) == text
    assert named_paths((), text, {}, "", ["/old"]) == ()


@pytest.mark.parametrize("rules_name_the_link", [False, True])
def test_a_root_that_is_named_by_a_link_too(tmp_path: Path, rules_name_the_link: bool) -> None:
    bed = Bed(tmp_path)
    bed.file("w/restart", b"r")
    bed.file("in/given", b"g")
    links = tmp_path / "links"
    links.mkdir()
    for name, target in (("whole", bed.old), ("in", bed.old / "in"), ("app", bed.file("bin/app"))):
        (links / name).symlink_to(target)
    (bed.old / "bin/app").chmod(0o755)
    there = links / "whole" if rules_name_the_link else bed.old
    here = bed.old if rules_name_the_link else links / "whole"
    command = (str(links / "app"), f"--in={links}/in//given")
    given = bed.context(workspace=str(here / "w"), command=command, script=f"{here}/w/out")
    result = bed.replace(given, defaultpath=str(there))
    assert contents(bed.new) == {b"w/restart": b"r", b"in/given": b"g"}
    assert result.configuration is not None and result.dependents is not None
    for paths in (result.configuration.path_map, result.dependents.path_map):
        assert paths.path(str(here / "w")) == paths.path(str(there / "w")) == str(bed.new / "w")
        assert paths.path(f"{links}/in/given") == str(bed.new / "in/given")
        assert paths.path(str(links / "app")) == str(links / "app"), "a program stays where it is"
    third = tmp_path / "third"
    again = bed.replace(advance(given, result), ordinal=2, defaultpath=str(there), filesystem=[str(third)])
    assert contents(third) == contents(bed.new) and again.configuration is not None
    assert again.configuration.path_map.path(f"{here}/w") == str(third / "w")


def test_files_open_for_writing(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    names = ["w", "rw", "append", "new\nline", os.fsdecode(b"\xff")]
    (real / "r").write_text("x")
    (tmp_path / "outside").write_text("x")
    program = """
import os, sys
d = os.fsencode(sys.argv[1])
keep = [os.open(d + b"/" + os.fsencode(n), os.O_CREAT | f) for n, f in zip(
    sys.argv[2:], [os.O_WRONLY, os.O_RDWR, os.O_APPEND | os.O_WRONLY, os.O_WRONLY, os.O_WRONLY])]
keep += [os.open(d + b"/r", os.O_RDONLY), os.open(d + b"/../outside", os.O_WRONLY)]
keep.append(os.open(d + b"/gone", os.O_CREAT | os.O_WRONLY)); os.unlink(d + b"/gone")
print("ready", flush=True); sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(real), *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        found = open_for_writing([child.pid, 2**22 + 1], str(link))
        everything = open_for_writing([child.pid], "/")
        child.communicate()
    assert set(found.paths) == {os.fsencode(link / name) for name in names}
    assert (
        os.fsencode(real / "w") in everything.paths and os.fsencode(tmp_path / "outside") in everything.paths
    )
    assert found.unobserved == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's process")
def test_a_process_that_may_not_be_looked_into_is_reported() -> None:
    program = """
import os, sys
from whesl.runtime.operations.relocation.named_and_open_files import open_for_writing
os.setuid(65534)
found = open_for_writing([int(sys.argv[1])], "/")
print(found.unobserved == (int(sys.argv[1]),), found.paths)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(os.getpid())], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True ()\n"
