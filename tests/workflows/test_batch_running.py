"""A chain of batch jobs: what the scheduler is asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whesl import rjms
from whesl.workflows.batch.manager import Batch
from whesl.workflows.batch.running import Chain
from whesl.workflows.port import RunPlan


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
    monkeypatch.setattr(rjms, "scheduler", lambda _name: SimpleNamespace())
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
