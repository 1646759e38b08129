"""Watching begins after an attempt's start, and misses nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.runtime.isolator.conftest import exception, make_setup
from whesl.model.configuration_changes import Configuration
from whesl.runtime.isolator.observe.observer import Observer
from whesl.runtime.isolator.task.taskdir import First, Job, Stream, TaskDir
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.wire.blocking_call_worker import Worker

BEGAN = 1000.0


class Watched:
    """A task's log with a line of an earlier one in it, and observers of it."""

    def __init__(self, path: Path) -> None:
        self.log = path / "out"
        self.log.write_text("bad before\n")
        self.directory = TaskDir(path / "task")
        self.directory.make()
        for number in (1, 2):
            self.directory.attempt(number).mkdir()
        setup = make_setup(exception())
        stream = Stream(str(self.log))
        self.job = Job(setup=setup, workdir=str(path), stdout=stream, stderr=stream, joined=True)
        self.worker = Worker()
        self.opened: list[Observer] = []

    def observer(self) -> Observer:
        """Return a new isolator's."""
        made = Observer(self.directory, self.job, self.worker, Clock())
        self.opened.append(made)
        return made

    def say(self, line: str) -> None:
        """Let the task print a line."""
        with self.log.open("a") as file:
            file.write(f"{line}\n")

    def close(self) -> None:
        """Give everything back."""
        for observer in self.opened:
            observer.close()
        self.worker.close()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.close()


def lines(observer: Observer) -> list[str]:
    return [item.evidence[-1].line for item in observer.drain()]


def test_what_is_printed_before_the_detectors_are_there_is_seen(watched: Watched) -> None:
    observer = watched.observer()
    observer.prepare(1, Configuration())
    watched.say("bad early")
    assert observer.fileno() is None
    observer.watch(Configuration(), BEGAN)
    assert lines(observer) == ["bad early"]


def test_an_isolator_killed_before_that_loses_nothing(watched: Watched) -> None:
    watched.observer().prepare(1, Configuration())
    watched.say("bad early")
    restarted = watched.observer()
    restarted.take_up(1, Configuration(), BEGAN)
    assert lines(restarted) == ["bad early"]


def test_a_start_that_was_done_for_it_is_not_measured_again(watched: Watched) -> None:
    watched.job = msgspec.structs.replace(watched.job, first=First(sizes={str(watched.log): 0}))
    observer = watched.observer()
    observer.prepare(1, Configuration())
    observer.watch(Configuration(), BEGAN)
    assert lines(observer) == ["bad before"]


def test_later_attempts_are_watched_from_before_their_start(watched: Watched) -> None:
    observer = watched.observer()
    observer.prepare(1, Configuration())
    observer.watch(Configuration(), BEGAN)
    watched.say("bad once")
    assert lines(observer) == ["bad once"]
    observer.prepare(2, Configuration())
    watched.say("bad again")
    observer.watch(Configuration(), BEGAN)
    assert lines(observer) == ["bad again"]
