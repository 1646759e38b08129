"""The short form of the chaos run: one fixed seed on a real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import run as chaos
from tests.chaos.__main__ import show
from tests.conftest import need_nfs, need_slurm


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.timeout(400)
def test_every_task_is_done_once_or_fails_visibly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need_slurm()
    need_nfs()
    said: list[str] = []
    options = chaos.Options(seed=7, minutes=0.5, nodes=6, tasks=8, cycles=24, grace=240)
    outcome = chaos.play(options, said.append)
    show(outcome)
    assert not outcome.verdict.wrong, "\n".join((capsys.readouterr().out, *said))
    assert outcome.faults > 10, "the workflow was over before anything happened to it"
    assert len(outcome.kinds) > 3
    done = len(outcome.verdict.completed) + len(outcome.verdict.failed) + len(outcome.verdict.cancelled)
    assert done == options.tasks
