"""A task's log on a full file system: the line that would say so cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.faults import fill, tmpfs
from tests.runtime.isolator.conftest import exception, log_detection, make_setup
from whesl.language.spec import ExceptionSpec
from whesl.model.pathmap import PathMap
from whesl.runtime.isolator.observe import attempt_output_destination
from whesl.runtime.isolator.observe.attempt_output_destination import Outputs
from whesl.runtime.isolator.task.taskdir import Job, Stream, TaskDir


@contextlib.contextmanager
def mounted(place: Path, size: int) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    with tmpfs(place, size) as made:
        yield made.path


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB that is full."""
    with mounted(tmp_path / "small", 256 << 10) as place:
        assert fill(place) == errno.ENOSPC
        yield place


def job(out: Path, *exceptions: ExceptionSpec) -> Job:
    return Job(setup=make_setup(*exceptions), stdout=Stream(str(out)), joined=True)


def test_a_full_file_system_is_told_from_one_with_room(small: Path, tmp_path: Path) -> None:
    assert attempt_output_destination.full(str(small / "log")) == "No space left on device"
    assert attempt_output_destination.full(str(tmp_path / "log")) == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small"]


def test_what_was_given_free_since_the_words_were_lost_hides_nothing(tmp_path: Path) -> None:
    """The reserve for Maestro is 1 MiB: another task's recovery may have given it free by now."""
    with mounted(tmp_path / "small", 9 << 20) as place:
        (place / "big").write_bytes(bytes(7 << 20))
        assert attempt_output_destination.full(str(place / "log")) == "No space left on device"
        (place / "big").write_bytes(bytes(4 << 20))
        assert attempt_output_destination.full(str(place / "log")) == ""


def test_the_system_s_word_counts_as_the_log_s_next_line(small: Path) -> None:
    log = small / "log"
    outputs = Outputs(stdout=str(log), stderr=str(log))
    disk_full = exception("FULL", detections=(log_detection("No space left"),))
    other = exception("OTHER", detections=(log_detection("segmentation fault"),))
    (found,) = attempt_output_destination.lost_lines(job(log, disk_full, other), outputs, 1.0, 0.5)
    assert found.exception == "FULL"
    assert "could not be written" in found.evidence[0].detail


def test_a_log_with_room_says_nothing_of_itself(tmp_path: Path) -> None:
    log = tmp_path / "log"
    disk_full = exception("FULL", detections=(log_detection("No space left"),))
    outputs = Outputs(stdout=str(log), stderr=str(log))
    assert attempt_output_destination.lost_lines(job(log, disk_full), outputs, 1.0, 0.5) == []


def test_the_next_attempt_s_output_goes_where_there_is_room(small: Path, tmp_path: Path) -> None:
    directory = TaskDir(tmp_path / "task")
    directory.attempt(2).mkdir(parents=True)
    paths = PathMap().with_rule(str(small), str(tmp_path / "large"))
    task = job(small / "stage" / "log")
    (tmp_path / "large").mkdir()
    chosen = attempt_output_destination.choose(directory, task, 2, paths)
    # The directory of the log does not exist in the old root: nothing is known of its room.
    assert chosen.stdout == str(small / "stage" / "log")
    task = job(small / "log")
    assert attempt_output_destination.choose(directory, task, 2, paths).stdout == str(
        tmp_path / "large" / "log"
    )
    assert attempt_output_destination.present(directory, task, 2).stdout == str(tmp_path / "large" / "log")


def test_output_stays_where_it_is_while_there_is_room(tmp_path: Path) -> None:
    directory = TaskDir(tmp_path / "task")
    directory.attempt(2).mkdir(parents=True)
    (tmp_path / "old").mkdir()
    paths = PathMap().with_rule(str(tmp_path / "old"), str(tmp_path / "new"))
    log = tmp_path / "old" / "log"
    assert attempt_output_destination.choose(directory, job(log), 2, paths).stdout == str(log)
