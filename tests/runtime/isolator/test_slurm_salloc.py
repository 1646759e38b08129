"""``whesl exec`` below ``salloc``: its own host, a login node, is none of the job's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.bench import records
from tests.runtime.isolator.slurmjob import RANK, node_lost
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import own_node
from whesl.runtime.isolator.task.taskdir import TaskDir


@pytest.mark.parametrize(
    ("told", "host", "node"),
    [
        ("n02", "login", "n02"),
        ("", "login", "login"),
        ("", "n02.cluster", "n02"),
        ("n9", "n9", "n9"),  # salloc was called in another job
    ],
)
def test_which_node_is_the_isolator_s(told: str, host: str, node: str) -> None:
    assert own_node({"SLURMD_NODENAME": told}, ("n01", "n02"), host) == node


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_loss_of_any_node_is_seen(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """The first node once was taken for the isolator's: it had no agent, and its loss was not seen.

    A Flux instance inside the job, where there is a ``flux``, once ended with its task a second later.
    """
    bed = slurm_bed(nodes=3)
    (tmp_path / "rules.esl").write_text(node_lost())
    (tmp_path / "ranks.sh").write_text(RANK)
    task, out = TaskDir(tmp_path / "task"), tmp_path / "out"

    def kinds() -> list[str]:
        return [kind for kind, _ in records(task)]

    def starts(number: int) -> int:
        return out.read_text().count(f"start {number} on") if out.exists() else 0

    whesl = [sys.executable, "-m", "whesl", "exec", "--task-dir", str(task.path), "--name", "app"]
    whesl += ["--no-coordinator", "--spares", "1", "-e", "rules.esl", "--", "srun", "bash", "ranks.sh"]
    command = 'cd "$1" && shift && exec salloc --no-kill -N3 "$@" >out 2>err'
    home = str(tmp_path / "home")
    with bed.start_command("sh", "-c", command, "sh", str(tmp_path), *whesl, WHESL_HOME=home) as salloc:
        bed.wait_for(lambda: starts(0) == 2, "the ranks")
        bed.wait_for(lambda: kinds().count("agent") == 3, "an agent on each node")
        bed.kill_node("n01")
        bed.wait_for(lambda: starts(1) == 2, "the ranks after the swap")
        (tmp_path / "done").touch()
        assert salloc.wait(120) == 0, (tmp_path / "err").read_text()
    assert "start 1 on n03" in out.read_text()
