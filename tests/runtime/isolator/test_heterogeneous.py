"""Heterogeneous jobs of Slurm: nodes, agents and fencing of all components; what cannot be is refused."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.managers.resource.slurm.conftest import job_environment
from tests.runtime.isolator.bench import records
from whesl.managers.resource.granted_spares_and_requeue import GRANTED_SPARES
from whesl.managers.resource.launcher_shims.launcher_node_swap import rewrite
from whesl.managers.resource.port import StepRequest
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import components, for_nodes, nodes_of
from whesl.managers.resource.slurm.releases import Ability
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.managers.resource.slurm.srun_job_steps import step_command
from whesl.model.errors import CouldNotObserveError, UsageError
from whesl.model.workflow import Task
from whesl.runtime.isolator.core.task_setup import Setup, split
from whesl.runtime.isolator.task.taskdir import TaskDir

JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_HET_SIZE": "2",
    "SLURM_JOB_NODELIST": "n01",
    "SLURM_NNODES": "1",
    "SLURM_JOB_NODELIST_HET_GROUP_0": "n01",
    "SLURM_JOB_NODELIST_HET_GROUP_1": "n[02-03]",
    "SLURM_NNODES_HET_GROUP_1": "2",
}
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE, REMOVE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app] LIMIT 3 ELSE FAIL
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.{how}
DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""
RANKS = """\
cd {place}
srun --het-group=0,1 bash -c 'echo "attempt $WHESL_RESTART_COUNT on $(hostname)"
for i in $(seq 3000); do
  [ -e done ] && exit 0; echo x >> alive-$WHESL_RESTART_COUNT-$(hostname); sleep 0.05
  [ "$(hostname)" = n01 ] && [ -e call ] && [ "$WHESL_RESTART_COUNT" = 0 ] && {{ echo called; rm call; }}
