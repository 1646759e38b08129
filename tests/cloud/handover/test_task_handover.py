"""The order of what is asked of another cluster, with one that answers as a test says."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from whesl.cli.cloud.handover import handover
from whesl.cloud.handover.task_handover import Handing, Task
from whesl.managers.resource.port import JobRecord
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError
from whesl.model.states import JobState


class There:
    """A cluster that notes what it is asked, and runs each job to its end at once.

    ``silent`` names the calls that get no answer, ``living`` the runs that go on until a cancellation.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.silent: set[str] = set()
        self.living: set[str] = set()
        self.claimed: set[str] = set()
        self.jobs: dict[str, JobState] = {}
        self.exit: int | None = 3
        self.state = JobState.COMPLETED

    def _note(self, name: str, run: str) -> None:
        self.asked.append((name, run))
        if name in self.silent:
            raise CouldNotObserveError("away")

    def claim(self, run: str) -> bool:
        self._note("claim", run)
        fresh = run not in self.claimed
        self.claimed.add(run)
        return fresh

    def put(self, run: str, directory: Path, names: Sequence[str]) -> None:
        self._note("put", run)

    def submit(self, run: str, *_: Any) -> str:
        self._note("submit", run)
        self.claimed.add(run)
        self.jobs[run] = JobState.RUNNING if run in self.living else self.state
        return "17"

    def job(self, run: str) -> JobRecord | None:
        self._note("job", run)
        return JobRecord(id=run, state=self.jobs[run], exit_code=-9) if run in self.jobs else None

    def cancel(self, job_id: str) -> None:
        self._note("cancel", job_id)
        self.jobs[job_id] = JobState.CANCELLED

    def status(self, run: str) -> int | None:
        self._note("status", run)
        return self.exit

    def output(self, run: str, stream: str, since: int) -> bytes:
        return b"" if since else stream.encode()

    def written(self, run: str) -> list[str]:
        return ["out/a", "log"]

    def get(self, run: str, name: str, target: Path) -> object:
        self.asked.append(("get", name))
        return target

    def remove(self, run: str) -> None:
        self._note("remove", run)

    def close(self) -> None:
        pass


@pytest.fixture
def there() -> There:
    return There()


Call = Callable[..., Handing]


@pytest.fixture
def call(there: There, tmp_path: Path) -> Call:
    """Return a maker of calls for one task."""

    def made(**fields: Any) -> Handing:
        task = Task(key="w/a_1", directory=tmp_path, command=("true",), outputs=("out/*",), **fields)
        streams = (io.BytesIO(), io.BytesIO())
        records = tmp_path / "records"
        return Handing(task, "other", lambda _: there, records, poll=0.01, patience=0.05, streams=streams)

    return made


def names(there: There) -> list[str]:
    return [name for name, _ in there.asked]


def test_a_whole_run(there: There, call: Call, tmp_path: Path) -> None:
    assert call().run() == 3
    assert names(there) == ["put", "submit", "status", "get", "remove"]
    assert there.asked[3] == ("get", "out/a")
    assert not list((tmp_path / "records").glob("*.json"))


def test_what_a_killed_call_left_is_ended_before_anything_is_sent(
    there: There, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "1")
    there.living, there.exit = {"whesl-1"}, None
    monkeypatch.setattr(there, "status", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):  # as a kill: nothing is tidied up
        call().run()
    assert there.jobs == {"whesl-1": JobState.RUNNING}
    monkeypatch.undo()
    there.asked.clear()

    def status(run: str) -> int | None:
        there.asked.append(("status", run))
        return None if run == "whesl-1" else 0

    monkeypatch.setattr(there, "status", status)
    monkeypatch.setattr("secrets.token_hex", lambda _: "2")
    assert call().run() == 0
    first = [what for what in there.asked if what[1] == "whesl-1"]
    assert first == there.asked[: len(first)]
    assert [name for name, _ in first] == ["claim", "job", "cancel", "job", "status", "remove"]


@pytest.mark.parametrize("silent", ["claim", "job"])
def test_nothing_is_sent_while_the_earlier_run_may_live(there: There, call: Call, silent: str) -> None:
    there.silent = {"status"}
    with pytest.raises(CouldNotObserveError, match="other did not answer for"):
        call().run()
    there.asked.clear()
    there.silent = {silent}
    for _ in range(2):
        with pytest.raises(CouldNotObserveError):
            call().run()
    assert not {"put", "submit"} & set(names(there))
    there.silent = set()
    assert call().run() == 3


def test_a_job_that_ends_without_a_status_is_no_success(there: There, call: Call) -> None:
    there.exit, there.state = None, JobState.FAILED
    assert call().run() == 128 + 9
    assert names(there).count("status") == 2, "what it wrote at last was not looked at"


def test_a_job_that_is_refused_leaves_no_record(
    there: There, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> str:
        raise RefusedError("sbatch: invalid partition")

    monkeypatch.setattr(there, "submit", refuse)
    with pytest.raises(RefusedError, match="invalid partition"):
        call().run()
    assert names(there)[-3:] == ["claim", "job", "status"]
    assert not list((tmp_path / "records").glob("*.json"))


def test_an_input_that_is_not_there_and_names_that_lie_elsewhere(there: There, call: Call) -> None:
    for wrong in ("none", "/etc/passwd"):
        with pytest.raises(UsageError):
            call(inputs=(wrong,)).run()
    assert not there.asked


def test_what_could_not_be_brought_back_remains_there(
    there: There, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there, "written", lambda _: ["out/../../x"])  # a host that lies
    with pytest.raises(RefusedError, match="not a file below"):
        call().run()
    assert "remove" not in names(there) and there.claimed


@pytest.mark.parametrize("name", ["A;touch x", "A-B", "", "9A", "BASH_FUNC_f%%", "NOT_SET_ANYWHERE"])
def test_a_name_that_no_shell_can_export_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name and name != "NOT_SET_ANYWHERE":
        monkeypatch.setenv(name, "1")
    with pytest.raises(UsageError, match="--export"):
        handover.main(["--export", name, "east", "true"], standalone_mode=False)
