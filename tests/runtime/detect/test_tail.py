"""The tailer on real files: growth, rotation, truncation, restart, and what it refuses."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import inotify_simple
import pytest

from tests.processes import nothing_left_open
from whesl.runtime.detect import tail
from whesl.runtime.detect.filesystem_type import magic_of, mount_source
from whesl.runtime.detect.followed_file import FASTEST, Chunk
from whesl.runtime.detect.tail import SAFETY, SLOWEST, Tailer

DEADLINE = 60.0  # seconds that a test waits for what must come


@pytest.fixture(params=["auto", "poll"])
def tailer(request: pytest.FixtureRequest) -> Iterator[Tailer]:
    with Tailer(request.param) as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "job.out"


def read_all(tailer: Tailer, size: int = tail.READ_SIZE) -> list[Chunk]:
    chunks: list[Chunk] = []
    while new := tailer.read(time.monotonic(), size, force=True):
        chunks += new
    return chunks


def text(chunks: list[Chunk]) -> bytes:
    return b"".join(chunk.data for chunk in chunks)


def at_least(size: int) -> Callable[[list[Chunk]], bool]:
    return lambda found: len(text(found)) >= size


def wait_for(tailer: Tailer, enough: Callable[[list[Chunk]], bool]) -> list[Chunk]:
    """Read as an event loop does: on events, and when a poll is due."""
    chunks: list[Chunk] = []
    end = time.monotonic() + DEADLINE
    while not enough(chunks):
        now = time.monotonic()
        assert now < end, f"only {sum(len(c.data) for c in chunks)} bytes came"
        due = tailer.next_poll(now)
        pause = max(0.0, min(due if due is not None else end, end) - now)
        handle = tailer.fileno()
        select.select([handle] if handle is not None else [], [], [], pause)
        chunks += tailer.read(time.monotonic())
    return chunks


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_growth_from_an_offset(tailer: Tailer, log: Path) -> None:
    log.write_bytes(b"old\n")
    assert tailer.follow(str(log), None) == 4
    assert read_all(tailer) == []
    append(log, b"new")
    assert read_all(tailer) == [Chunk(str(log), 4, b"new")]
    append(log, b"er\n")
    assert read_all(tailer) == [Chunk(str(log), 7, b"er\n")]
    assert tailer.follow(str(log), 2) == 2
    assert text(read_all(tailer)) == b"d\nnewer\n"


def test_a_file_that_is_not_there_yet(tailer: Tailer, log: Path) -> None:
    assert tailer.follow(str(log), 100) == 0
    assert read_all(tailer) == []
    log.write_bytes(b"hello")
    chunks = wait_for(tailer, lambda found: text(found) == b"hello")
    assert [chunk.rotated for chunk in chunks] == [False]


def test_reads_are_bounded(tailer: Tailer, log: Path) -> None:
    log.write_bytes(bytes(range(256)) * 40)
    tailer.follow(str(log))
    (chunk,) = tailer.read(time.monotonic(), 1000)
    assert len(chunk.data) == 1000
    assert tailer.pending
    now = time.monotonic()
    assert tailer.next_poll(now) == now
    assert chunk.data + text(read_all(tailer, 1000)) == bytes(range(256)) * 40
    assert not tailer.pending


def test_rotation_reads_the_old_to_its_end_then_the_new(tailer: Tailer, log: Path) -> None:
    log.write_bytes(b"one\n")
    tailer.follow(str(log))
    assert text(read_all(tailer)) == b"one\n"
    with log.open("ab") as writer:
        log.rename(log.with_suffix(".1"))
        log.touch()  # as logrotate's "create" does, before the writer knows
        assert read_all(tailer) == []
        writer.write(b"two, late\n")
        writer.flush()
        assert text(read_all(tailer)) == b"two, late\n"
        writer.write(b"three, very late\n")
    append(log, b"four\n")
    chunks = wait_for(tailer, lambda found: text(found).endswith(b"four\n"))
    assert [(c.offset, c.data, c.rotated) for c in chunks] == [
        (14, b"three, very late\n", False),
        (0, b"four\n", True),
    ]


def test_deletion_and_creation(tailer: Tailer, log: Path) -> None:
    log.write_bytes(b"one\n")
    tailer.follow(str(log))
    read_all(tailer)
    log.unlink()
    read_all(tailer)
    log.write_bytes(b"two\n")
    chunks = wait_for(tailer, lambda found: text(found) == b"two\n")
    assert chunks[-1].rotated
    assert chunks[-1].offset == 0


def test_a_link_that_changes(tailer: Tailer, log: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    log.symlink_to(first)
    tailer.follow(str(log))
    assert text(read_all(tailer)) == b"first"
    log.unlink()
    log.symlink_to(second)
    chunks = wait_for(tailer, bool)
    assert (chunks[0].data, chunks[0].rotated) == (b"second", True)


def test_truncation_starts_over(tailer: Tailer, log: Path) -> None:
    log.write_bytes(b"a long line\n")
    tailer.follow(str(log))
    read_all(tailer)
    os.truncate(log, 0)
    assert read_all(tailer) == []
    append(log, b"anew\n")
    assert read_all(tailer) == [Chunk(str(log), 0, b"anew\n", True)]
    os.truncate(log, 2)
    assert read_all(tailer) == [Chunk(str(log), 0, b"an", True)]


def test_fifos_devices_and_directories_are_refused(tailer: Tailer, log: Path, tmp_path: Path) -> None:
    os.mkfifo(log)
    device = tmp_path / "null"
    device.symlink_to("/dev/zero")
    (tmp_path / "dir").mkdir()
    paths = [str(log), str(device), str(tmp_path / "dir")]
    for path in paths:
        tailer.follow(path)
    assert read_all(tailer) == []
    assert set(tailer.problems()) == set(paths)
    assert all("not a regular file" in problem for problem in tailer.problems().values())
    log.unlink()
    log.write_bytes(b"a file now")
    assert text(wait_for(tailer, bool)) == b"a file now"
    assert str(log) not in tailer.problems()


def test_an_unreadable_file_is_said_and_tried_again(
    tailer: Tailer, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    log.write_bytes(b"secret")
    with monkeypatch.context() as patched:
        patched.setattr(tail, "open_file", denied)  # root, in containers, may open everything
        tailer.follow(str(log))
        assert read_all(tailer) == []
        assert tailer.problems() == {str(log): "Permission denied"}
    assert text(wait_for(tailer, bool)) == b"secret"
    assert tailer.problems() == {}


WRITER = """
import os, sys
path, total = sys.argv[1], int(sys.argv[2])
log = open(path, "wb", buffering=0)
written = number = 0
while written < total:
    number += 1
    if number % 7 == 0:
        line = b"%d " % number + b"x" * 1_000_000 + b"\\n"
    else:
        line = b"".join(b"%d line\\n" % n for n in range(number, number + 500))
    log.write(line)
    written += len(line)
    if sys.argv[3] == "rotate" and number % 5 == 0:
        os.rename(path, "%s.%d" % (path, number))
        log.close()
        log = open(path, "wb", buffering=0)
        print("rotated", flush=True)
        sys.stdin.readline()
