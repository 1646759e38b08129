"""A chain of batch jobs: what the scheduler is asked for."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from whesl.managers import resource
from whesl.managers.workflow.batch import job_chain
from whesl.managers.workflow.batch.job_chain import Chain
from whesl.managers.workflow.batch.manager import Batch
from whesl.managers.workflow.port import RunPlan
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.model.states import JobState


def test_slurm_itself_cancels_what_waits_for_a_failed_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that was seen to complete may fail all the same, when slurmctld has lost its end: its dependents
    would wait for ever, since nobody looks at it any more."""
    calls: list[list[str]] = []

    def submit(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, f"{100 + len(calls)}\n", "")

    monkeypatch.setattr(subprocess, "run", submit)
    monkeypatch.setattr(resource, "scheduler", lambda _name: SimpleNamespace())
    for name in ("first", "second"):
        (tmp_path / f"{name}.sh").write_text("#!/bin/sh\ntrue\n")
    sources = [str(tmp_path / "first.sh"), f"{tmp_path}/second.sh:after=first"]
    workflow = Batch().read(sources, workflow="w")
    plan = RunPlan(
        workflow=workflow,
        files=(str(tmp_path / "first.sh"), str(tmp_path / "second.sh")),
        directory=str(tmp_path),
        environment={"WHESL_RJMS": "slurm"},
        log=str(tmp_path / "log"),
        poll=1.0,
    )
    Chain.start(plan)
    first, second = calls
    assert not any("dependency" in word or "invalid-dep" in word for word in first)
    assert "--dependency=afterok:101" in second
    assert "--kill-on-invalid-dep=yes" in second


