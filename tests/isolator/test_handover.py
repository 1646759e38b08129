"""A job that runs again while the isolator of its earlier start lives on, on another node."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.isolator.conftest import make_setup
from whesl.isolator import entry
from whesl.isolator.taskdir import Job, Owner, TaskDir
from whesl.rjms.port import AllocationInfo


class Held:
    """A task's directory whose lock another node's isolator holds."""

    def __init__(self, place: Path, *, job_id: str = "38", host: str = "elsewhere") -> None:
        self.directory = TaskDir(place / "task")
        self.directory.make()
        self.job = Job(setup=make_setup(claim="38.0", job_id=job_id, rjms="slurm"))
        self._lock = self.directory.lock()
        owner = Owner(pid=1, started=1, host=host, claim="38.0")
        os.pwrite(self._lock, msgspec.json.encode(owner), 0)

    def leave(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def present(self, claim: str = "38.1") -> Owner | None:
        info = AllocationInfo(rjms="slurm", job_id="38", nodes=("n1",), batch_host="n1")
        return entry._present(self.directory, self.job, make_setup(claim=claim), info)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    made = Held(tmp_path)
    yield made
    made.leave()


def test_a_job_s_next_start_waits_for_the_end_of_the_one_before(
    held: Held, capfd: pytest.CaptureFixture[str]
) -> None:
    timer = threading.Timer(0.5, held.leave)
    timer.start()
    assert held.present() is None
    timer.join()
    assert "waiting for the end of claim 38.0 on elsewhere" in capfd.readouterr().err


def test_it_does_not_wait_for_ever(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "HANDOVER", 0.3)
    owner = held.present()
    assert owner is not None and owner.claim == "38.0"


@pytest.mark.parametrize("changes", [{"job_id": "37"}, {"host": os.uname().nodename}])
def test_nobody_else_is_waited_for(tmp_path: Path, changes: dict[str, str]) -> None:
    """Another job's isolator is refused at once, one of this machine is attached to."""
    other = Held(tmp_path, **changes)
    assert other.present() is not None
    other.leave()