print("done", flush=True)
"""


@pytest.mark.parametrize("mode", ["auto", "poll"])
def test_a_fast_writer_is_read_byte_for_byte(mode: str, log: Path) -> None:
    total = 64_000_000
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(log), str(total), "plain"])
    with Tailer(mode) as tailer:
        tailer.follow(str(log))
        chunks = wait_for(tailer, lambda found: sum(len(chunk.data) for chunk in found) >= total)
        assert process.wait(timeout=DEADLINE) == 0
        chunks += read_all(tailer)
    assert max(len(chunk.data) for chunk in chunks) <= tail.READ_SIZE
    assert text(chunks) == log.read_bytes()


@pytest.mark.parametrize("mode", ["auto", "poll"])
def test_a_writer_that_rotates_is_read_byte_for_byte(mode: str, log: Path) -> None:
    arguments = [sys.executable, "-c", WRITER, str(log), "12000000", "rotate"]
    read = b""
    log.touch()
    with Tailer(mode) as tailer:
        tailer.follow(str(log))
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        while process.stdout.readline() == "rotated\n":
            # At most one rotation between two looks: the limit that the module names.
            missing = sum(path.stat().st_size for path in log.parent.iterdir()) - len(read)
            read += text(wait_for(tailer, at_least(missing)))
            process.stdin.write("\n")
            process.stdin.flush()
        process.stdin.close()
        assert process.wait(timeout=DEADLINE) == 0
        process.stdout.close()
        read += text(read_all(tailer))
    old = sorted(log.parent.glob("job.out.*"), key=lambda path: int(path.suffix[1:]))
    assert len(old) > 2
    assert read == b"".join(path.read_bytes() for path in [*old, log])


def restarted(tailer: Tailer, restart: dict[str, int] | None = None) -> Tailer:
    state = json.loads(json.dumps(tailer.state(restart)))
    mode = "auto" if tailer.fileno() is not None else "poll"
    tailer.close()
    new = Tailer(mode)
    new.restore(state)
    return new


def test_restart_sees_the_gap_once(tailer: Tailer, log: Path) -> None:
    log.write_bytes(b"before\n")
    tailer.follow(str(log))
    read_all(tailer)
    append(log, b"in the gap\n")
    with restarted(tailer) as new:
        assert read_all(new) == [Chunk(str(log), 7, b"in the gap\n")]
        with restarted(new, {str(log): 10}) as newer:
            assert read_all(newer) == [Chunk(str(log), 10, b"the gap\n")]


def test_restart_finds_a_file_that_was_rotated_in_the_gap(tailer: Tailer, log: Path) -> None:
    log.write_bytes(b"before\n")
    tailer.follow(str(log))
    read_all(tailer)
    append(log, b"old, in the gap\n")
    state = tailer.state()
    log.rename(log.with_suffix(".1"))
    log.write_bytes(b"new, in the gap\n")
    tailer.restore(state)
    chunks = read_all(tailer)
    assert [(c.offset, c.data, c.rotated) for c in chunks] == [
        (7, b"old, in the gap\n", False),
        (0, b"new, in the gap\n", True),
    ]
    assert tailer.problems() == {}


def test_restart_says_what_was_rotated_away(tailer: Tailer, log: Path, tmp_path: Path) -> None:
    log.write_bytes(b"before\n")
    tailer.follow(str(log))
    read_all(tailer)
    state = tailer.state()
    (tmp_path / "elsewhere").mkdir()
    log.rename(tmp_path / "elsewhere" / "old")
    log.write_bytes(b"new\n")
    tailer.restore(state)
    assert read_all(tailer) == [Chunk(str(log), 0, b"new\n", True)]
    assert "rotated away" in tailer.problems()[str(log)]


@pytest.mark.parametrize("content", [b"new\n", b"another text that is longer\n"])
def test_restart_knows_a_file_that_was_written_anew(tailer: Tailer, log: Path, content: bytes) -> None:
    log.write_bytes(b"before\n")
    tailer.follow(str(log))
    read_all(tailer)
    state = tailer.state()
    with log.open("r+b") as file:  # the same inode, as on a file system that uses inodes again at once
        file.truncate()
        file.write(content)
    tailer.restore(state)
    assert read_all(tailer) == [Chunk(str(log), 0, content, True)]


def test_restart_before_the_file_was_there(tailer: Tailer, log: Path) -> None:
    tailer.follow(str(log))
    state = tailer.state()
    log.write_bytes(b"first\n")
    tailer.restore(state)
    assert read_all(tailer) == [Chunk(str(log), 0, b"first\n")]
    assert tailer.problems() == {}


def test_polling_slows_down_and_wakes_up(log: Path) -> None:
    log.write_bytes(b"")
    with Tailer("poll") as tailer:
        assert tailer.fileno() is None
        tailer.follow(str(log))
        now, pauses = 100.0, []
        for _ in range(9):
            tailer.read(now)
            due = tailer.next_poll(now)
            assert due is not None
            pauses.append(round(due - now, 6))
            now = due
        assert pauses[0] == 2 * FASTEST
        assert pauses[-1] == SLOWEST
        append(log, b"x")
        assert tailer.read(now - 0.01) == []  # not due
        assert text(tailer.read(now)) == b"x"
        assert tailer.next_poll(now) == pytest.approx(now + FASTEST)
        assert tailer.read(now - 3600) == []  # the clock was set back: not asleep for an hour
        due = tailer.next_poll(now - 3600)
        assert due is not None
        assert due < now - 3599


def test_inotify_looks_once_a_second_all_the_same(log: Path) -> None:
    log.write_bytes(b"")
    with Tailer("auto") as tailer:
        tailer.follow(str(log))
        for now in (100.0, 100.1):
            tailer.read(now)
        assert tailer.next_poll(100.1) == pytest.approx(100.1 + SAFETY)


def test_environment_chooses_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHESL_TAIL", "poll")
    with Tailer() as tailer:
        assert tailer.fileno() is None


def test_a_network_file_system_is_polled(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(b"")
    monkeypatch.setattr(tail, "magic_of", lambda place: 0x6969)
    with Tailer("auto") as tailer:
        tailer.follow(str(log))
        tailer.read(100.0)
        due = tailer.next_poll(100.0)
        assert due is not None
        assert due <= 100.0 + SLOWEST


def test_without_watches_it_polls(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Exhausted:
        def __init__(self, *, nonblocking: bool) -> None:
            raise OSError(24, "Too many open files")

    monkeypatch.setattr(inotify_simple, "INotify", Exhausted)
    log.write_bytes(b"x")
    with Tailer("auto") as tailer:
        assert tailer.fileno() is None
        tailer.follow(str(log))
        assert text(read_all(tailer)) == b"x"


def test_no_descriptor_is_left_behind(tailer: Tailer, log: Path) -> None:
    with nothing_left_open():
        for _ in range(5):
            log.write_bytes(b"x")
            tailer.follow(str(log))
            read_all(tailer)
            log.unlink()
            log.write_bytes(b"yy")
            read_all(tailer)
        tailer.unfollow(str(log))


def test_magic_and_mounts(tmp_path: Path) -> None:
    assert magic_of("/proc") == 0x9FA0
    with pytest.raises(OSError, match="No such file"):
        magic_of(str(tmp_path / "none"))
    assert mount_source("/proc/self") == "proc"
