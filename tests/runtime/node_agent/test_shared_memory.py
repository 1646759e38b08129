"""Shared memory of killed processes: removed when it is surely theirs, and nothing else of the user's is."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.node_agent.started import token
from whesl.runtime.node_agent.fencing import attempt_processes, shm_cleanup
from whesl.runtime.node_agent.fencing.attempt_processes import TOKEN_VARIABLE

__all__ = ["token"]  # a fixture

MAP = """\
import mmap, sys, time
files = [open(path, "r+b") for path in sys.argv[1:]]
held = [mmap.mmap(file.fileno(), 0) for file in files]
print("mapped", flush=True)
time.sleep(300)
"""


class Memory:
    """Files in /dev/shm, and processes that have them mapped."""

    def __init__(self) -> None:
        self.tag = secrets.token_hex(6)
        self._made: list[Path] = []
        self._started: list[subprocess.Popen[bytes]] = []

    def file(self, name: str, mode: int = 0o600) -> Path:
        path = shm_cleanup.PLACE / f"{name}{self.tag}.{len(self._made)}"
        path.write_bytes(bytes(4096))
        path.chmod(mode)
        self._made.append(path)
        return path

    def process(self, *files: Path, token: str = "") -> subprocess.Popen[bytes]:
        environment = {**os.environ, **({TOKEN_VARIABLE: token} if token else {})}
        command = [sys.executable, "-c", MAP, *map(str, files)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True)
        self._started.append(process)
        assert process.stdout is not None and process.stdout.readline() == b"mapped\n"
        return process

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        for path in self._made:
            path.unlink(missing_ok=True)


@pytest.fixture
def memory() -> Iterator[Memory]:
    made = Memory()
    yield made
    made.close()


def test_what_killed_ranks_had_mapped_is_removed(memory: Memory, token: str) -> None:
    mine = [memory.file("vader_segment.host.0."), memory.file("ucx_shm_posix_"), memory.file("nccl-")]
    memory.process(*mine, token=token)
    memory.process(*mine[:1], token=token)
    assert attempt_processes.kill_all(token).left == []
    assert [path for path in mine if path.exists()] == []


def test_whatever_is_not_surely_theirs_stays(memory: Memory, token: str) -> None:
    shared = memory.file("vader_segment.host.0.")
    data, checkpoint = memory.file("data."), memory.file("scr_checkpoint.")
    unmapped, others = memory.file("vader_segment.host.0."), memory.file("psm2_shm.", 0o666)
    memory.process(shared, data, checkpoint, others, token=token)
    beside = memory.process(shared)
    assert attempt_processes.kill_all(token).left == []
    assert all(path.exists() for path in (shared, data, checkpoint, unmapped, others))
    assert beside.poll() is None


def test_a_file_that_took_the_place_of_another_stays(memory: Memory, token: str) -> None:
    path = memory.file("sm_segment.host.0.")
    rank = memory.process(path, token=token)
    segments = shm_cleanup.Segments()
    segments.note([rank.pid])
    path.unlink()
    path.write_bytes(b"of the next attempt")
    path.chmod(0o600)
    assert segments.remove(list) == 0 and path.exists()


def test_a_symbolic_link_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(bytes(4096))
    link = memory.file("vader_segment.")
    link.unlink()
    link.symlink_to(target)
    rank = memory.process(target)
    segments = shm_cleanup.Segments()
    segments.note([rank.pid])
    assert segments.remove(list) == 0 and target.exists() and link.is_symlink()


def test_without_such_a_directory_nothing_happens(tmp_path: Path) -> None:
    segments = shm_cleanup.Segments(tmp_path / "none")
    segments.note([os.getpid()])
    assert segments.remove(lambda: [os.getpid()]) == 0
