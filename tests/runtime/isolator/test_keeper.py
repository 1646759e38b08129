"""The keeper copies output through, and leaves a shared file system alone while there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.runtime.isolator import started_runner
from tests.waiting import until
from whesl.runtime.detect import output_passthrough
from whesl.runtime.detect.output_passthrough import LOOK_FIRST, LOOK_LONGEST, copy
from whesl.runtime.isolator.launch import home_watch, program_runner, signal_delivery
from whesl.runtime.isolator.launch.isolator_keeper import Keeper
from whesl.runtime.isolator.launch.signal_delivery import ENDING
from whesl.runtime.node_agent.fencing import attempt_processes


class Pauses(threading.Event):
    """An end that comes after so many pauses, with something done before each of them."""

    def __init__(self, count: int, before: Callable[[int], None]) -> None:
        super().__init__()
        self._count = count
        self._before = before
        self.taken: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.taken.append(timeout)
        self._before(len(self.taken))
        if len(self.taken) == self._count:
            self.set()
        return self.is_set()


def test_looks_become_rare_while_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / "attempt-1").mkdir()
    output = tmp_path / "attempt-1" / "stdout"
    output.write_bytes(b"begun\n")

    def prints(pause: int) -> None:
        if pause == 12:
            with output.open("ab") as file:
                file.write(b"again\n")

    pauses = Pauses(20, prints)
    read, write = os.pipe()
    try:
        copy(str(tmp_path), "stdout", write, pauses)
        os.close(write)
        assert os.read(read, 100) == b"begun\nagain\n"
    finally:
        os.close(read)
    assert pauses.taken[0] == LOOK_FIRST
    assert pauses.taken[11] == LOOK_LONGEST
    assert pauses.taken[12] == LOOK_FIRST, "where something was printed, more may follow at once"
    assert pauses.taken[-1] == LOOK_LONGEST
    assert pauses.taken[:12] == sorted(pauses.taken[:12])


@pytest.fixture(autouse=True)
def _no_watch_outlives_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper's thread would go on in the process of the tests, which it may end."""
    monkeypatch.setattr(home_watch.HomeWatch, "start", lambda _: None)


def alone(directory: Path) -> Keeper:
    """Return the keeper of a task whose isolator cannot be had."""
    return Keeper(
        str(directory), "python", "mine", os.getpid(), child=False, runner=0, copy=[], summary="", quiet=False
    )


@pytest.mark.parametrize(
    ("claim", "status", "code"),
    [
        ("mine", b"0".ljust(15) + b"\n", 0),
        ("mine", b"3".ljust(15) + b"\n", 3),
        ("mine", b"run".ljust(15) + b"\n", 70),
        ("mine", program_runner.STATUS_PENDING, 70),
        ("an earlier run", b"0".ljust(15) + b"\n", 70),
        ("mine", None, 70),
    ],
)
def test_without_an_isolator_the_newest_attempts_status_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], claim: str, status: bytes | None, code: int
) -> None:
    """A finished success had ended as 70 when no isolator could say so."""
    for number, left in ((1, b"9".ljust(15) + b"\n"), (2, status)):
        place = tmp_path / f"attempt-{number}"
        place.mkdir()
        (place / "claim").write_text(claim)
        if left is not None:
            (place / "status").write_bytes(left)
    assert alone(tmp_path)._without_isolator() == code
    said = capsys.readouterr().err
    assert "no task runs" in said
    assert (f"attempt 2 ended with status {code}, which no rule has judged" in said) is (code != 70)


def test_no_isolator_follows_one_that_cannot_write_the_result_of_a_task_that_was_told_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seven isolators once waited half a minute each, beside a signal to end."""
    keeper = alone(tmp_path)
    keeper._status = os.EX_IOERR
    assert not keeper._in_vain()
    keeper._heard.add(signal.SIGTERM)
    assert keeper._in_vain()
    keeper._without_isolator()
    assert "cannot be read or written, and no task runs" in capsys.readouterr().err


def test_a_signal_ends_a_task_whose_output_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keeper waited for the reader for ever, and no signal but SIGKILL ended it."""
    monkeypatch.setattr(output_passthrough, "UNREAD", 0.1)
    taken, heard = threading.Event(), set[int]()
    copier = threading.Thread(target=taken.wait, daemon=True)
    copier.start()
    read, write = os.pipe()
    try:
        os.write(write, bytes((signal.SIGUSR1, signal.SIGTERM)))
        assert output_passthrough.finish([copier], read, heard, ENDING) == signal.SIGTERM
        taken.set()
        assert output_passthrough.finish([copier], read, heard, ENDING) == 0
    finally:
        taken.set()
        os.close(read)
        os.close(write)


def test_a_status_that_cannot_be_written_is_written_later(tmp_path: Path) -> None:
    place = tmp_path / "away"
    runner = subprocess.Popen(
        [sys.executable, program_runner.__file__, "0", str(place / "status"), "sh", "-c", "exit 3"]
    )
    try:
        time.sleep(0.2)
        assert runner.poll() is None, "it tries again"
        place.mkdir()
        (place / "status").write_bytes(program_runner.STATUS_PENDING)
        assert runner.wait(120) == 3
        assert (place / "status").read_bytes() == b"3".ljust(15) + b"\n"
    finally:
        runner.kill()


