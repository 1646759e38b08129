"""A log that grows: rotation, truncation, bursts and torn lines lose no message and count none twice."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.prediction.log_chains.test_stream import COMPILED, line
from tests.waiting import until
from whesl.model.errors import WheslError
from whesl.model.evidence import PredictedFailure
from whesl.prediction.log_chains import follow
from whesl.prediction.log_chains.log_stream_predictor import ChainStream

FIRST = "EDAC MC0: 3 CE memory read error"
SECOND = "Kernel panic - not syncing: Fatal"


class Followed:
    """A follower in a thread of its own."""

    def __init__(self, path: Path, *, whole: bool = True) -> None:
        self.found: list[PredictedFailure] = []
        self.trouble: list[str] = []
        self.stream = ChainStream(COMPILED)
        self._stop = threading.Event()
        told = follow.file(
            self.stream, str(path), whole=whole, stopped=self._stop.is_set, trouble=self.trouble.append
        )
        self._thread = threading.Thread(target=self._take, args=(told,))
        self._thread.start()

    def _take(self, told: Iterator[PredictedFailure]) -> None:
        self.found.extend(told)

    def lines(self, count: int) -> None:
        until(lambda: self.stream.lines >= count, f"{count} lines", 60)

    def stop(self) -> list[str]:
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive()
        return [one.node for one in self.found]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "messages"


@pytest.fixture
def start() -> Iterator[Callable[..., Followed]]:
    every: list[Followed] = []

    def begin(path: Path, *, whole: bool = True) -> Followed:
        every.append(Followed(path, whole=whole))
        return every[-1]

    yield begin
    for one in every:
        one.stop()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


Start = Callable[..., Followed]


@pytest.mark.parametrize("mode", ["auto", "poll"])
def test_a_rotated_log_goes_on_in_the_new_one(
    log: Path, start: Start, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHESL_TAIL", mode)
    log.write_bytes(line(0, "n1", FIRST))
    followed = start(log)
    followed.lines(1)
    log.rename(log.with_suffix(".1"))
    append(log.with_suffix(".1"), line(1, "n2", FIRST))  # by a writer that has it open still
    log.write_bytes(line(2, "n1", SECOND) + line(2, "n2", SECOND))
    followed.lines(4)
    assert followed.stop() == ["n1", "n2"]


def test_a_log_that_is_copied_and_truncated_goes_on(log: Path, start: Start) -> None:
    log.write_bytes(line(0, "n1", FIRST) + b"x" * 1000 + b"\n")
    followed = start(log)
    followed.lines(2)
    os.truncate(log, 0)
    append(log, line(1, "n1", SECOND))
    followed.lines(3)
    assert followed.stop() == ["n1"]


def test_torn_lines_and_bursts(log: Path, start: Start) -> None:
    log.touch()
    followed = start(log)
    data = line(0, "n1", FIRST)
    append(log, data[:20])
    append(log, data[20:50])
    append(log, data[50:])
    followed.lines(1)
    noise = b"".join(line(1, f"n{number}", "nothing of interest") for number in range(20_000))
    append(log, noise[:-7])
    append(log, noise[-7:] + line(2, "n1", SECOND))
    followed.lines(20_002)
    assert followed.stop() == ["n1"]
    assert followed.stream.lines == 20_002


def test_a_log_that_is_not_there_yet_and_one_from_its_end(log: Path, start: Start, tmp_path: Path) -> None:
    followed = start(log)
    old = tmp_path / "old"
    old.write_bytes(line(0, "n1", FIRST))
    ended = start(old, whole=False)
    log.write_bytes(line(0, "n3", FIRST) + line(1, "n3", SECOND))
    followed.lines(2)
    assert followed.stop() == ["n3"]
    # What was there before counts for nothing; whether it is followed yet is known by a line that is read.
    until(lambda: ended.stream.lines > 0, "the end", 30, lambda: append(old, line(1, "n9", "hello")))
    before = ended.stream.lines
    append(old, line(1, "n1", SECOND))
    ended.lines(before + 1)
    assert ended.stop() == []


def test_what_cannot_be_read_is_told(tmp_path: Path, start: Start) -> None:
    followed = start(tmp_path)
    until(lambda: followed.trouble, "the reason", 30)
    assert "not a regular file" in followed.trouble[0]


def test_a_pipe_to_its_end() -> None:
    read, write = os.pipe()
    code = f"import os; os.write({write}, {line(0, 'n1', FIRST) + line(1, 'n1', SECOND)[:-1]!r})"
    process = subprocess.Popen([sys.executable, "-c", code], pass_fds=(write,))
    os.close(write)
    assert [one.node for one in follow.pipe(ChainStream(COMPILED), read)] == ["n1"]
    assert process.wait(120) == 0
    os.close(read)


def test_the_journal_through_journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for journalctl prints what the real one does in this form, and ends."""
    (tmp_path / "data").write_bytes(line(0, "n1", FIRST) + line(1, "n1", SECOND))
    script = tmp_path / "journalctl"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *--follow*short-iso-precise*) cat {tmp_path}/data;; *) exit 3;; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = follow.journal(ChainStream(COMPILED))
    assert next(found).node == "n1"
    with pytest.raises(WheslError, match="journalctl has ended with status 0"):
        next(found)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(WheslError, match="cannot run journalctl"):
        next(follow.journal(ChainStream(COMPILED)))