done; exit 1'
"""


class Protected:
    """A job of two components: one node and two nodes, each beside the spares."""

    def __init__(self, bed: SlurmBed, place: Path, how: str = "REPLACE", spares: int = 0) -> None:
        self.bed, self.place, self.out = bed, place, place / "out"
        self.directory = TaskDir(place / "task")
        (place / "rules.esl").write_text(RULES.format(how=how))
        command = [
            sys.executable,
            "-m",
            "whesl",
            "exec",
            "--step",
            "app",
            "--no-coordinator",
            "--script",
            "-",
        ]
        command += ["--task-dir", str(self.directory.path), "-e", str(place / "rules.esl")]
        command += ["--spares", str(spares)]
        bed.submit(
            f"#!/bin/bash\n#SBATCH -N{1 + spares}\n#SBATCH hetjob\n#SBATCH -N{2 + spares}\n"
            f"export WHESL_HOME={os.environ['WHESL_HOME']}\n{shlex.join(command)} <<'EOT'\n#!/bin/bash\n"
            f"{RANKS.format(place=place)}\nEOT\necho status $?\n",
            *("--no-kill", "--no-requeue", f"--output={self.out}"),
        )
        self.wait(lambda: self.text().count("attempt 0 on") == 3, "all ranks")
        self.wait(lambda: self.kinds().count("agent") == 2 + 2 * spares, "the agents of the other nodes")

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        return records(self.directory)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    def wait(self, condition: Callable[[], object], what: str) -> None:
        try:
            self.bed.wait_for(condition, what)
        except BaseException:
            print(self.text(), self.kinds(), self.directory.log.read_text())
            raise


@pytest.mark.slurm
@pytest.mark.slow
class TestOnSlurm:
    def test_a_restart_ends_the_ranks_of_all_components_first(
        self, slurm_bed: Callable[..., SlurmBed], tmp_path: Path
    ) -> None:
        made = Protected(slurm_bed(nodes=3), tmp_path)
        (tmp_path / "call").touch()
        made.wait(lambda: made.text().count("attempt 1 on") == 3, "the ranks after the restart")
        sizes = {path: path.stat().st_size for path in tmp_path.glob("alive-0-*")}
        assert len(sizes) == 3
        made.wait(lambda: len(list(tmp_path.glob("alive-1-*"))) == 3, "the new ranks")
        assert {path: path.stat().st_size for path in sizes} == sizes, "a rank of the old attempt lived on"
        (tmp_path / "done").touch()
        made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
        assert "status 0" in made.text()

    def test_a_spare_takes_the_place_of_a_lost_node_of_its_component(
        self, slurm_bed: Callable[..., SlurmBed], tmp_path: Path
    ) -> None:
        bed = slurm_bed(nodes=5)
        made = Protected(bed, tmp_path, spares=1)
        assert "Killed" not in made.text()
        bed.kill_node("n04")
        made.wait(lambda: made.text().count("attempt 1 on") == 3, "the ranks after the restart")
        assert {line.split()[-1] for line in made.text().splitlines() if "attempt 1 on" in line} == {
            "n01",
            "n03",
            "n05",
        }
        (tmp_path / "done").touch()
        made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
        assert "status 0" in made.text()

    def test_a_node_of_another_component_than_the_script_s_is_missed(
        self, slurm_bed: Callable[..., SlurmBed], tmp_path: Path
    ) -> None:
        bed = slurm_bed(nodes=4)
        made = Protected(bed, tmp_path, "REMOVE")
        bed.kill_node("n03")
        cancelled = ["*** JOB "] if Ability.KILLED_STEP_ENDS_HETJOB.of(bed.release) else []
        made.wait(lambda: any(end in f"\n{made.text()}" for end in ("\nstatus ", *cancelled)), "the end")
        assert "status 0" not in made.text()
        assert next(data["node"] for kind, data in made.records() if kind == "node") == "n03"
        (raised,) = (data["raised"]["exception"] for kind, data in made.records() if kind == "raised")
        assert raised == "NODELOST" and "attempt 1" not in made.text()


class TestPure:
    def test_nodes_are_those_of_all_components(self) -> None:
        assert components(JOB) == (("n01",), ("n02", "n03"))
        assert nodes_of(JOB) == ("n01", "n02", "n03")
        assert components({"SLURM_JOB_NODELIST": "n01"}) == ()

    @pytest.mark.parametrize("text", ["", "n[1-"])
    def test_a_damaged_list_is_no_list(self, text: str) -> None:
        with pytest.raises(CouldNotObserveError, match="SLURM_JOB_NODELIST_HET_GROUP_"):
            nodes_of({**JOB, "SLURM_JOB_NODELIST_HET_GROUP_1": text})

    def test_the_script_sees_its_components_as_they_are(self) -> None:
        assert for_nodes(nodes_of(JOB), JOB) == {"WHESL_HIDDEN_NODES": "", "WHESL_JOB": "7"}

    def test_a_step_of_ours_is_one_step_over_the_components_that_it_needs(self) -> None:
        def parts(*nodes: str) -> list[tuple[str, str]]:
            words = step_command(StepRequest(command=("agent", "x"), nodes=nodes), "name", components(JOB))
            assert words[0] == "srun"
            text = " ".join(words[1:]).split(" : ")
            return [
                (
                    next(word for word in part.split() if word.startswith("--het-group=")),
                    next(word for word in part.split() if word.startswith("--nodelist=")),
                )
                for part in text
                if part.endswith("agent x")
            ]

        assert parts("n01", "n02", "n03") == [
            ("--het-group=0", "--nodelist=n01"),
            ("--het-group=1", "--nodelist=n[02-03]"),
        ]
        assert parts("n03") == [("--het-group=1", "--nodelist=n03")]
        # Each component got all tasks: further agents on a node were refused, and ended the ranks there.
        agents = StepRequest(command=("agent",), nodes=("n01", "n02", "n03"), tasks=3)
        words = step_command(agents, "name", components(JOB))
        assert [word for word in words if word.startswith("--ntasks")] == ["--ntasks=1", "--ntasks=2"]
        with pytest.raises(UsageError, match="once on each node"):
            step_command(msgspec.structs.replace(agents, tasks=4), "name", components(JOB))
        alone = step_command(StepRequest(command=("agent",), nodes=("n01",)), "name")
        assert not [word for word in alone if word.startswith("--het-group")]

    def test_each_component_of_a_call_starts_beside_what_may_not_end(self) -> None:
        active = {"WHESL_NODELIST": "n01,n02,n03", "WHESL_SWAPPED": "{}", "WHESL_ATTEMPT_TOKEN": "t.1"}
        environ = {**JOB, **active, "WHESL_LOST_NODES": "n09"}
        words = ["-n1", "./a", ":", "--het-group=1", "--export=NONE", "-n2", "./b"]

        def made(environ: dict[str, str]) -> str:
            return " ".join(rewrite("srun", words, environ, read=lambda _: ""))

        token = "--export=WHESL_ATTEMPT_TOKEN"
        first = "--overlap --nodes=1 --nodelist=n01 -n1 --het-group=0 ./a"
        assert made(environ) == (
            f"{first} : --overlap {token} --nodes=2 --nodelist=n[02-03] -n2 --het-group=1 ./b"
        )
        assert made({**JOB, **active}) == f"-n1 ./a : {token} --het-group=1 -n2 ./b"

    def test_each_component_shows_its_nodes_in_use_alone(self) -> None:
        more = {"SLURM_NTASKS_HET_GROUP_1": "4"}
        shown = {"SLURM_JOB_NODELIST_HET_GROUP_1": "n03", "SLURM_NNODES_HET_GROUP_1": "1"}
        told = for_nodes(("n01", "n03"), {**JOB, **more})
        assert told == {"WHESL_HIDDEN_NODES": "n02", "WHESL_JOB": "7", **shown}
        granted = for_nodes(("n01", "n03"), {**JOB, **more, GRANTED_SPARES: "1 w/app"})
        assert granted == {**told, "SLURM_NTASKS_HET_GROUP_1": "2"}, "the tasks grew with the spares"

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("--het-group=0-1 ./a", "{0} --het-group=0 ./a : {1} --het-group=1 ./a"),
            ("./a : ./b", "{0} --het-group=0 ./a : {1} --het-group=1 ./b"),
            ("./a", "{0} --het-group=0 ./a"),
            ("--het-group=1 -N1 -wn02 ./a", "{1} --het-group=1 ./a"),
        ],
    )
    def test_a_spare_is_used_by_the_steps_of_its_own_component(self, words: str, expected: str) -> None:
        active = ("n01", "n03")
        environ = {**JOB, "WHESL_NODELIST": ",".join(active), "WHESL_SWAPPED": '{"n02": "n03"}'}
        environ |= for_nodes(active, environ)
        made = rewrite("srun", words.split(), environ, read=lambda _: "")
        placed = [f"--overlap --nodes=1 --nodelist={node}" for node in active]
        assert " ".join(made) == expected.format(*placed)

    def test_a_component_s_node_is_replaced_within_it(self) -> None:
        parts = (("n01", "n02"), ("n03", "n04", "n05"))
        all_nodes = tuple(node for part in parts for node in part)
        nodes = split(
            Setup(
                task=Task(id="w/app", step="app"), workflow="w", nodes=all_nodes, active=3, components=parts
            )
        )
        assert (nodes.active, nodes.spares) == (("n01", "n03", "n04"), ("n02", "n05"))
        with pytest.raises(LookupError):
            nodes.replace("n01").replace("n02")
        assert nodes.replace("n04").replace("n01").active == ("n02", "n03", "n05")

    @pytest.mark.parametrize("option", [["--nodes", "2"], ["--no-own-node"]])
    def test_what_is_not_offered_is_refused_before_anything_is_started(self, option: list[str]) -> None:
        command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", *option, "--", "echo", "ran"]
        done = subprocess.run(
            command, env={**os.environ, **JOB}, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 2 and "heterogeneous job" in done.stderr and "ran" not in done.stdout


@pytest.mark.slurm
def test_a_signal_reaches_a_step_in_all_components_and_the_job_goes_on(
    slurm: SlurmBed, tmp_path: Path
) -> None:
    """Only the first component's part of the step had got it."""
    environ = job_environment(slurm, tmp_path, "--nodes=1", ":", "--nodes=2")
    allocation, job = SlurmAllocation(environ), environ["SLURM_JOB_ID"]
    nodes = allocation.describe().nodes
    step = allocation.launch(StepRequest(command=("sleep", "300"), nodes=nodes))

    def running() -> int:
        return slurm.run("squeue", "-h", "-s", "-o", "%j").stdout.split().count(step.name)

    slurm.wait_for(lambda: running() == 2, "both parts of the step")
    allocation.signal(step, signal.SIGKILL)
    slurm.wait_for(lambda: running() == 0, "the end of both")
    assert set(slurm.job(job).split()) == {"RUNNING"}
    SlurmScheduler(slurm.environment).cancel(job)


@pytest.mark.slurm
def test_further_components_stay_off_hidden_nodes_in_any_other_job(slurm: SlurmBed, tmp_path: Path) -> None:
    """``srun a : b`` in a plain job: the second command went to spares and lost nodes, too."""
    rules, out = tmp_path / "rules.esl", tmp_path / "out"
    rules.write_text(RULES.format(how="REPLACE"))
    command = [sys.executable, "-m", "whesl", "exec", "--step", "app", "--no-coordinator", "-e", str(rules)]
    command += [
        "--spares",
        "2",
        "--inner",
        "slurm",
        "--",
        "sh",
        "-c",
        "srun -N1 -n1 hostname : -N1 -n1 hostname",
    ]
    job = slurm.submit(
        f"#!/bin/sh\nexport WHESL_HOME={os.environ['WHESL_HOME']}\n{shlex.join(command)}\n",
        *("-N", "4", "-n", "4", f"--output={out}"),
    )
    slurm.wait_job(job, "COMPLETED", "FAILED")
    assert set(out.read_text().split()) <= {"n01", "n02"}, out.read_text()
    assert len(out.read_text().split()) == 2
