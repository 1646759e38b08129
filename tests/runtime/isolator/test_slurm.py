"""A node dies under ``srun`` on real Slurm: nodes with process numbers of their own, as on a cluster."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.processes import mentioning
from tests.runtime.isolator.bench import records
from whesl.managers.resource import command_call
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.model.states import JobState
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.node_agent.fencing import attempt_processes

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
CALLED = """\
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""
RANKS = """\
cd {place}
echo "start $WHESL_RESTART_COUNT on $SLURM_JOB_NODELIST"
srun bash -c 'echo "attempt $WHESL_RESTART_COUNT on $(hostname)"
for i in $(seq 3000); do
  [ -e done ] && exit 0; echo x >> alive-$WHESL_RESTART_COUNT-$(hostname); sleep 0.05
done; exit 1'
"""


class Protected:
    """A job of three nodes on a real Slurm, one of them spare."""

    def __init__(
        self,
        bed: SlurmBed,
        place: Path,
        *options: str,
        text: str = RULES,
        shared: Path | None = None,
        ranks: str = RANKS,
    ) -> None:
        self.bed = bed
        self.place = place
        self.directory = TaskDir((shared or place) / "task")
        self.out = place / "out"
        rules = place / "rules.esl"
        rules.write_text(text)
        home = (shared or place) / "home"
        home.mkdir(mode=0o700)
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += ["--no-coordinator", "--task-dir", str(self.directory.path), "-e", str(rules)]
        command += ["--nodes", "2", "--inner", "slurm", *options, "--script", "-"]
        self.job = bed.submit(
            f"#!/bin/bash\nexport WHESL_HOME={home}\n{shlex.join(command)} <<'EOT'\n#!/bin/bash\n"
            f"{ranks.format(place=place)}\nEOT\necho status $?\n",
            *("-N", "3", "--no-kill", "--no-requeue", f"--output={self.out}"),
        )

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        return records(self.directory)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    @contextlib.contextmanager
    def evidence(self) -> Iterator[None]:
        """Print all that was written down, should the block fail."""
        try:
            yield
        except BaseException:
            print(self.text())
            for kind, data in self.records():
                print(kind, data)
            for log in (self.directory.log, self.directory.path / "agents.log"):
                print(f"{log.name}:", log.read_text() if log.exists() else "is not there")
            print("slurmctld:", self.bed.log())
            raise

    def wait(self, condition: Callable[[], object], what: str) -> None:
        with self.evidence():
            self.bed.wait_for(condition, what)


