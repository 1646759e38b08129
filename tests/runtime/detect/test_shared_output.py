"""Several tasks in one output file: whoever reads for the first sees all of its bytes, and no others."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from whesl.runtime.detect import output_passthrough
from whesl.runtime.detect.shared_output import Appended, take
from whesl.runtime.detect.tail import Tailer
from whesl.runtime.isolator.launch.setup_json import element_numbers

NOBODY: dict[str, str] = {}


@pytest.fixture
def common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WHESL_ATTEMPT_TOKEN", raising=False)
    (tmp_path / "home").mkdir(mode=0o700)
    file = tmp_path / "common"
    file.write_bytes(b"before\n")
    yield file


def others(common: Path, count: int) -> list[Appended]:
    made = []
    for _ in range(count):
        descriptor = os.open(common, os.O_WRONLY)
        made.append(Appended(descriptor))
        os.close(descriptor)
    return made


def _leads_to(descriptor: Path, file: Path) -> bool:
    with contextlib.suppress(OSError):  # the one by which the directory was read
        return descriptor.readlink() == file
    return False


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["auto", "poll"])
def test_the_first_ones_bytes_are_told_from_those_of_the_others(common: Path, seed: int, mode: str) -> None:
    """Writes of any length, torn anywhere, reads of any length between them, isolators that are restarted."""
    chance = random.Random(seed)
    neighbours = others(common, chance.randint(1, 3))
    own, read, whole = b"", b"", b"before\n"
    tailer = Tailer(mode)
    begin = common.stat().st_size
    if chance.random() < 0.5:  # others have printed before the attempt begins
        neighbours[0].append(memoryview(b"of others\n"))
        whole += b"of others\n"
        begin = common.stat().st_size
    assert tailer.follow(str(common), begin) == len(b"before\n")
    with common.open("ab", buffering=0) as first:
        for step in range(200):
            text = bytes(chance.choices(b"abc \n", k=chance.randint(1, 40)))
            if chance.random() < 0.5:
                first.write(text)
                own += text
            else:
                text = text.upper() + b"\n"
                assert chance.choice(neighbours).append(memoryview(text)) == len(text)
            whole += text
            if chance.random() < 0.3:
                size = chance.choice((7, 64, 4096))
                read += b"".join(chunk.data for chunk in tailer.read(float(step), size, force=True))
            if chance.random() < 0.05:
                state = tailer.state()
                tailer.close()
                tailer = Tailer(mode)
                tailer.restore(state)
    while chunks := tailer.read(1000.0, 50, force=True):
        read += b"".join(chunk.data for chunk in chunks)
    tailer.close()
    assert read == own
    assert common.read_bytes() == whole


def test_a_file_is_taken_once_until_its_task_has_ended(common: Path) -> None:
    assert take(str(common), NOBODY)
    (held,) = (each.name for each in Path("/proc/self/fd").iterdir() if _leads_to(each, common))
    assert not take(str(common), NOBODY)
    inner = {"WHESL_ATTEMPT_TOKEN": "of a task that runs others"}
    assert take(str(common), inner), "what a task's own tasks print is that task's, too"
    assert not take(str(common), inner)
    os.close(int(held))
    assert take(str(common), NOBODY)


@pytest.mark.parametrize(
    ("name", "variables", "own"),
    [
        ("all.log", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "77"}, False),
        ("slurm-76_3.out", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "77"}, True),
        ("slurm-76_0003.out", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "77"}, True),
        ("slurm-76_0.out", {"SLURM_ARRAY_TASK_ID": "0", "SLURM_JOB_ID": "77"}, True),
        ("77.out", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "77"}, True),
        ("all.log", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1"}, True),
        ("all.log", {"SLURM_JOB_ID": "77"}, True),
        ("all.log", {"PBS_JOBID": "77[3].host", "PBS_ARRAY_INDEX": "3"}, False),
        ("run.o77.3", {"PBS_JOBID": "77[3].host", "PBS_ARRAY_INDEX": "3"}, True),
    ],
)
def test_an_arrays_tasks_take_no_file_that_is_named_for_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, variables: dict[str, str], own: bool
) -> None:
    (tmp_path / name).touch()
    # The test's directory has numbers in its name.
    monkeypatch.chdir(tmp_path)
    assert take(name, variables, element_numbers(variables)) is own


@pytest.mark.parametrize("seed", range(4))
def test_tasks_that_are_copied_to_one_file_keep_their_lines_whole(common: Path, seed: int) -> None:
    chance = random.Random(seed)
    over = threading.Event()
    copiers, files, printed = [], [], []
    for number in range(3):
        place = common.parent / f"task-{number}"
        (place / "attempt-1").mkdir(parents=True)
        files.append((place / "attempt-1" / "stdout").open("wb", buffering=0))
        printed.append(b"")
        out = os.open(common, os.O_WRONLY)
        settings = {"common": True}
        copier = threading.Thread(
            target=output_passthrough.copy, args=(str(place), "stdout", out, over), kwargs=settings
        )
        copier.start()
        copiers.append(copier)
    for line in range(300):
        number = chance.randrange(3)
        text = b"%d: line %d %s\n" % (number, line, b"x" * chance.randint(0, 300))
        printed[number] += text
        for begin in range(0, len(text), 50):
            files[number].write(text[begin : begin + 50])
    files[0].write(b"0: unfinished")
    over.set()
    for copier in copiers:
        copier.join(30)
    before, unfinished, after = common.read_bytes().removeprefix(b"before\n").partition(b"0: unfinished")
    assert unfinished
    lines = (before + after).splitlines(keepends=True)
    for number in range(3):
        assert b"".join(line for line in lines if line.startswith(b"%d:" % number)) == printed[number]
    outputs = common.parent / "home" / "outputs"
    assert not [*outputs.iterdir()], "nothing is left of what was written down"


@pytest.mark.parametrize("chance", range(4))
def test_a_late_neighbour_is_seen_by_one_who_rarely_asks(common: Path, chance: int) -> None:
    """Whoever reads all the time asks ten times a second whether there is a neighbour, and misses none."""
    wait = 0.05 * chance
    tailer = Tailer("poll")
    tailer.follow(str(common), common.stat().st_size)
    read: list[bytes] = []
    over = threading.Event()

    def follow() -> None:
        at = 0.0
        while not over.is_set():
            at += 1.0
            read.extend(chunk.data for chunk in tailer.read(at, 1 << 16, force=True))

    reader = threading.Thread(target=follow)
    reader.start()
    with common.open("ab", buffering=0) as first:
        first.write(b"own\n")
        time.sleep(wait)
        (neighbour,) = others(common, 1)
        neighbour.append(memoryview(b"of the neighbour\n"))
        first.write(b"own again\n")
    until(lambda: b"again" in b"".join(read), "the last line", 60.0)
    over.set()
    reader.join()
    tailer.close()
    assert b"".join(read) == b"own\nown again\n"


def test_who_shares_a_file_with_nobody_is_asked_rarely(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow home each question costs, and a busy log is looked at all the time."""
    tailer = Tailer("poll")
    tailer.follow(str(common), common.stat().st_size)
    asked: list[str] = []
    real = os.path.exists

    def exists(path: str) -> bool:
        if "outputs" in str(path):
            asked.append(path)
        return real(path)

    monkeypatch.setattr("os.path.exists", exists)
    now = 0.0
    monkeypatch.setattr("whesl.runtime.detect.shared_output.time.monotonic", lambda: now)
    with common.open("ab", buffering=0) as first:
        for look in range(500):
            now = look * 0.002
            first.write(b"own\n")
            assert b"".join(chunk.data for chunk in tailer.read(float(look), 4096, force=True)) == b"own\n"
    tailer.close()
    assert len(asked) <= 12
