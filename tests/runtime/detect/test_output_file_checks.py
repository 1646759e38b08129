"""``OUTPUT``: what a task that has ended well was to leave, as it is seen on real files."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests import waiting
from whesl.language.detections.base import Broken, Promise
from whesl.language.pattern_and_stream_records import Pattern
from whesl.runtime.detect import output_file_checks
from whesl.runtime.detect.output_file_checks import Look, Looking, found, has_line, looked

DONE = Pattern(text="^Normal +termination", regex=True)


def look(folder: Path, path: str, broken: Broken = Broken.MISSING, **promise: object) -> Look:
    until = time.monotonic() + 60
    made = Promise(path=path, broken=broken, **promise)  # type: ignore[arg-type]  # as the test gives them
    return looked(made, lambda name: os.path.join(folder, name), until, until)  # noqa: PTH118 - absolute ones


def write(path: Path, text: str = "x", age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if age:
        os.utime(path, (time.time() - age,) * 2)
    return path


def test_missing(tmp_path: Path) -> None:
    for name in ("a.nc", "sub/b.nc", "sub2/.c.nc", "x[1].nc"):
        write(tmp_path / name)
    (tmp_path / "lost").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "link.nc").symlink_to(tmp_path / "sub" / "b.nc")
    (tmp_path / "far").symlink_to(tmp_path / "sub")
    for name in ("a.nc", "*.nc", "s*/b.nc", "far/*.nc", "sub/../a.nc", "link.nc", "x[1].nc", "sub"):
        assert not look(tmp_path, name).wrong, name
    for name in ("b.nc", "sub2/*.nc", "lost", "lost/x", "a.nc/x", "none/*/x", "[xy].nc"):
        assert look(tmp_path, name).wrong == f"{tmp_path}/{name} is missing: no file is called so", name
    assert look(tmp_path, "round").unknown, "a circle of links cannot be looked at"


@pytest.mark.parametrize("broken", Broken)
def test_what_is_needed_is_missing_first(tmp_path: Path, broken: Broken) -> None:
    promise: dict[str, Any] = {"than": "in", "pattern": DONE, "needed": True}
    write(tmp_path / "in", age=60)
    assert "is missing" in look(tmp_path, "out", broken, **promise).wrong
    write(tmp_path / "out", "Normal termination\n")
    assert look(tmp_path, "out", broken, **promise) == Look(
        Promise(path="out", broken=broken, **promise), "", ""
    )


def test_empty_ones(tmp_path: Path) -> None:
    write(tmp_path / "a.nc")
    assert not look(tmp_path, "*.nc", Broken.EMPTY).wrong
    write(tmp_path / "b.nc", "")
    (tmp_path / "d.nc").mkdir()
    assert look(tmp_path, "*.nc", Broken.EMPTY).wrong == f"{tmp_path}/b.nc is empty"
    write(tmp_path / "c.nc", "")
    said = look(tmp_path, "*.nc", Broken.EMPTY)
    assert (said.file, said.wrong) == (f"{tmp_path}/b.nc", f"{tmp_path}/b.nc is empty, and so is 1 more")
    assert not look(tmp_path, "*.h5", Broken.EMPTY).wrong, "a missing one is not empty"


def test_older_ones(tmp_path: Path) -> None:
    write(tmp_path / "out" / "a", age=100)
    assert not look(tmp_path, "out/*", Broken.OLDER, than="in/*").wrong, "there is nothing to be older than"
    write(tmp_path / "in" / "first", age=200)
    assert not look(tmp_path, "out/*", Broken.OLDER, than="in/*").wrong
    newest = write(tmp_path / "in" / "second", age=50)
    said = look(tmp_path, "out/*", Broken.OLDER, than="in/*").wrong
    assert said == f"{tmp_path}/out/a is older than {newest}"
    os.utime(tmp_path / "out" / "a", ns=(0, newest.stat().st_mtime_ns))
    assert not look(tmp_path, "out/*", Broken.OLDER, than="in/*").wrong


def test_lines_that_have_to_be_there(tmp_path: Path) -> None:
    log = write(tmp_path / "run.log", "begin\nNormal  termination of it\nbye")
    assert not look(tmp_path, "*.log", Broken.UNMATCHED, pattern=DONE).wrong
    log.write_text("begin\nno Normal termination\n")
    said = look(tmp_path, "*.log", Broken.UNMATCHED, pattern=DONE).wrong
    assert said == f'{log} has no line that matches "^Normal +termination"'
    log.write_text("Normal termination")
    assert not look(tmp_path, "*.log", Broken.UNMATCHED, pattern=DONE).wrong, "a line without an end"


@pytest.mark.parametrize("place", ["begin", "middle", "end", "nowhere"])
def test_a_long_file_is_read_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    from whesl.runtime.detect.matcher import compile_patterns

    monkeypatch.setattr(output_file_checks, "_END", 100)
    monkeypatch.setattr(output_file_checks, "_PIECE", 64)
    lines = [f"step {number} xNormal termination" for number in range(50)]
    at = {"begin": 0, "middle": 25, "end": 49}.get(place)
    if at is not None:
        lines[at] = "Normal termination"
    file = write(tmp_path / "log", "\n".join(lines) + "\n")
    assert has_line(str(file), compile_patterns((DONE,)), time.monotonic() + 60) == (at is not None)


def test_what_cannot_be_looked_at_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "out" / "a")
    write(tmp_path / "log")

    def refused(path: object, *_: object, **__: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refused)
        said = look(tmp_path, "out/*")
        assert (said.wrong, said.unknown) == ("", f"{tmp_path}/out: Permission denied")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refused)
        said = look(tmp_path, "log", Broken.UNMATCHED, pattern=DONE)
        assert (said.wrong, said.unknown) == ("", f"{tmp_path}/log: Permission denied")


def test_a_look_ends_in_time(tmp_path: Path) -> None:
    write(tmp_path / "a")
    with pytest.raises(TimeoutError):
        list(found(f"{tmp_path}/*", time.monotonic() - 1))
    promise = Promise(path="*", broken=Broken.EMPTY)
    late = looked(promise, lambda name: f"{tmp_path}/{name}", 0.0, time.monotonic() - 1)
    assert (late.wrong, late.unknown) == ("", "looking at it took more than 60 s")


def test_a_file_system_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_file_checks, "TIME", 0.2)
    promise = Promise(path="x", broken=Broken.MISSING)

    def hangs(path: str) -> str:
        waiting.until(lambda: over, "the test to end", 60)
        return path

    over = False
    looking = Looking((promise,), hangs)
    waiting.until(looking.over, "the time for it to be over", 30)
    assert looking.looks() == [Look(promise, unknown="its file system did not answer within 0.2 s")]
    over = True


def test_what_another_node_wrote_is_awaited_where_names_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS says for half a minute that there is no such file, once it was asked too early."""
    monkeypatch.setattr(output_file_checks, "magic_of", lambda _: 0x6969)
    looks = []

    def late(seconds: float) -> None:
        looks.append(seconds)
        write(tmp_path / "out" / "a")

    monkeypatch.setattr(time, "sleep", late)
    assert not look(tmp_path, "out/*").wrong
    assert len(looks) == 1
    monkeypatch.setattr(output_file_checks, "magic_of", lambda _: 0xEF53)
    assert look(tmp_path, "none/*").wrong
    assert len(looks) == 1
