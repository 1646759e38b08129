"""A program goes on inside its allocation: after its own failure, and after a node was lost on real Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import commands
from tests.checkpoints import asking
from tests.waiting import until, written
from whesl.checkpoints import job_launch, manifest
from whesl.managers.resource.port import AllocationInfo
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.states import NodeState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.equipment.slurmbed import SlurmBed

RANKS = Path(__file__).with_name("ranks.py")
ROOT = Path(__file__).resolve().parents[2]
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL")
WHESL = [sys.executable, "-m", "whesl", "ckpt"]


def run(place: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``whesl ckpt run`` on this host."""
    environment = {
        **os.environ,
        "WHESL_HOME": str(place / "home"),
        "PYTHONPATH": str(ROOT),
        "SLURM_JOB_ID": "",
    }
    return commands.whesl(
        "ckpt",
        "run",
        "--name",
        name,
        "--dir",
        str(place / "kept"),
        *arguments,
        cwd=place,
        env=environment,
        timeout=120,
    )


@pytest.mark.costly
def test_a_program_that_fails_is_started_again_and_the_last_status_counts(tmp_path: Path) -> None:
    tries = "echo >> tries; exit $((5 - $(wc -l < tries)))"
    done = run(tmp_path, f"tries-{os.getpid()}", "--attempts", "3", "--", "sh", "-c", tries)
    assert done.returncode == 2, done.stderr
    said = [line for line in done.stderr.splitlines() if "attempt" in line]
    assert [line.partition("ended with ")[2] for line in said if "ended" in line] == [
        "status 4",
        "status 3",
        "status 2",
    ]
    assert "attempt 3 of 3 on " in said[4]
    again = run(tmp_path, f"tries-{os.getpid()}", "--attempts", "9", "--", "sh", "-c", tries)
    assert again.returncode == 0 and "attempt 2 of 9 ended with status 0" in again.stderr


def test_an_agent_that_comes_after_its_programs_end_says_nothing(tmp_path: Path) -> None:
    """Each program of less than a second ended with "no coordinator was found"."""
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home"), "SLURM_JOB_ID": ""}
    for run_id, status in (("--run", 0), ("--node", 2)):
        done = commands.whesl("ckpt", "agent", "--name", "over", run_id, "x", env=environment)
        assert (done.returncode, bool(done.stderr)) == (status, bool(status)), done.stderr


def test_a_program_that_was_told_to_end_is_not_started_again(tmp_path: Path) -> None:
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home"), "SLURM_JOB_ID": ""}
    command = [
        *WHESL,
        "run",
        "--name",
        f"told-{os.getpid()}",
        "--dir",
        str(tmp_path / "kept"),
        "--attempts",
        "3",
    ]
    script = "echo >> tries; while :; do sleep 0.1; done"
    process = subprocess.Popen([*command, "--", "sh", "-c", script], cwd=tmp_path, env=environment)
    until((tmp_path / "tries").exists, "the program", 60)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert (tmp_path / "tries").read_text() == "\n"


class Nodes:
    """An allocation of three nodes, of which a manager says something."""

    name = "slurm"

    def __init__(self, states: dict[str, NodeState] | None, gone: str = "") -> None:
        self._states, self._gone = states, gone

    def describe(self) -> AllocationInfo:
        return AllocationInfo(rjms="slurm", job_id="1", nodes=("n1", "n2", "n3"), batch_host="n1")

    def node_states(self) -> dict[str, NodeState]:
        if self._states is None:
            raise CouldNotObserveError("no answer")
        return self._states

    def gone(self, node: str) -> bool | None:
        return True if node == self._gone else None


@pytest.mark.parametrize(
    ("states", "gone", "there"),
    [
        ({"n1": NodeState.UP, "n2": NodeState.DOWN, "n3": NodeState.DRAINED}, "", ("n1", "n3")),
        ({"n1": NodeState.UP, "n2": NodeState.UNKNOWN}, "n3", ("n1", "n2")),
        # It was lost, and is back without being the job's: no step of the job starts there.
        ({"n1": NodeState.UP, "n2": NodeState.RELEASED}, "", ("n1", "n3")),
        (None, "n3", ("n1", "n2", "n3")),  # what could not be observed is not gone
    ],
)
def test_agents_start_on_living_nodes(
    states: dict[str, NodeState] | None, gone: str, there: tuple[str, ...]
) -> None:
    found: Any = Nodes(states, gone)
    assert job_launch.living(found) == there


def test_too_few_nodes_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    job = job_launch.Job((), "few", tmp_path)
    states: Any = Nodes({"n1": NodeState.UP, "n2": NodeState.DOWN, "n3": NodeState.UP})
    job._allocation, job._silent = states, frozenset({"n3"})
    assert job._used(0) == ("n1",)
    with pytest.raises(WheslError, match="1 of the 3 nodes of this allocation can be used, and 2 are needed"):
        job._used(2)


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_lost_node_is_left_out_and_a_spare_takes_its_place(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """A second ``whesl ckpt run`` got no agents, and the program computed from 0, unprotected, with 0.

    With ``srun --no-kill`` the ranks that live wait for ever, and the first attempt never ended.
    """
    bed = slurm_bed(nodes=3)
    place = tmp_path / "run"
    (place / "home").mkdir(parents=True)
    (place / "home").chmod(0o700)
    command = f"{sys.executable} -m whesl ckpt run --name job --dir {place}/kept"
    program = f"srun --no-kill --overlap -n2 --ntasks-per-node=1 {sys.executable} {RANKS} 0 2 100000000"
    script = f"""
cd {place}
export WHESL_HOME={place}/home WHESL_CKPT_PATIENCE=30 PYTHONPATH={ROOT}
{command} --attempts 3 --nodes 2 --lost 2 -- {program}
echo "status $?"
{command} -- {program}
echo "second $?"
"""
    job = bed.submit(script, "-N3", "--no-kill", "--no-requeue", "-o", str(place / "out"))

    def status() -> dict[str, Any]:
        return asking.status(place / "home", "job")

    def running() -> list[str]:
        return sorted(name for name, node in status().get("nodes", {}).items() if node["ranks"] == 1)

    until(lambda: running() == ["n01", "n02"], "all ranks", 90)
    environment = {**bed.environment, "WHESL_HOME": str(place / "home")}
    commands.whesl("ckpt", "request", "--name", "job", env=environment, check=True)
    until(lambda: [each.epoch for each in manifest.whole(place / "kept")] == [1], "a checkpoint", 90)
    step = manifest.whole(place / "kept")[0].step
    bed.kill_node("n02")
    # As by a site's health check: slurmctld would see it later.
    bed.run("scontrol", "update", "nodename=n02", "state=down", "reason=killed")
    until(lambda: running() == ["n01", "n03"], "the second attempt", 150)
    until(lambda: written(place / "out").count(f"restored step {step} of checkpoint 1") == 2, "restore", 60)
    (place / "end").touch()
    bed.wait_job(job, *ENDED, timeout=150)
    text = written(place / "out")
    assert "n02 lost, and the program has not ended in 2 s: it is ended" in text, text
    assert "n02 is down, and not used" in text and "attempt 2 of 3 on n01, n03: srun" in text, text
    assert "status 0\n" in text and "second 0\n" in text, text
    assert text.count(f"restored step {step} of checkpoint 1") == 4, text
    assert "forcing job termination" not in text.partition("attempt 2 of 3")[2], text
    assert "is complete" in text and text.count("checkpoint 1 is complete") == 1, text