@pytest.mark.parametrize("removed", [True, False])
def test_a_directory_that_was_removed_does_not_take_the_task_s_own_status_with_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], removed: bool
) -> None:
    """A finished success once ended as 70, since somebody had cleaned WHESL_HOME."""
    directory = tmp_path / "task"
    if not removed:
        directory.mkdir()
    with subprocess.Popen(["sh", "-c", "exit 4"]) as runner:
        keeper = Keeper(
            str(directory), "python", "claim", os.getpid(),
            child=False, runner=runner.pid, copy=[], summary="", quiet=False,
        )  # fmt: skip
        os.waitid(os.P_PID, runner.pid, os.WEXITED | os.WNOWAIT)
        keeper._reap_runner()
    assert keeper._without_isolator() == (4 if removed else 70)
    said = (
        f"whesl: {directory} was removed while its task ran; attempt 1 ended with status 4, which no rule has"
    )
    assert (said in capfd.readouterr().err) is removed


def test_a_task_that_runs_is_found(tmp_path: Path) -> None:
    """It once was not: an isolator killed seven times in a minute ended the job of a task that was well."""
    status = tmp_path / "attempt-1" / "status"
    status.parent.mkdir()
    status.write_bytes(program_runner.STATUS_PENDING)
    assert program_runner.running(str(tmp_path)) == 0
    started = started_runner.begin("sleep", "60", status=status, place=tmp_path)
    try:
        until(lambda: status.read_bytes() != program_runner.STATUS_PENDING, "the runner", 30.0)
        assert program_runner.running(str(tmp_path)) == started.pid
        assert program_runner.running(str(tmp_path / "other")) == 0
    finally:
        attempt_processes.end_at_once(started_runner.TOKEN, started.pid)
        started.wait()


def test_who_hears_a_signal_dies_of_it_also_where_the_command_had_to_be_killed(tmp_path: Path) -> None:
    """It ended with status 143, which accounting calls a failure of its own, not a cancelled job."""
    ready = tmp_path / "ready"
    script = f"trap '' TERM; : > {ready}; while :; do sleep 0.1; done"
    words = (sys.executable, "-m", "whesl", "exec", "--term-grace", "1", "--", "sh", "-c", script)
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as child:
        until(ready.exists, "the command", 60.0)
        child.terminate()
        assert child.wait(60) == -signal.SIGTERM


@pytest.mark.parametrize("leaving", [False, True], ids=["gone", "leaving"])
@pytest.mark.parametrize(("before", "deadly"), [("", [signal.SIGTERM]), ("trap '' TERM; ", [])])
def test_a_signal_that_ends_the_program_is_passed_on_soon_and_not_overtaken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, deadly: list[int], leaving: bool
) -> None:
    """``scancel`` ended a job's steps, then its script with 0 while the keeper looked whom it reached.

    With proctrack/pgid the plain batch shell died of the signal, and the wrapped one was told as completed.
    A process that is ``leaving`` can still be sent signals.
    """
    status, ready = tmp_path / "status", tmp_path / "ready"
    words = f"{before}: > {ready}; exec sleep 600"
    runner = started_runner.begin("/bin/sh", "-c", words, status=status, place=tmp_path)
    until(ready.exists, "the program", 30.0)
    keeper, told = alone(tmp_path), []
    monkeypatch.setattr(program_runner, "running", lambda _: runner.pid)

    def reach(came: list[int], soon: list[int]) -> dict[int, str]:
        told.extend(soon)
        for child in signal_delivery.children(runner.pid):
            os.kill(child, signal.SIGKILL)
        runner.wait(30.0)
        return dict.fromkeys(came, signal_delivery.GROUP)

    keeper._witnesses = SimpleNamespace(reach=reach)  # type: ignore[assignment]  # a stand-in
    if leaving:
        monkeypatch.setattr(signal_delivery.Program, "send", lambda *_, **__: True)
    read, write = os.pipe()
    os.write(write, bytes((signal.SIGTERM,)))
    keeper._hear(read)
    os.close(read)
    os.close(write)
    assert told == deadly
    assert keeper._death(0) == next(iter(deadly), 0)


def test_what_nobody_reads_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``yes | whesl exec -- ./filter | head``: a child of the program wrote until the disk was full."""
    monkeypatch.setattr(output_passthrough, "UNREAD_BYTES", 1000)
    (tmp_path / "attempt-1").mkdir()
    output, told, over = tmp_path / "attempt-1" / "stdout", threading.Event(), threading.Event()
    output.write_bytes(b"a line\n")
    read, write = os.pipe()
    os.close(read)
    copier = threading.Thread(
        target=copy, args=(str(tmp_path), "stdout", write, over), kwargs={"unread": told.set}
    )
    copier.start()
    try:
        assert told.wait(60)
        with output.open("ab", buffering=0) as program:
            program.write(b"x" * 2000)
            until(lambda: output.stat().st_size == 0, "it is thrown away", 60)
            program.write(b"goes on\n")
        assert output.read_bytes() == b"goes on\n"
    finally:
        over.set()
        copier.join()
        os.close(write)
