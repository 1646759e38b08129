"""Links at the old places to what a task wrote at the new ones."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from whesl.model.pathmap import PathMap
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation.links_at_task_end import Since, put_up


class Moved:
    """Two roots, a task that began 60 s ago and was moved from one to the other 20 s ago."""

    def __init__(self, place: Path) -> None:
        self.old, self.new = place / "old", place / "new"
        for root in (self.old, self.new):
            (root / "run").mkdir(parents=True)
        self.rules = PathMap().with_rule(str(self.old), str(self.new))
        self.since = Since(time.time() - 60, time.time() - 20)

    def file(self, root: Path, name: str, text: str, age: float = 1.0) -> Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        when = time.time() - age
        os.utime(path, (when, when))
        return path

    def put_up(self, *names: str, streams: tuple[str, ...] = ()) -> list[str]:
        named = [str(self.old / name) for name in names]
        report = put_up(self.rules, named, "exec/t", self.since, streams)
        self.linked = report.linked
        return report.notes


@pytest.fixture
def moved(tmp_path: Path) -> Moved:
    return Moved(tmp_path)


def test_half_written_and_missing_outputs_lead_to_the_new_ones(moved: Moved) -> None:
    moved.file(moved.old, "run/half", "ha", age=30)
    moved.file(moved.new, "run/half", "half and half")
    moved.file(moved.new, "run/later", "later")
    assert moved.put_up("run/half", "run/later") == []
    assert moved.linked == 2
    for name in ("half", "later"):
        assert (moved.old / "run" / name).readlink() == moved.new / "run" / name
    assert (moved.old / "run/half").read_text() == "half and half"
    assert moved.put_up("run/half", "run/later") == [] and moved.linked == 0, "twice changes nothing"


def test_directories_with_all_that_is_in_them(moved: Moved) -> None:
    done = moved.file(moved.old, "run/done", "done", age=30)
    (moved.new / "run/done").symlink_to(done)
    moved.file(moved.old, "run/a/half", "h", age=30)
    moved.file(moved.new, "run/a/half", "whole")
    moved.file(moved.new, "run/b/c/later", "later")
    assert moved.put_up("run") == []
    assert done.read_text() == "done" and not done.is_symlink()
    assert (moved.old / "run/a/half").read_text() == "whole"
    assert (moved.old / "run/b/c/later").read_text() == "later"
    assert not (moved.old / "run/b").is_symlink(), "another task's files in it stay where they are"


def test_what_the_task_did_not_write_is_kept(moved: Moved) -> None:
    """A file from before the task, at either place, is nobody's leftover."""
    moved.file(moved.old, "run/input", "good", age=3600)
    moved.file(moved.new, "run/input", "newer")
    moved.file(moved.old, "run/result", "good", age=30)
    moved.file(moved.new, "run/result", "of last week", age=7 * 86400)
    (note,) = moved.put_up("run/input", "run/result")
    assert "run/input is kept" in note and "failed attempt" in note
    assert (moved.old / "run/input").read_text() == (moved.old / "run/result").read_text() == "good"


def test_what_lay_in_the_new_root_before_does_not_appear(moved: Moved) -> None:
    moved.file(moved.new, "run/summary", "of last week", age=7 * 86400)
    moved.file(moved.new, "run/out", "o")
    assert moved.put_up("run") == []
    assert sorted(path.name for path in (moved.old / "run").iterdir()) == ["out"]


def test_files_of_the_task_s_output_stay(moved: Moved) -> None:
    """The script around the task has them open, and goes on writing."""
    out = moved.file(moved.old, "run/job.out", "begun", age=30)
    moved.file(moved.new, "run/job.out", "begun and ended")
    assert moved.put_up("run", streams=(str(out), "", "/nowhere/out")) == []
    assert moved.linked == 0 and not out.is_symlink()


def test_what_others_write_meanwhile_is_kept(moved: Moved) -> None:
    """A recovery copies what is written in the task's directory at that moment, whoever writes it."""
    moved.file(moved.old, "run/log", "early and late", age=1)
    moved.file(moved.new, "run/log", "early", age=21)
    moved.file(moved.new, "run/marker", "removed since", age=21)
    moved.file(moved.old, "run/both", "of another task", age=1)
    moved.file(moved.new, "run/both", "of this one", age=2)
    same = moved.file(moved.old, "run/same", "carried over", age=20.1)
    os.utime(moved.file(moved.new, "run/same", "carried over"), ns=(same.stat().st_mtime_ns,) * 2)
    (note,) = moved.put_up("run")
    assert moved.linked == 0 and "run/both is kept" in note
    texts = {path.name: path.read_text() for path in (moved.old / "run").iterdir() if not path.is_symlink()}
    assert texts == {"log": "early and late", "both": "of another task", "same": "carried over"}
    assert not (moved.old / "run/marker").is_symlink(), "what its owner has removed does not come back"


def test_only_what_is_named(moved: Moved) -> None:
    moved.file(moved.new, "run/out", "o")
    moved.file(moved.new, "run2/other", "another task's")
    assert moved.put_up("run/out", "../elsewhere") == []
    assert not (moved.old / "run2").exists()


def test_the_present_place_after_two_moves(moved: Moved, tmp_path: Path) -> None:
    third = tmp_path / "third"
    moved.rules = moved.rules.with_rule(str(moved.new), str(third))
    moved.file(moved.old, "run/out", "o", age=30)
    moved.file(moved.new, "run/out", "ou", age=10)
    moved.file(third, "run/out", "out")
    assert moved.put_up("run/out") == []
    assert (moved.old / "run/out").readlink() == third / "run/out"
    # Another output was finished before the second move, and is linked from there.
    moved.file(moved.old, "run/early", "ear", age=30)
    early = moved.file(moved.new, "run/early", "early", age=10)
    (third / "run/early").symlink_to(early)
    assert moved.put_up("run/early") == []
    assert (moved.old / "run/early").read_text() == "early"


def test_links_of_the_task_s_own_are_left_alone(moved: Moved) -> None:
    moved.file(moved.new, "run/out.1", "o")
    (moved.new / "run/latest").symlink_to("out.1")
    moved.file(moved.old, "run/latest", "a file", age=30)
    assert moved.put_up("run") == []
    assert (moved.old / "run/latest").read_text() == "a file"
    assert (moved.old / "run/out.1").read_text() == "o"


def test_an_old_root_that_is_gone_is_said(moved: Moved) -> None:
    moved.file(moved.new, "run/out", "o")
    (moved.old / "run").rmdir()
    moved.old.rmdir()
    with pytest.raises(RecoveryError, match="got no links"):
        moved.put_up("run/out")
