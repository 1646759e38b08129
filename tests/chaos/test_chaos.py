"""The short form of the chaos run: one fixed seed on a real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import run as chaos
from tests.chaos.__main__ import show
from tests.chaos.director import KINDS, OF_HOMES
from tests.conftest import need_nfs, need_slurm


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.timeout(400)
def test_every_task_is_done_once_or_fails_visibly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need_slurm()
    need_nfs()
    said: list[str] = []
    # A home that fails or stalls makes each step wait: the test below has that, in make test-all.
    kinds = tuple(kind for kind in KINDS if kind not in OF_HOMES)
    options = chaos.Options(seed=7, minutes=0.4, nodes=6, tasks=6, cycles=20, grace=240, kinds=kinds)
    outcome = chaos.play(options, said.append)
    show(outcome)
    assert not outcome.verdict.wrong, "\n".join((capsys.readouterr().out, *said))
    assert outcome.faults > 10, "the workflow was over before anything happened to it"
    assert len(outcome.kinds) > 3
    done = len(outcome.verdict.completed) + len(outcome.verdict.failed) + len(outcome.verdict.cancelled)
    assert done == options.tasks


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.timeout(400)
@pytest.mark.variant  # the other one has the same run; each fault of a home is in tests/filesystems
def test_a_home_that_fails_and_stalls_costs_no_task(capsys: pytest.CaptureFixture[str]) -> None:
    """Shells had taken an error for the end of their script, and tasks were completed that had not run."""
    need_slurm()
    need_nfs()
    said: list[str] = []
    options = chaos.Options(
        seed=5, minutes=0.7, nodes=5, tasks=6, cycles=20, every=3.0, grace=240, kinds=OF_HOMES
    )
    outcome = chaos.play(options, said.append)
    show(outcome)
    assert not outcome.verdict.wrong, "\n".join((capsys.readouterr().out, *said))
    assert outcome.faults > 3
    assert len(outcome.verdict.completed) == options.tasks
