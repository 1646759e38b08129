"""Paths in commands and scripts, and files open for writing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
