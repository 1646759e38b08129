"""Watching every file whose name has a pattern, and what was never seen in any file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.detect.build import SPAN, STDERR, STDOUT, exception, spec
from tests.runtime.detect.test_watch import QUOTA, append
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.log import LogDetection
from whesl.language.pattern_and_stream_records import Source, Stream
from whesl.model.evidence import Detected
from whesl.model.workflow import Task
from whesl.runtime.detect import named_files
from whesl.runtime.detect.task_watch import Watch


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Callable[[], Watch]]:
    """Watches of all logs of a directory."""
    source = Source(stream=Stream.FILE, path="logs/*.log")
    task = Task(id="wf/solve", step="solve", workspace=str(tmp_path))
    rules = spec(exception("E", LogDetection(patterns=(QUOTA,), source=source, span=SPAN)))
    (tmp_path / "logs").mkdir()
    opened: list[Watch] = []

    def make(**options: Any) -> Watch:
        opened.append(Watch(rules, task, {}, "n1", 0.0, **options))
        return opened[-1]

    yield make
    for watch in opened:
        watch.close()


def files(found: list[Detected]) -> list[str]:
    return [Path(each.evidence[-1].file).name for each in found]


def test_a_pattern_of_names_is_every_file_that_has_it(tmp_path: Path, logs: Callable[..., Watch]) -> None:
    place = tmp_path / "logs"
    append(place / "old.log", "Disk Quota Expired\n")
    watch = logs()
    append(place / "new.log", "Disk Quota Expired\n")
    append(place / "other.out", "Disk Quota Expired\n")
    (place / "directory.log").mkdir()
    assert files(watch.poll(1.0)) == ["new.log"]
    append(place / "old.log", "Disk Quota Expired\n")
    assert files(watch.poll(2.0)) == ["old.log"]
    append(place / "last.log", "Disk Quota Expired\n")
    assert files(watch.drain(2.1)) == ["last.log"]
    watch.new_attempt(3.0)
    assert watch.poll(4.0) == []
    append(place / "last.log", "Disk Quota Expired\n")
    append(place / "newest.log", "Disk Quota Expired\n")
    assert sorted(files(watch.poll(5.0))) == ["last.log", "newest.log"]


def test_what_came_while_nobody_watched_is_read(tmp_path: Path, logs: Callable[..., Watch]) -> None:
    place = tmp_path / "logs"
    append(place / "old.log", "Disk Quota Expired\n")
    begun = named_files.sizes([str(place / "*.log")])
    append(place / "early.log", "Disk Quota Expired\n")
    watch = logs(offsets={**begun, "stdout": 0})
    assert files(watch.poll(1.0)) == ["early.log"]
    state = watch.snapshot()
    append(place / "early.log", "Disk Quota Expired\n")
    append(place / "late.log", "Disk Quota Expired\n")
    again = logs()
    again.restore(state, 2.0)
    assert sorted(files(again.poll(3.0))) == ["early.log", "late.log"]


def test_a_file_called_like_a_pattern_is_that_file(tmp_path: Path, logs: Callable[..., Watch]) -> None:
    append(tmp_path / "logs" / "*.log", "\n")
    watch = logs()
    append(tmp_path / "logs" / "a.log", "Disk Quota Expired\n")
    append(tmp_path / "logs" / "*.log", "Disk Quota Expired\n")
    assert files(watch.poll(1.0)) == ["*.log"]


def test_more_files_than_are_followed_are_told(
    tmp_path: Path, logs: Callable[..., Watch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_files, "MOST", 2)
    for number in range(3):
        append(tmp_path / "logs" / f"{number}.log", "")
    watch = logs()
    watch.poll(1.0)
    assert "more than 2 files" in watch.problems()[str(tmp_path / "logs" / "*.log")]


def log(source: Source) -> LogDetection:
    return LogDetection(patterns=(QUOTA,), source=source, span=SPAN)


def test_what_could_not_be_seen_is_told(tmp_path: Path) -> None:
    out, err = tmp_path / "job.out", tmp_path / "job.err"
    files = [
        Source(stream=Stream.FILE, path=name) for name in ("late.log", "never.log", "*.txt", "empty.log")
    ]
    watched = {f"IN{number}": log(source) for number, source in enumerate(files)}
    rules = spec(
        exception("OUT", log(STDOUT)),
        exception("ERR", log(STDERR)),
        exception("EITHER", log(STDERR), log(STDOUT)),
        exception("ENDS", log(files[1]), ExitDetection(span=SPAN)),
        *(exception(name, detection) for name, detection in watched.items()),
    )
    task = Task(id="wf/solve", step="solve", workspace=str(tmp_path))
    (tmp_path / "empty.log").touch()
    watch = Watch(rules, task, {STDOUT: str(out), STDERR: str(err)}, "n1", 0.0)
    append(out, "fine\n")
    watch.poll(1.0)
    again = Watch(rules, task, {STDOUT: str(out), STDERR: str(err)}, "n1", 1.0)
    again.restore(json.loads(json.dumps(watch.snapshot())), 1.0)
    append(tmp_path / "late.log", "fine\n")
    again.drain(2.0)
    again.new_attempt(3.0)
    never = [f"{tmp_path / name} was watched, and never existed" for name in ("never.log", "*.txt")]
    empty = "IN3 saw no line: nothing was printed on empty.log"
    assert list(again.unseen(failed=False)) == [*never, empty]
    assert list(again.unseen(failed=True)) == [
        *never,
        "ERR saw no line: nothing was printed on stderr",
        empty,
    ]
    for each in (watch, again):
        each.close()