class Submitted:
    """A scheduler whose jobs complete at once, and the calls that submitted them."""

    def __init__(self, place: Path, scripts: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.cancelled: list[str] = []
        self.refuses = -1
        self.says = "no"
        self.name = "slurm"
        files = [place / f"s{number}.sh" for number in range(scripts)]
        for file in files:
            file.write_text("#!/bin/sh\ntrue\n")
        monkeypatch.setattr(subprocess, "run", self._submit)
        monkeypatch.setattr(resource, "scheduler", lambda _name: self)
        self.plan = RunPlan(
            workflow=Batch().read([str(file) for file in files], workflow="w"),
            files=tuple(map(str, files)),
            directory=str(place),
            environment={"WHESL_RJMS": "slurm"},
            log=str(place / "log"),
            poll=0.0,
        )

    def _submit(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append(command[-1])
        refused = len(self.calls) == self.refuses
        said = ("", self.says) if refused else (f"{len(self.calls)}\n", "")
        return subprocess.CompletedProcess(command, int(refused), *said)

    def jobs(self, ids: list[str]) -> dict[str, Any]:
        return {job: SimpleNamespace(state=JobState.COMPLETED) for job in ids}

    def cancel(self, job: str) -> None:
        self.cancelled.append(job)


def test_many_scripts_are_watched_while_the_last_ones_are_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three hundred were submitted in silence for minutes; nobody saw the first ones run, or could cancel."""
    monkeypatch.setattr(job_chain, "_SUBMITTING", 0.0)
    made = Submitted(tmp_path, 3, monkeypatch)
    chain = Chain.start(made.plan)
    assert len(made.calls) == 1
    assert chain.poll() is None, "one has completed, and others wait to be submitted"
    assert chain.poll() == 0
    assert [Path(call).stem for call in made.calls] == ["s0", "s1", "s2"]


def test_what_was_not_submitted_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_chain, "_SUBMITTING", 0.0)
    made = Submitted(tmp_path, 3, monkeypatch)
    chain = Chain.start(made.plan)
    chain.cancel()
    assert made.cancelled == ["1"]
    assert chain.poll() == 1
    assert len(made.calls) == 1


def test_a_script_that_asks_for_a_test_alone_ends_as_its_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Submitted(tmp_path, 1, monkeypatch)
    said = subprocess.CompletedProcess([], 0, "", "sbatch: Job 7 to start at 2030-01-01T00:00:00\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: said)
    with pytest.raises(RefusedError, match=r"s0\.sh was not submitted: sbatch: Job 7 to start") as caught:
        Chain.start(made.plan)
    assert caught.value.exit_code == 0


def test_a_late_refusal_cancels_what_was_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_chain, "_SUBMITTING", 0.0)
    made = Submitted(tmp_path, 3, monkeypatch)
    made.refuses = 2
    made.plan = msgspec.structs.replace(made.plan, poll=60.0)
    chain = Chain.start(made.plan)
    with pytest.raises(RefusedError, match=r"s1\.sh was not submitted: no"):
        chain.poll()
    assert made.cancelled == ["1"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("slurm", "sbatch: error: Batch job submission failed: Unable to contact slurm controller"),
        ("flux", "/bin/sh: 0: cannot open /home/u/.whesl/workflows/w/bin/flux: Input/output error"),
        ("slurm", "sbatch: error: Unable to open file s1.sh: Stale file handle"),
        ("flux", "flux-batch: ERROR: [Errno 5] Input/output error: 's1.sh'"),
    ],
)
def test_what_fails_for_a_while_costs_nothing_that_runs(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart of slurmctld, or one call that failed on the home, cancelled all that ran already."""
    monkeypatch.setattr(job_chain, "_SUBMITTING", 0.0)
    made = Submitted(tmp_path, 3, monkeypatch)
    made.refuses = 2
    made.says = says
    made.plan = msgspec.structs.replace(made.plan, environment={"WHESL_RJMS": name})
    chain = Chain.start(made.plan)
    assert chain.poll() is None
    assert chain.poll() is None
    assert chain.poll() == 0
    assert [Path(call).stem for call in made.calls] == ["s0", "s1", "s1", "s2"]
    assert not made.cancelled


def test_a_command_that_cannot_be_started_now_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search along PATH went on to the real one behind it, which submits what is written down nowhere."""
    made = Submitted(tmp_path, 1, monkeypatch)
    made.plan = msgspec.structs.replace(made.plan, environment={"WHESL_RJMS": "flux"})
    started: list[str] = []

    def start(command: list[str], **rest: Any) -> subprocess.CompletedProcess[str]:
        started.append(command[0])
        if len(started) < 3:
            raise OSError(errno.ESTALE, "Stale file handle")
        return made._submit(command, **rest)

    monkeypatch.setattr(subprocess, "run", start)
    assert Chain.start(made.plan).poll() == 0
    assert started == [str(tmp_path / "bin" / "flux")] * 3


def test_a_scheduler_that_stays_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_chain, "_SUBMITTING", 0.0)
    monkeypatch.setattr(job_chain, "_AWAY", 0.0)
    for refuses, cancelled in ((1, []), (2, ["1"])):
        made = Submitted(tmp_path, 3, monkeypatch)
        made.refuses, made.says = refuses, "sbatch: error: Unable to contact slurm controller"
        with pytest.raises(RefusedError, match="Unable to contact"):
            Chain.start(made.plan).poll()
        assert made.cancelled == cancelled


def test_a_cancelled_chain_ends_though_the_scheduler_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked for ever, one unanswered look after the other, and no job was cancelled a second time."""
    made = Submitted(tmp_path, 2, monkeypatch)
    chain = Chain.start(made.plan)
    asked: list[str] = []

    def unanswered(job: str | list[str]) -> Any:
        asked.append(str(job))
        raise CouldNotObserveError("slurmctld has gone")

    monkeypatch.setattr(made, "cancel", unanswered)
    monkeypatch.setattr(made, "jobs", unanswered)
    chain.cancel()
    assert asked == ["1"], "the second one would wait as long for no answer"
    assert chain.poll() is None
    monkeypatch.setattr(job_chain, "_LAST_LOOKS", -1.0)
    with pytest.raises(CouldNotObserveError, match="these jobs may still run: 1, 2"):
        chain.poll()
    monkeypatch.undo()
    made.cancelled.clear()
    assert chain.poll() == 0
    assert made.cancelled == ["1", "2"]
