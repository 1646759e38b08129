"""Several tasks in one allocation of real Slurm: a lost node concerns its task, a spare is taken once."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.bench import records
from tests.runtime.isolator.slurmjob import node_lost
from whesl.runtime.isolator.task.taskdir import TaskDir

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

# Says which start it is on which node, and ends when its task is told to.
RANK = """\
echo "$WHESL_RESTART_COUNT $(hostname)" >> $1.ranks
for i in $(seq 3000); do [ -e $1.done ] && exit 0; sleep 0.1; done; exit 1
"""


class Pilot:
    """A job whose script starts tasks, which run at the same time.

    Args:
        bed: the cluster.
        place: where everything is; seen by all nodes.
        nodes: the job's.
        tasks: their names. Each begins when the one before it runs, so that the test knows who is where.
        ranks: how many each has, one on a node.
        part: options that tell which part of the nodes each uses.
    """

    def __init__(
        self,
        bed: SlurmBed,
        place: Path,
        nodes: tuple[str, ...],
        tasks: str,
        ranks: int = 1,
        part: tuple[str, ...] = ("--nodes", "1"),
    ) -> None:
        place.mkdir()
        (place / "home").mkdir(mode=0o700)
        self.bed, self.place = bed, place
        (place / "rules.esl").write_text(node_lost().replace("JOB [app]", "JOB [*]"))
        (place / "rank.sh").write_text(RANK)
        lines = [f"export WHESL_HOME={place}/home", f"cd {place}"]
        for name in tasks:
            words = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", name, "--quiet"]
            words += [
                "--no-coordinator",
                "--inner",
                "slurm",
                *part,
                "--heartbeat-limit",
                "60",
                "-e",
                f"{place}/rules.esl",
            ]
            words += ["--task-dir", f"{place}/{name}", "--", "srun", f"-N{ranks}", "sh", "rank.sh", name]
            lines.append(f"( {shlex.join(words)}; echo $? > {name}.status ) &")
            lines.append(f'while [ "$(cat {name}.ranks | wc -l)" -lt {ranks} ]; do sleep 0.1; done')
        self.id = bed.submit(
            "\n".join(("#!/bin/bash", *lines, "wait", "")),
            *("-N", str(len(nodes)), f"--nodelist={','.join(nodes)}", "--no-kill", "--no-requeue"),
            f"--output={place}/out",
        )

    def ranks(self, name: str) -> list[str]:
        """Return a line for each start of a task: its number, and its node."""
        file = self.place / f"{name}.ranks"
        return file.read_text().splitlines() if file.exists() else []

    def status(self, name: str) -> str:
        """Return the exit status of a task's ``whesl exec``, nothing before its end."""
        file = self.place / f"{name}.status"
        return file.read_text().strip() if file.exists() else ""

    def agents(self, name: str) -> int:
        return [kind for kind, _ in records(TaskDir(self.place / name))].count("agent")

    def told(self) -> str:
        """Return what a failing test shows."""
        logs = [*sorted(self.place.glob("*/log")), self.place / "out"]
        return "\n".join(f"{log}:\n{log.read_text()}" for log in logs if log.exists())


def test_a_lost_node_concerns_its_task_and_a_spare_is_taken_once(tmp_path: Path) -> None:
    """All tasks took the first node, one after the other, and the loss of a node ended all of them (75)."""
    need_slurm()
    with SlurmBed(7, slurmd_timeout=5) as bed:
        long = Pilot(bed, tmp_path / "long", ("n01", "n02", "n03", "n04"), "abc")
        fresh = Pilot(bed, tmp_path / "fresh", ("n05", "n06", "n07"), "de")
        try:
            bed.wait_for(lambda: fresh.ranks("e"), "the tasks of one job")
            bed.kill_node("n06")  # while the isolator and the agents of its task are being started
            bed.wait_for(lambda: all(long.agents(name) == 3 for name in "abc"), "the agents of the other job")
            assert [long.ranks(name) for name in "abc"] == [["0 n01"], ["0 n02"], ["0 n03"]]
            for node in ("n02", "n03"):
                bed.kill_node(node)
            bed.wait_for(lambda: long.status("b") or long.status("c"), "the end of the task without a spare")
            failed, went_on = ("b", "c") if long.status("b") else ("c", "b")
            bed.wait_for(lambda: len(long.ranks(went_on)) == 2, "the other one on the spare")
            bed.wait_for(
                lambda: len(fresh.ranks("e")) == 2, "the task whose node was lost in its first second"
            )
            for pilot, name in ((long, "a"), (long, went_on), (fresh, "d"), (fresh, "e")):
                assert pilot.status(name) == ""
                (pilot.place / f"{name}.done").touch()
            bed.wait_for(lambda: bed.job(long.id) == bed.job(fresh.id) == "COMPLETED", "the ends")
        except BaseException:
            print(long.told(), fresh.told())
            raise
    assert long.ranks(went_on)[1:] == ["1 n04"]
    assert len(long.ranks(failed)) == 1, "two tasks took the same spare"
    assert long.status(failed) == "1"
    (end,) = (data for kind, data in records(TaskDir(long.place / failed)) if kind == "finished")
    assert "n04 is used by another task" in end["reason"], end
    assert [long.status(name) for name in ("a", went_on)] == ["0", "0"]
    assert (long.ranks("a"), fresh.ranks("d")) == (["0 n01"], ["0 n05"]), "neighbours were touched"
    assert fresh.ranks("e") == ["0 n06", "1 n07"]
    assert (fresh.status("d"), fresh.status("e")) == ("0", "0")


@pytest.mark.variant
def test_whose_node_it_was_is_learned_where_no_task_says_it(tmp_path: Path) -> None:
    """A node that one task alone used was lost, and both tasks failed; with agents, and before they began."""
    need_slurm()
    with SlurmBed(9, slurmd_timeout=5) as bed:
        long = Pilot(bed, tmp_path / "long", ("n01", "n02", "n03", "n04"), "ab", 2, ())
        fresh = Pilot(bed, tmp_path / "fresh", ("n05", "n06", "n07", "n08", "n09"), "cd", 2, ())
        try:
            bed.wait_for(lambda: len(fresh.ranks("d")) == 2, "the tasks of one job")
            bed.kill_node("n08")
            bed.wait_for(lambda: all(long.agents(name) == 3 for name in "ab"), "the agents of the other job")
            bed.kill_node("n04")
            bed.wait_for(lambda: long.status("b"), "the end of the task that has no spare")
            bed.wait_for(lambda: len(fresh.ranks("d")) == 4, "the task on the node that nobody used")
            for pilot, name in ((long, "a"), (fresh, "c"), (fresh, "d")):
                assert pilot.status(name) == ""
                (pilot.place / f"{name}.done").touch()
            bed.wait_for(lambda: bed.job(long.id) == bed.job(fresh.id) == "COMPLETED", "the ends")
        except BaseException:
            print(long.told(), fresh.told())
            raise
    assert (sorted(long.ranks("a")), long.status("a")) == (["0 n01", "0 n02"], "0")
    assert (sorted(long.ranks("b")), long.status("b")) == (["0 n03", "0 n04"], "1")
    assert (sorted(fresh.ranks("c")), fresh.status("c")) == (["0 n05", "0 n06"], "0")
    assert (sorted(fresh.ranks("d")), fresh.status("d")) == (["0 n07", "0 n08", "1 n07", "1 n09"], "0")
