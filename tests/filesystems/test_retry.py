"""What repeats calls: which errors, for how long; a call that was done and failed changes nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.files import decode_errors, file_retry
from whesl.managers.resource import cluster_environment
from whesl.model.states import TaskState
from whesl.runtime.isolator.launch.attempt import Attempt
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Result, TaskDir
from whesl.runtime.wire.keys import user_keys
from whesl.runtime.wire.private_directory import HomeError, make_private

LASTING = (errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EEXIST)


class Failing:
    """System calls fail a few times; ``after``: they are done, and fail all the same."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.calls = 0

    def fail(self, name: str, times: int, code: int, *, after: bool, below: Path) -> None:
        real: Callable[..., Any] = getattr(os, name)
        left = times

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left and args and str(args[0]).startswith(str(below)):
                left -= 1
                self.calls += 1
                if after:
                    done = real(*args, **kwargs)
                    if name == "open":
                        os.close(done)
                raise OSError(code, os.strerror(code), str(args[0]))
            return real(*args, **kwargs)

        self._patch.setattr(os, name, call)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Failing]:
    pauses: list[float] = []
    monkeypatch.setattr("whesl.files.file_retry.time.sleep", pauses.append)
    yield Failing(monkeypatch)


@given(
    codes=st.lists(st.sampled_from(sorted(file_retry.TRANSIENT)), max_size=6),
    last=st.sampled_from((0, *LASTING)),
)
def test_only_what_lasts_is_raised(codes: list[int], last: int) -> None:
    left = [*codes, *([last] if last else [])]

    def call() -> str:
        if left:
            raise OSError(left.pop(0), "said")
        return "done"

    if last:
        with pytest.raises(OSError, match="said") as raised:
            file_retry.retried(call)
        assert raised.value.errno == last
    else:
        assert file_retry.retried(call) == "done"
    assert not left


def test_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    calls = 0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def call() -> None:
        nonlocal calls
        calls += 1
        raise OSError(errno.ESTALE, "stale")

    monkeypatch.setattr("whesl.files.file_retry.time.sleep", sleep)
    monkeypatch.setattr("whesl.files.file_retry.time.monotonic", lambda: now)
    with pytest.raises(OSError, match="stale"):
        file_retry.retried(call, 10.0)
    assert 10.0 <= now < 11.0
    assert 10 < calls < 100


def test_what_could_not_be_seen_is_not_gone(tmp_path: Path) -> None:
    for function in (file_retry.exists, file_retry.content):
        assert not function(tmp_path / "none", 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whesl.files.file_retry.retried", lambda _call, _limit=0.0: _refuse())
        for asked in (
            file_retry.exists,
            file_retry.names,
            file_retry.size,
            file_retry.content,
        ):
            with pytest.raises(OSError, match="not now"):
                asked(tmp_path / "file")


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_a_file_that_could_not_be_seen_is_not_taken_for_a_deleted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """An embedded cluster ended itself as a deleted one, and Slurm was asked by another configuration."""
    file = tmp_path / "slurm.conf"
    assert file_retry.gone(file) and file_retry.gone(file / "below")
    assert "SLURM_CONF" not in cluster_environment.asking({}, {"SLURM_CONF": str(file)})
    file.touch()
    assert not file_retry.gone(file) and file_retry.gone(file / "below")

    def fails(path: object, *_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as patch:
        for name in ("stat", "lstat"):
            patch.setattr(os, name, fails)
        assert not file_retry.gone(file)
        assert cluster_environment.asking({}, {"SLURM_CONF": str(file)})["SLURM_CONF"] == str(file)


@pytest.mark.parametrize("after", [False, True], ids=["not done", "done and failed"])
@pytest.mark.parametrize(
    "code", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT], ids=["EIO", "ESTALE", "ETIMEDOUT"]
)
@pytest.mark.parametrize(
    "name", ["open", "replace", "mkdir", "rename", "link", "unlink", "lstat", "stat", "chmod"]
)
def test_a_call_that_fails_changes_nothing(
    failing: Failing, tmp_path: Path, name: str, code: int, after: bool
) -> None:
    """A home, its keys, a task's directory with its result, and what is read of it."""
    home = tmp_path / "home"
    failing.fail(name, 3, code, after=after, below=tmp_path)
    make_private(str(home))
    keys = user_keys(home)
    directory = TaskDir(home / "tasks" / "wf" / "app")
    directory.make()
    file_retry.make_directory(str(directory.attempt(1)))
    file_retry.replace(directory.attempt(1) / "claim", b"mine")
    file_retry.replace(directory.status(1), b"0".ljust(15) + b"\n")
    result = b'{"code":0,"state":"completed","reason":"","claim":"mine"}'
    file_retry.replace(directory.result_file, result)
    file_retry.replace(home / "written", b"x", durable=True)
    assert user_keys(home) == keys
    assert (directory.newest_attempt(), directory.claim_of(1)) == (1, "mine")
    assert taskdir.read_status(directory.status(1)) == 0
    assert decode_errors.load(directory.result_file, Result) == Result(
        code=0, state=TaskState.COMPLETED, reason="", claim="mine"
    )
    file_retry.remove(directory.result_file)
    assert decode_errors.load(directory.result_file, Result) is None


def test_an_attempt_that_cannot_be_seen_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a status file that could not be read was no trace of an attempt."""
    directory = TaskDir(tmp_path)
    file_retry.make_directory(str(directory.attempt(1)))
    file_retry.replace(directory.status(1), b"0".ljust(15) + b"\n")
    found = Attempt.find(directory, 1, "no-such-token")
    assert found is not None and found.exit_code() == 0
    monkeypatch.setattr("whesl.files.file_retry.retried", lambda call, _limit=0.0: _refuse())
    with pytest.raises(OSError, match="not now"):
        Attempt.find(directory, 1, "no-such-token")
    with pytest.raises(OSError, match="not now"):
        found.exit_code()


def _refuse() -> Any:
    raise OSError(errno.EIO, "not now")


def test_an_error_is_told_as_what_it_is(tmp_path: Path) -> None:
    error = OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(tmp_path))
    assert file_retry.told(error) == f"Stale file handle (ESTALE): {tmp_path}"
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(HomeError, match="EEXIST"):
        make_private(str(file / "below"))
