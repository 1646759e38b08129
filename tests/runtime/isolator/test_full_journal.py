"""The journal's own disk is full for a while: what waited is written with the times at which it happened."""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.equipment.faults import FaultError, tmpfs
from tests.journals import of_task, rebuild_task
from tests.runtime.isolator.bench import Bench, bench, until
from tests.runtime.isolator.conftest import World, exception, found, make_setup
from whesl.runtime.isolator.core.events_and_commands import Detections
from whesl.runtime.isolator.event_loop_sources import Signals
from whesl.runtime.isolator.launch import signal_delivery
from whesl.runtime.isolator.task import disk_reserve
from whesl.runtime.isolator.task.journal_writer import Records
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.sqlite_errors import JournalError

__all__ = ["bench"]


class FullDisk:
    """A journal that takes nothing while ``full``."""

    def __init__(self) -> None:
        self.full = self.tight = False
        self.records: list[tuple[str, dict[str, Any], float]] = []

    def append_many(self, records: list[tuple[str, Any]], time: float) -> None:
        if self.full:
            raise JournalError("no space left", reason="full")
        self.records += [
            (kind, msgspec.json.decode(msgspec.json.encode(data)), time) for kind, data in records
        ]


def test_a_back_off_is_the_same_after_the_disk_was_full() -> None:
    journal = FullDisk()
    records = Records(journal)
    setup = make_setup(exception(backoff=60.0, limit=2))
    world = World(setup).start()
    for record in world.records:
        assert records.write([of_task(record[0], record[1])], record[2])
    before = len(world.records)
    journal.full = True
    world.feed(Detections(attempt=1, found=(found("CRASH"),)))
    world.now += 7.0
    for kind, data, time in world.records[before:]:
        assert not records.write([of_task(kind, data)], time)
    journal.full = False
    assert records.write([], world.now)
    assert journal.records == world.records
    again = rebuild_task(setup, journal.records)
    assert again.pending[0].not_before == world.state.pending[0].not_before


def test_what_is_wrong_with_a_journal_is_said_while_it_lasts() -> None:
    journal = FullDisk()
    records = Records(journal)
    record = [of_task("begun")]
    records.write(record, 1.0)
    assert (records.trouble, records.waiting) == ("", 0)
    journal.full = True
    records.write(record, 2.0)
    assert "no space left" in records.trouble and records.waiting == 1
    journal.full, journal.tight = False, True
    records.write([], 3.0)
    assert "reserve" in records.trouble and records.waiting == 0
    journal.tight = False
    records.write(record, 4.0)
    assert records.trouble == ""


# The first run fills the disk on which the task's directory is, once that has an isolator, and crashes.
APP = """\
echo "run $WHESL_RESTART_COUNT" >>runs
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  while [ ! -e small/task/reserve ]; do sleep 0.05; done
  dd if=/dev/zero of=small/filler bs=4096 2>/dev/null
  echo "An error occurred in MPI_Send"; sleep 60
fi
echo $$ >running
while [ ! -e end ]; do sleep 0.05; done
exit 7
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_task_is_recovered_on_a_disk_that_it_has_filled(bench: Bench) -> None:
    """Nothing of its record is lost, though its isolator is killed while there is no room."""
    with ExitStack() as stack:
        try:
            stack.enter_context(tmpfs(bench.place / "small", 4 << 20))
        except FaultError as error:
            pytest.skip(str(error))
        bench.directory = TaskDir(bench.place / "small" / "task")
        command = bench.script(APP)
        out = stack.enter_context((bench.place / "out").open("ab"))
        keeper = bench.exec(*command, options=("-e", bench.rules(), "--name", "app"), stdout=out, stderr=out)
        until((bench.place / "running").exists, "the second run")
        until(lambda: "confirmed" in bench.kinds(), "its confirmation")
        with pytest.raises(OSError) as refused, (bench.place / "small" / "more").open("wb") as file:
            file.write(bytes(1 << 20))
            file.flush()
            os.fsync(file.fileno())
        assert refused.value.errno in (errno.ENOSPC, errno.EDQUOT)
        isolator = bench.isolator()
        os.kill(isolator, signal.SIGKILL)
        until(lambda: bench.isolator() != isolator, "another isolator")
        (bench.place / "end").touch()
        assert keeper.wait(60) == 7
        assert (bench.place / "runs").read_text() == "run 0\nrun 1\n"
        kinds = bench.kinds()
        for kind in ("raised", "decided", "fenced", "step-done", "relaunched", "confirmed", "finished"):
            assert kinds.count(kind) == 1, (kind, kinds)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_home_without_inodes_is_told_as_such_and_a_task_outlives_it(bench: Bench) -> None:
    """There is room, and no file can be made: first before a task begins, then while it runs."""
    with ExitStack() as stack:
        try:
            stack.enter_context(tmpfs(bench.place / "small", 8 << 20, inodes=60))
        except FaultError as error:
            pytest.skip(str(error))
        small = bench.place / "small"
        fill = f"n=0; while : > {small}/filler.$n; do n=$((n + 1)); done 2>/dev/null"
        bench.directory = TaskDir(small / "task")
        subprocess.run(["sh", "-c", fill], check=False)
        code, _, said = bench.run("touch", str(bench.place / "ran"))
        assert code == 0 and (bench.place / "ran").exists(), "it runs as without WHESL"
        assert "ENOSPC" in said and "no more files (inodes)" in said and "Traceback" not in said
        assert "the command runs as without WHESL" in said
        for file in small.glob("filler.*"):
            file.unlink()
        reserve = small / "task" / "reserve"
        command = bench.script(f"until [ -e {reserve} ]; do sleep 0.05; done; {fill}; exit 5\n")
        assert bench.run(*command)[0] == 5
        for file in small.glob("filler.*"):
            file.unlink()
        assert bench.kinds().count("launched") == 1
        assert "Traceback" not in bench.directory.log.read_text()


class TestRoom:
    def test_what_is_held_is_given_up_for_what_has_to_be_written(self, tmp_path: Path) -> None:
        disk_reserve.hold(tmp_path)
        assert (tmp_path / "reserve").stat().st_size == disk_reserve.SIZE

        def write() -> str:
            if (tmp_path / "reserve").exists():
                raise OSError(errno.EDQUOT, "quota")
            return "written"

        assert disk_reserve.written(tmp_path, write) == "written"
        with pytest.raises(OSError, match="quota"):
            disk_reserve.written(tmp_path, _never)

    def test_the_wait_for_room_ends_when_the_task_is_told_to_end(self, tmp_path: Path) -> None:
        """An isolator once waited half a minute for room for its result, and heard no SIGTERM meanwhile."""
        before = {signum: signal.getsignal(signum) for signum in signal_delivery.heard()}
        signals = Signals()
        try:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
            timer.start()
            with pytest.raises(OSError, match="quota"):
                disk_reserve.written(tmp_path, _never, math.inf, signals.end_within)
            timer.join()
        finally:
            signal.set_wakeup_fd(-1)
            for signum, handler in before.items():
                signal.signal(signum, handler)

    def test_other_errors_give_nothing_up(self, tmp_path: Path) -> None:
        disk_reserve.hold(tmp_path)
        with pytest.raises(FileNotFoundError):
            disk_reserve.written(tmp_path, (tmp_path / "none").read_bytes)
        assert (tmp_path / "reserve").exists()


def _never() -> None:
    raise OSError(errno.EDQUOT, "quota")