def test_a_killed_node_is_replaced_long_before_slurm_knows(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    bed = slurm_bed(nodes=4)
    made = Protected(bed, tmp_path)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    bed.kill_node("n02")
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    old = (tmp_path / "alive-0-n01").stat().st_size
    made.wait(lambda: (tmp_path / "alive-1-n03").exists(), "a rank on the spare")
    assert bed.job(made.job) == "RUNNING"
    (tmp_path / "done").touch()
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 0" in made.text()
    assert "attempt 1 on n01" in made.text() and "attempt 1 on n03" in made.text()
    assert (tmp_path / "alive-0-n01").stat().st_size == old, "a rank of the old attempt lived on"
    confirmed = next(data for kind, data in made.records() if kind == "confirmed")
    print(json.dumps(confirmed))


def test_a_dead_node_s_lease_is_not_waited_for(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """With a lease of an hour, recovery comes because the node's slurmd is seen to have ended."""
    made = Protected(slurm_bed(nodes=4), tmp_path, "--heartbeat-limit", "3600")
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    made.bed.kill_node("n02")
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    (reason,) = (data["reason"] for kind, data in made.records() if kind == "node")
    assert "closed" in reason
    fenced = next(data for kind, data in made.records() if kind == "fenced")
    assert fenced["unreachable"] == ["n02"]


def test_a_node_whose_agent_was_killed_for_good_gets_another(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Nobody holds its lease any more, and its ranks live: only another agent ends them within the hour."""
    bed = slurm_bed(nodes=4)
    made = Protected(bed, tmp_path, "--heartbeat-limit", "3600")
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    agents = mentioning("whesl.runtime.node_agent.agent", among=bed.processes("n02"))
    assert len(agents) == 2
    for signum in (signal.SIGSTOP, signal.SIGKILL):  # each would start the other one again
        for process in agents:
            process.send_signal(signum)
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    old = (tmp_path / "alive-0-n02").stat().st_size
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    assert (tmp_path / "alive-0-n02").stat().st_size == old, "a rank of the old attempt lived on"
    fenced = next(data for kind, data in made.records() if kind == "fenced")
    assert "unreachable" not in fenced


def test_a_node_that_is_cut_off_is_fenced_by_its_lease(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """It does not answer, which is no refusal: nobody knows whether it lives, and it does."""
    bed = slurm_bed(4, "net")
    made = Protected(bed, tmp_path, "--heartbeat", "0.3", "--heartbeat-limit", "2")
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    bed.cut("n02")
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    old = (tmp_path / "alive-0-n02").stat().st_size
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    reasons = [data["reason"] for kind, data in made.records() if kind == "node"]
    assert any("no heartbeat" in reason for reason in reasons)
    assert not any("daemon" in reason for reason in reasons)
    assert (tmp_path / "alive-0-n02").stat().st_size == old, "a rank of the old attempt lived on"


@pytest.mark.timeout(300)
def test_slurm_s_word_is_no_fence_for_a_node_that_is_cut_off(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Slurm calls it down long before the agent's lease is over; its ranks ran on beside the next attempt."""
    bed = slurm_bed(4, "net", slurmd_timeout=5)
    made = Protected(bed, tmp_path, "--heartbeat", "0.3", "--heartbeat-limit", "30")
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    with made.evidence():
        ranks = mentioning("alive-$WHESL_RESTART_COUNT", among=bed.processes("n02"))
        assert ranks
        bed.cut("n02")
        # As the resets of a firewall do: on the isolator's node alone, nothing gets through to the agent.
        inside = ("nsenter", f"--net=/proc/{bed.init('n01')}/ns/net", "ss", "--kill", "dst")
        address = f"{bed.address.rpartition('.')[0]}.2"
        subprocess.run([*inside, address], capture_output=True, check=False)
        bed.wait_for(lambda: "attempt 1 on" in made.text(), "the next attempt", timeout=90)
        assert not any(rank.is_running() for rank in ranks), "a rank lived when the next attempt began"
        (fenced,) = (data for kind, data in made.records() if kind == "fenced")
        assert fenced["unreachable"] == ["n02"]
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")


def test_a_busy_slurmctld_does_not_hold_up_the_fencing(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """When nodes die slurmctld is busy, and a question may take longer than the whole recovery."""
    bed = slurm_bed(nodes=4, settings={"MessageTimeout": "60"})
    made = Protected(bed, tmp_path)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    bed.pause_controller()
    bed.kill_node("n02")
    bed.wait_for(lambda: "relaunched" in made.kinds(), "the end of the recovery's steps", timeout=20)
    bed.resume_controller()
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")


@pytest.mark.timeout(300)
def test_a_node_that_slurm_gives_up_while_its_tasks_live(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """srun ends in the moment in which Slurm calls the node down: that is the node's loss, not the task's."""
    bed = slurm_bed(nodes=4, slurmd_timeout=5)
    made = Protected(bed, tmp_path)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    bed.kill_slurmd("n02")
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    old = (tmp_path / "alive-0-n02").stat().st_size
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    assert (tmp_path / "alive-0-n02").stat().st_size == old, "a rank of the old attempt lived on"


@pytest.mark.timeout(300)
def test_a_job_that_lost_a_node_is_over_when_its_task_is(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """With accounting the dead node is given back; else the job would be COMPLETING until SlurmdTimeout."""
    need_slurm("dbd")
    bed = slurm_bed(nodes=4, dbd=True, slurmd_timeout=300)
    made = Protected(bed, tmp_path)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    bed.kill_node("n02")
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
    assert bed.job(made.job, "%N") == "n[01-03]", "nothing is given back while the task goes on"
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    bed.wait_job(made.job, "COMPLETED", timeout=60)
    assert bed.job(made.job, "%N") == "n[01,03]"
    (record,) = SlurmScheduler(bed.environment).jobs([made.job]).values()
    assert (record.state, record.exit_code, record.restarts) == (JobState.COMPLETED, 0, 0)


def test_a_step_that_slurm_counts_as_running_for_good_blocks_no_later_one(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """A node dies and comes back at once: its part of the step is gone, and nobody tells Slurm.

    Its launcher waits for that part until it is killed, and Slurm refuses the nodes to the next step.
    """
    bed = slurm_bed(nodes=4)
    made = Protected(bed, tmp_path, text=RULES + CALLED)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    token = next(data["token"] for kind, data in made.records() if kind == "attempt")
    ranks = attempt_processes.of_attempt(token, node="n02")
    (keeper,) = {process.parent for process in ranks} - {process.pid for process in ranks}
    for pid in (keeper, *(process.pid for process in ranks)):
        command_call.send(pid, signal.SIGKILL)  # a rank's sleep may have ended meanwhile
    with made.out.open("a") as out:
        out.write("called\n")
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks of the next attempt")
    fenced = next(data for kind, data in made.records() if kind == "fenced")
    assert fenced["lingering"] == ["n01", "n02"] and "unreachable" not in fenced
    steps = bed.run("squeue", "--steps", "--noheader", "--format=%i %j").stdout
    assert steps.count(" bash") == 2, "the old step is still there, by Slurm's word"
    (tmp_path / "done").touch()
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 0" in made.text()


def test_a_lost_spare_disturbs_nothing(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    bed = slurm_bed(nodes=4)
    made = Protected(bed, tmp_path)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    bed.kill_node("n03")
    made.wait(lambda: "node" in made.kinds(), "the spare's loss")
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    assert "raised" not in made.kinds()
