"""The log of a chain of batch jobs stands in the home, which may fail."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.equipment.nfsbed import NfsBed
from whesl.managers.resource.port import Scheduler
from whesl.managers.workflow.batch.job_chain import Chain
from whesl.managers.workflow.port import RunPlan


def test_a_job_whose_submission_cannot_be_noted_was_submitted_all_the_same(
    nfs_bed: Callable[..., NfsBed], tmp_path: Path
) -> None:
    """``whesl run`` ended there, and the scripts that waited were never submitted."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    sbatch = tmp_path / "sbatch"
    sbatch.write_text("#!/bin/sh\necho 17\n")
    sbatch.chmod(0o700)
    task = SimpleNamespace(id="w/t", step="t", instance="", parents=(), beside=())
    plan = SimpleNamespace(
        environment={"PATH": f"{tmp_path}:/usr/bin:/bin", "WHESL_RJMS": "slurm"},
        workflow=SimpleNamespace(tasks=(task,)),
        files=("script",),
        arguments=(),
        log=str(bed.at("login") / "log"),
    )
    bed.change("login", error=errno.ESTALE, error_rate=1.0, operations=("create", "open", "write", "flush"))
    chain = Chain(cast(RunPlan, plan), cast(Scheduler, None))
    chain._submit_some()
    assert chain._jobs == {"w/t": "17"}
